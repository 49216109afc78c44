//! Indexing, assignment, sorting, searching and rearranging against numpy.

mod common;

use common::{Array, Case, load};
use serde_json::Value;
use tove_tensor::{DType, Error, Index, Tensor, TryIndex, vmap};

fn tensor(array: &Array) -> Tensor {
    let shape = array.shape.clone();
    match array.dtype.as_str() {
        "f64" => Tensor::from_vec(array.data.clone(), shape),
        "i64" => Tensor::from_vec(array.to_i64(), shape),
        "bool" => Tensor::from_vec(array.data.iter().map(|&x| x != 0.0).collect::<Vec<bool>>(), shape),
        other => panic!("no case should have type {other}"),
    }
}

/// Equal in shape and, with NaN equal to NaN, in every element.
#[track_caller]
fn same(got: &Tensor, want: &Array, name: &str) {
    assert_eq!(got.dims(), &want.shape[..], "{name}");
    let got = got.to_f64_vec();
    let equal = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
    assert!(got.iter().zip(&want.data).all(equal), "{name}: {got:?} is not {:?}", want.data);
}

fn entry(value: &Value, case: &Case) -> Index {
    match value {
        Value::String(word) if word == "newaxis" => Index::NewAxis,
        Value::String(_) => Index::Ellipsis,
        value if value.get("at").is_some() => Index::At(value["at"].as_i64().expect("a position")),
        value if value.get("range").is_some() => {
            let bounds = &value["range"];
            let step = bounds[2].as_i64().expect("a step");
            Index::Range { start: bounds[0].as_i64(), end: bounds[1].as_i64(), step }
        }
        value => Index::Tensor(tensor(case.input(value["tensor"].as_str().expect("a name")))),
    }
}

fn spec(case: &Case) -> Vec<Index> {
    case.attrs["spec"].as_array().expect("a list").iter().map(|value| entry(value, case)).collect()
}

#[test]
fn unique_values_with_their_places_and_counts() {
    let fixture = load("numpy_index");
    let cases = fixture.cases_starting("unique");
    assert_eq!(cases.len(), 4);
    for case in cases {
        let x = tensor(case.input("x"));
        let found = x.unique();
        same(&found.values, case.output("values"), &case.name);
        same(&found.inverse, case.output("inverse"), &case.name);
        same(&found.counts, case.output("counts"), &case.name);
        assert_eq!(found.values.dtype(), x.dtype());
        if x.dtype() == DType::F64 {
            let single = x.to_dtype(DType::F32).unique();
            same(&single.values, case.output("values"), &case.name);
            same(&single.inverse, case.output("inverse"), &case.name);
        }
        // The values at their places are the tensor again.
        let again = found.values.index_select(0, &found.inverse);
        same(&again, case.input("x"), &case.name);
    }
    let message = vmap(|x: &Tensor| x.try_unique().map_or_else(|e| panic!("{e}"), |u| u.values));
    let caught = std::panic::catch_unwind(|| message(&Tensor::from([[1.0, 1.0], [1.0, 2.0]])));
    let text = caught.err().and_then(|payload| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
    assert!(text.contains("vmap"), "{text}");
}

#[test]
fn reads_and_writes_the_table() {
    let fixture = load("numpy_index");
    let cases = fixture.cases_starting("x[");
    assert!(cases.len() >= 70);
    for case in cases {
        let x = tensor(case.input("x"));
        let name = &case.name;
        if case.attrs["error"] == true {
            assert!(x.try_index(spec(case)).is_err(), "{name}");
            continue;
        }
        same(&x.index(spec(case)), case.output("y"), name);
        let value = tensor(case.input("value"));
        same(&x.index_set(spec(case), &value), case.output("set"), name);
        same(&x.index_accumulate(spec(case), &value), case.output("sum"), name);
        // The same on a view with gaps and negative steps.
        let view = x.flip(&[0, 2]).permute(&[2, 0, 1]).contiguous().permute(&[1, 2, 0]).flip(&[0, 2]);
        same(&view.index(spec(case)), case.output("y"), name);
        let basic = spec(case).iter().all(|entry| !matches!(entry, Index::Tensor(_)));
        assert_eq!(x.index(spec(case)).shares_buffer(&x), basic, "{name}");
    }
}

#[test]
fn rust_ranges_mean_what_they_say() {
    let x = Tensor::arange(0, 10);
    let read = |y: Tensor| y.to_vec::<i64>();
    assert_eq!(read(x.index(7..)), [7, 8, 9]);
    assert_eq!(read(x.index(..-7)), [0, 1, 2]);
    assert_eq!(read(x.index(-2..)), [8, 9]);
    assert_eq!(read(x.index(2..=3)), [2, 3]);
    #[allow(clippy::reversed_empty_ranges, reason = "a negative end counts from the end")]
    let last = x.index(8..=-1);
    assert_eq!(read(last), [8, 9]);
    assert_eq!(read(x.index(..=-9)), [0, 1]);
    assert_eq!(read(x.index(1usize..2usize)), [1]);
    assert_eq!(read(x.index(tove_tensor::stepped(..2, -3))), [9, 6, 3]);
    assert_eq!(read(x.index(())), (0..10).collect::<Vec<i64>>());
    assert_eq!(x.index(tove_tensor::NewAxis).dims(), &[1, 10]);
    let huge = Index::Range { start: Some(i64::MIN), end: Some(i64::MAX), step: i64::MAX };
    assert_eq!(read(x.index(huge)), [0]);
    let back = Index::Range { start: Some(i64::MAX), end: Some(i64::MIN), step: i64::MIN };
    assert_eq!(read(x.index(back)), [9]);
}

#[test]
fn errors_name_the_index_and_the_size() {
    let x = Tensor::zeros([3, 4], DType::F64);
    let outside = |index: i64, size: usize, op: &'static str| Err(Error::Index { op, index, size });
    let at = |values: &[i64]| Tensor::from_slice(values);
    assert_eq!(x.try_index(3).map(drop), outside(3, 3, "index"));
    assert_eq!(x.try_index((0, -5)).map(drop), outside(-5, 4, "index"));
    assert_eq!(x.try_index(at(&[0, 7, 9])).map(drop), outside(7, 3, "index"));
    assert_eq!(x.try_index_select(1, &at(&[0, -5])).map(drop), outside(-5, 4, "index_select"));
    assert_eq!(x.try_embedding(&at(&[3])).map(drop), outside(3, 3, "embedding"));
    assert_eq!(x.try_gather(0, &Tensor::full([1, 4], 5.0, DType::I64)).map(drop), outside(5, 3, "gather"));
    assert_eq!(at(&[1, 9]).try_one_hot(9, DType::F64).map(drop), outside(9, 9, "one_hot"));
    assert!(matches!(x.try_index_select(0, &x), Err(Error::DType { .. })));
    assert!(matches!(x.try_index_select(2, &at(&[0])), Err(Error::Axis { .. })));
    assert!(matches!(x.try_gather(0, &at(&[0])), Err(Error::ShapePair { .. })));
    assert!(matches!(x.try_index_add(0, &at(&[0]), &Tensor::zeros([2, 4], DType::F64)), Err(Error::ShapePair { .. })));
    assert!(matches!(x.try_topk(5, 1, true), Err(Error::Parameter { .. })));
    assert!(matches!(at(&[-1]).try_bincount(None, 0), Err(Error::Parameter { .. })));
    assert!(matches!(x.try_split(&[1, 1], 0), Err(Error::Shape { .. })));
    assert!(matches!(x.try_chunk(0, 0), Err(Error::Parameter { .. })));
    assert!(matches!(x.try_pad(&[(1, 1)], 0.0), Err(Error::Shape { .. })));
    assert!(matches!(x.try_pad(&[(usize::MAX, 1), (0, 0)], 0.0), Err(Error::Shape { .. })));
    assert!(matches!(x.try_tile(&[usize::MAX, 2]), Err(Error::Shape { .. })));
}

#[test]
fn order() {
    let (more, fixture) = (load("numpy_tensor"), load("numpy_index"));
    for case in fixture.cases_starting("sort ").into_iter().chain(more.cases_starting("sort ")) {
        let (x, axis) = (tensor(case.input("x")), case.integer("axis").expect("an axis") as isize);
        same(&x.argsort(axis, false), case.output("order"), &case.name);
        let (values, places) = x.sort(axis, false);
        same(
            &values,
            &Array { shape: x.dims().to_vec(), dtype: String::new(), data: x.gather(axis, &places).to_f64_vec() },
            "",
        );
        if let Some(want) = case.outputs.get("y") {
            same(&values, want, &case.name);
        }
        // The best k are the beginning of the whole order.
        let all = x.argsort(axis, true);
        let size = x.dims()[(axis + 2) as usize % 2];
        for k in 0..=size {
            assert_eq!(x.topk(k, axis, true).1.to_vec::<i64>(), all.narrow(axis, 0, k).to_vec::<i64>());
        }
    }
    let case = more.case("topk 2");
    let (values, places) = tensor(case.input("x")).topk(2, -1, true);
    same(&values, case.output("y"), "topk");
    same(&places, case.output("order"), "topk");
    let nan = Tensor::from([1.0f32, f32::NAN, 2.0, f32::NAN]);
    assert_eq!(nan.argsort(0, true).to_vec::<i64>(), [1, 3, 2, 0]);
    assert_eq!(Tensor::from([true, false, true]).argsort(0, false).to_vec::<i64>(), [1, 0, 2]);
    assert_eq!(Tensor::from([3u8, 1, 2]).sort(0, true).0.to_vec::<u8>(), [3, 2, 1]);
    assert_eq!(Tensor::zeros([3, 0], DType::F64).argsort(1, false).dims(), &[3, 0]);
}

#[test]
fn searching_and_counting() {
    let fixture = load("numpy_index");
    for (name, right) in [("searchsorted left", false), ("searchsorted right", true)] {
        let case = fixture.case(name);
        let got = tensor(case.input("x")).searchsorted(&tensor(case.input("values")), right);
        same(&got, case.output("y"), name);
    }
    let case = fixture.case("bincount");
    same(&tensor(case.input("x")).bincount(None, 0), case.output("y"), "bincount");
    let case = fixture.case("bincount weights");
    same(&tensor(case.input("x")).bincount(Some(&tensor(case.input("w"))), 6), case.output("y"), "bincount weights");
    let case = fixture.case("nonzero");
    same(&tensor(case.input("x")).nonzero(), case.output("y"), "nonzero");
}

#[test]
fn rearranging() {
    let (fixture, more) = (load("numpy_tensor"), load("numpy_index"));
    let x = |name: &str| tensor(fixture.case(name).input("x"));
    let check = |name: &str, got: Tensor| same(&got, fixture.case(name).output("y"), name);
    check("flip", x("flip").flip(&[1]));
    check("roll 1 axis 1", x("roll 1 axis 1").roll(1, 1));
    check("roll -2 axis 0", x("roll -2 axis 0").roll(-2, 0));
    check("pad", x("pad").pad(&[(1, 0), (2, 1)], 0.5));
    check("tile", x("tile").tile(&[2, 2]));
    check("take rows", x("take rows").index_select(0, &tensor(fixture.case("take rows").input("index"))));
    let along = fixture.case("take_along_axis 1");
    check("take_along_axis 1", x("take_along_axis 1").take_along_axis(1, &tensor(along.input("index"))));
    check("mask", x("mask").masked_select(&tensor(fixture.case("mask").input("mask"))));
    let scatter = fixture.case("scatter_add rows");
    let zeros = Tensor::zeros([4, 4], DType::F64);
    let (index, source) = (tensor(scatter.input("index")), tensor(scatter.input("x")));
    let rows = zeros.index_add(0, &index, &source);
    // The reader of the fixtures may be off by the last bit of long decimals.
    let error = rows.to_f64_vec().iter().zip(&scatter.output("y").data).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(error < 1e-15, "{rows}");
    let grid = index.reshape([3, 1]).broadcast_to([3, 4]);
    assert_eq!(zeros.scatter_add(0, &grid, &source).to_vec::<f64>(), rows.to_vec::<f64>());
    for case in fixture.cases_starting("tri") {
        let (x, k) = (tensor(case.input("x")), case.integer("k").expect("a diagonal") as isize);
        same(&if case.name.starts_with("tril") { x.tril(k) } else { x.triu(k) }, case.output("y"), &case.name);
    }
    for case in more.cases_starting("diag ") {
        same(
            &tensor(case.input("x")).diag(case.integer("k").expect("a diagonal") as isize),
            case.output("y"),
            &case.name,
        );
    }
    let case = more.case("repeat");
    same(&tensor(case.input("x")).repeat_interleave(3, 0), case.output("y"), "repeat");
    for case in more.cases_starting("tile ") {
        let times: Vec<usize> = case.integers("times").expect("counts").iter().map(|&n| n as usize).collect();
        same(&tensor(case.input("x")).tile(&times), case.output("y"), &case.name);
    }
    let case = more.case("meshgrid");
    let grids = Tensor::meshgrid(&[&tensor(case.input("x")), &tensor(case.input("y"))]);
    same(&grids[0], case.output("a"), "meshgrid");
    same(&grids[1], case.output("b"), "meshgrid");
}

#[test]
fn pieces_and_small_helpers() {
    let x = Tensor::arange(0, 14).reshape([7, 2]);
    let sizes = |pieces: Vec<Tensor>| pieces.iter().map(|p| p.dims()[0]).collect::<Vec<_>>();
    assert_eq!(sizes(x.chunk(3, 0)), [3, 3, 1]);
    assert_eq!(sizes(x.chunk(5, 0)), [2, 2, 2, 1]);
    assert_eq!(sizes(x.split(&[1, 0, 6], 0)), [1, 0, 6]);
    assert_eq!(sizes(x.narrow(0, 0, 0).chunk(2, 0)), [0]);
    assert_eq!(Tensor::concat(&x.split(&[3, 4], 0).iter().collect::<Vec<_>>(), 0).to_vec::<i64>(), x.to_vec::<i64>());
    assert_eq!(x.unsqueeze(0).move_axis(0, -1).dims(), &[7, 2, 1]);
    assert_eq!(Tensor::scalar(1i64).expand_as(&x).dims(), &[7, 2]);
    let all = Tensor::broadcast_all(&[&x, &Tensor::from([1i64, 2])]);
    assert_eq!(all[1].dims(), &[7, 2]);
    let hot = Tensor::from([[2i64, 0]]).one_hot(3, DType::Bool);
    assert_eq!((hot.dims(), hot.to_vec::<bool>()), (&[1, 2, 3][..], vec![false, false, true, true, false, false]));
    let filled = Tensor::from([1.0, 2.0]).masked_fill(&Tensor::from([true, false]), -1.0);
    assert_eq!(filled.to_vec::<f64>(), [-1.0, 2.0]);
    assert!(Tensor::from([1.0, 2.0]).try_masked_fill(&Tensor::from([[true], [false]]), 0.0).is_err());
    let table = Tensor::arange(0, 6).reshape([3, 2]).to_dtype(DType::F64);
    let ids = Tensor::from([[2i64, 0], [1, 1]]);
    let product = ids.one_hot(3, DType::F64).matmul(&table);
    assert_eq!(table.embedding(&ids).to_vec::<f64>(), product.to_vec::<f64>());
    assert_eq!(Tensor::zeros([0, 4], DType::F64).flip(&[0, 1]).roll(2, 0).tril(0).dims(), &[0, 4]);
    assert_eq!(table.embedding(&Tensor::zeros([0, 3], DType::I64)).dims(), &[0, 3, 2]);
}
