//! Reductions, scans and the functions built on them: values against numpy and plain loops, derivatives against central
//! differences to second order in both modes, `vmap` against a loop.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Array, load};
use tove_tensor::{DType, Key, Tensor, TryIndex, TryReduce, grad, hvp, jvp, vmap};

fn tensor(array: &Array) -> Tensor {
    let shape = array.shape.as_slice();
    match array.dtype.as_str() {
        "bool" => Tensor::from_vec(array.data.iter().map(|&x| x != 0.0).collect::<Vec<bool>>(), shape),
        "i64" => Tensor::from_vec(array.to_i64(), shape),
        _ => Tensor::from_vec(array.data.clone(), shape),
    }
}

fn close(name: &str, a: &Tensor, b: &Tensor, tolerance: f64) {
    assert_eq!(a.shape(), b.shape(), "{name}");
    let (a, b) = (a.to_f64_vec(), b.to_f64_vec());
    for (x, y) in a.iter().zip(&b) {
        let equal = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance * (1.0 + y.abs());
        assert!(equal, "{name}: {a:?} {b:?}");
    }
}

/// First and second derivatives of <f(x), u> along v: reverse, forward, forward over reverse and reverse over reverse
/// against central differences; and the function mapped over a batch against a loop.
fn check(name: &str, x: &Tensor, f: impl Fn(&Tensor) -> Tensor + Copy) {
    let seeds = Key::new(9).split(2);
    let y = f(x);
    let u = seeds[0].normal(y.shape().clone(), DType::F64);
    let v = seeds[1].normal(x.shape().clone(), DType::F64);
    let loss = |x: &Tensor| (f(x) * &u).sum();
    let step = 1e-5;
    let along = |g: &dyn Fn(&Tensor) -> Tensor| (g(&(x + &v * step)) - g(&(x - &v * step))) * (0.5 / step);
    let slope = along(&loss);
    close(name, &(grad(loss)(x) * &v).sum(), &slope, 1e-7);
    close(name, &jvp(loss, x, &v).1, &slope, 1e-7);
    let curvature = along(&|x| grad(loss)(x));
    close(name, &hvp(loss, x, &v), &curvature, 1e-6);
    close(name, &grad(|x: &Tensor| (grad(loss)(x) * &v).sum())(x), &curvature, 1e-6);
    let inner = |x: &Tensor| jvp(loss, x, &v).1;
    close(name, &grad(inner)(x), &curvature, 1e-6);
    let other = x * 0.5 + 0.25;
    let stacked = Tensor::stack(&[x, &other], 0);
    close(name, &vmap(f)(&stacked), &Tensor::stack(&[&y, &f(&other)], 0), 1e-12);
    let slopes = vmap(|x: &Tensor| grad(loss)(x))(&stacked);
    close(name, &slopes, &Tensor::stack(&[&grad(loss)(x), &grad(loss)(&other)], 0), 1e-12);
}

fn sample(shape: &[usize]) -> Tensor {
    Key::new(3).normal(shape, DType::F64)
}

#[test]
fn values_agree_with_numpy() {
    let fixture = load("numpy_tensor");
    let mut seen = 0;
    for case in fixture.cases_starting("reduce ").into_iter().chain(fixture.cases_starting("cum")) {
        let x = tensor(case.input("x"));
        let axes: Vec<isize> = match case.integers("axis") {
            Some(axes) => axes.iter().map(|&axis| axis as isize).collect(),
            None => (0..x.rank() as isize).collect(),
        };
        let keep = case.attrs["keepdims"].as_bool().unwrap_or(false);
        let correction = case.integer("ddof").unwrap_or(0) as usize;
        let all = case.attrs["axis"].is_null();
        let y = match case.attrs["op"].as_str().unwrap() {
            "sum" => x.sum_axes(&axes, keep),
            "mean" => x.mean_axes(&axes, keep),
            "prod" => x.prod_axes(&axes, keep),
            "max" => x.max_axes(&axes, keep),
            "min" => x.min_axes(&axes, keep),
            "var" => x.var_axes(&axes, correction, keep),
            "std" => x.std_axes(&axes, correction, keep),
            "logsumexp" => x.logsumexp(&axes, keep),
            "any" => x.any_axes(&axes, keep),
            "all" => x.all_axes(&axes, keep),
            "argmax" if all => x.argmax_all(),
            "argmin" if all => x.argmin_all(),
            "argmax" => x.argmax(axes[0]),
            "argmin" => x.argmin(axes[0]),
            "cumsum" => x.cumsum(axes[0]),
            "cumprod" => x.cumprod(axes[0]),
            other => panic!("{other}"),
        };
        close(&case.name, &y, &tensor(case.output("y")), 1e-12);
        seen += 1;
    }
    assert!(seen >= 44, "{seen}");
}

#[test]
fn derivatives_of_every_reduction() {
    let x = sample(&[2, 3, 4]);
    check("prod", &x, |x| x.prod_axes(&[0, 2], true));
    check("prod middle", &x, |x| x.prod_axes(&[1], false));
    check("prod all", &x, |x| x.prod());
    check("var", &x, |x| x.var_axes(&[1], 1, false));
    check("var all", &x, |x| x.var(0));
    check("std", &x, |x| x.std_axes(&[0, 2], 1, true));
    check("logsumexp", &x, |x| x.logsumexp(&[-1], false));
    check("logsumexp two axes", &x, |x| x.logsumexp(&[0, 2], true));
    check("norm 1", &x, |x| x.norm_axes(1.0, &[1], false));
    check("norm 2", &x, |x| x.norm_axes(2.0, &[1, 2], false));
    check("norm 2 all", &x, |x| x.norm(2.0));
    check("norm 3.5", &x, |x| x.norm_axes(3.5, &[-1], true));
    check("norm inf", &x, |x| x.norm_axes(f64::INFINITY, &[1], false));
    check("norm -inf", &x, |x| x.norm_axes(f64::NEG_INFINITY, &[1], false));
    check("cumsum", &x, |x| x.cumsum(1).square());
    check("cumsum last", &x, |x| x.cumsum(-1).sin());
    check("cumprod", &x, |x| x.cumprod(1));
    check("cumprod last", &x, |x| x.cumprod(-1));
    check("quantile", &x, |x| x.quantile_axis(0.3, 2, false).square());
    check("median", &x, |x| x.median_axis(0, true));
    check("median all", &x, |x| x.median().exp());
    check("transposed sum", &x, |x| x.permute(&[2, 0, 1]).sum_axes(&[0, 1], false).square());
}

#[test]
fn derivatives_of_products_and_losses() {
    let x = sample(&[3, 3]);
    let w = Key::new(4).normal([3], DType::F64);
    let w = &w;
    check("dot", w, |x| x.dot(&x.sin()));
    check("outer", w, |x| x.outer(&x.exp()));
    check("inner", &x, |x| x.inner(&x.square()));
    check("cosine", &x, |x| x.cosine_similarity(w, 1));
    check("trace", &x, |x| x.matmul(x).trace());
    check("kron", w, |x| x.kron(&x.reshape([3, 1])));
    check("mse", w, |x| x.sin().mse_loss(w, tove_tensor::Reduction::Sum));
    check("einsum", &x, |x| Tensor::einsum("ij,jk,kk,j->i", &[x, x, x, w]));
}

#[test]
fn products_with_zeros_have_right_derivatives() {
    // One zero, two zeros, none.
    for zeros in [vec![1], vec![1, 3], vec![], vec![0], vec![4]] {
        let mut data = vec![1.5, -2.0, 0.5, 3.0, -1.25];
        zeros.iter().for_each(|&i| data[i] = 0.0);
        let x = Tensor::from(data.clone());
        check("prod with zeros", &x, |x| x.prod());
        check("cumprod with zeros", &x, |x| x.cumprod(0));
        let others = |i: usize| (0..5).filter(|&j| j != i).map(|j| data[j]).product::<f64>();
        let expected = Tensor::from((0..5).map(others).collect::<Vec<f64>>());
        close("prod", &grad(|x: &Tensor| x.prod())(&x), &expected, 1e-15);
    }
    // Third derivative of x y z by each of them is 1.
    let x = Tensor::from([0.0, 0.0, 0.0]);
    let part = |i: usize, f: &dyn Fn(&Tensor) -> Tensor, x: &Tensor| grad(f)(x).get(i);
    let third = part(2, &|x| part(1, &|x| part(0, &|x| x.prod(), x), x), &x);
    assert_eq!(third.item::<f64>(), 1.0);
}

#[test]
fn kinks_and_edges() {
    let zero = Tensor::zeros([3], DType::F64);
    for p in [1.0, 1.5, 2.0, 3.0, f64::INFINITY] {
        assert_eq!(grad(|x: &Tensor| x.norm(p))(&zero).to_vec::<f64>(), [0.0; 3], "{p}");
        let second = hvp(|x: &Tensor| x.norm(p), &zero, &Tensor::ones([3], DType::F64));
        assert_eq!(second.to_vec::<f64>(), [0.0; 3], "{p}");
    }
    let half = grad(|x: &Tensor| x.norm(0.5))(&Tensor::from([0.0, 4.0]));
    close("norm 0.5", &half, &Tensor::from([0.0, 1.0]), 1e-12);
    assert_eq!(Tensor::from([0.0, 2.0, -1.0]).norm(0.0).item::<f64>(), 2.0);
    assert_eq!(grad(|x: &Tensor| x.std(1))(&Tensor::from([2.0, 2.0])).to_vec::<f64>(), [0.0; 2]);
    assert!(zero.try_norm(-1.0).is_err() && zero.try_norm(f64::NAN).is_err());

    // No overflow, no underflow, infinities and NaN pass through.
    for size in [1e200f64, 1e-200] {
        close("scaled", &(Tensor::from([3.0, 4.0]) * size).norm(2.0), &Tensor::scalar(5.0 * size), 1e-14);
        let slope = grad(|x: &Tensor| x.norm(2.0))(&(Tensor::from([3.0, 4.0]) * size));
        close("scaled slope", &slope, &Tensor::from([0.6, 0.8]), 1e-14);
        close("scaled cubes", &(Tensor::from([1.0, 1.0]) * size).norm(3.0), &Tensor::scalar(2f64.cbrt() * size), 1e-14);
    }
    assert_eq!(Tensor::from([f64::INFINITY, 1.0]).norm(2.0).item::<f64>(), f64::INFINITY);
    assert!(Tensor::from([f64::NAN, 1.0]).norm(2.0).item::<f64>().is_nan());

    // Rows of -inf.
    let low = f64::NEG_INFINITY;
    let x = Tensor::from([[low, low], [low, 1.0], [1000.0, 1000.0]]);
    let y = x.logsumexp(&[1], false).to_vec::<f64>();
    assert_eq!(y, [low, 1.0, 1000.0 + 2f64.ln()]);
    let slope = grad(|x: &Tensor| x.logsumexp(&[1], false).sum())(&x);
    assert_eq!(slope.to_vec::<f64>(), [0.0, 0.0, 0.0, 1.0, 0.5, 0.5]);
    let direction = Tensor::ones([3, 2], DType::F64);
    let (_, tangent) = jvp(|x: &Tensor| x.logsumexp(&[1], false), &x, &direction);
    assert_eq!(tangent.to_vec::<f64>(), [0.0, 1.0, 1.0]);
    let second = hvp(|x: &Tensor| x.logsumexp(&[1], false).sum(), &x, &direction).to_vec::<f64>();
    assert!(second.iter().all(|h| h.abs() < 1e-15), "{second:?}");

    // Nothing to fold.
    let none = Tensor::zeros([2, 0], DType::F64);
    assert_eq!(none.prod_axes(&[1], false).to_vec::<f64>(), [1.0, 1.0]);
    assert_eq!(none.logsumexp(&[1], false).to_vec::<f64>(), [low, low]);
    assert_eq!(none.norm_axes(2.0, &[1], false).to_vec::<f64>(), [0.0, 0.0]);
    assert_eq!(none.all_axes(&[1], false).to_vec::<bool>(), [true, true]);
    assert_eq!(none.any_axes(&[1], false).to_vec::<bool>(), [false, false]);
    assert_eq!(none.cumsum(1).shape(), &[2, 0]);
    assert_eq!(none.cumprod(1).shape(), &[2, 0]);
    assert!(
        none.var(1).item::<f64>().is_nan() && none.median().item::<f64>().is_nan() && none.try_argmax_all().is_err()
    );
    assert!(Tensor::from([3.0]).var(1).item::<f64>().is_nan());
    assert_eq!(Tensor::scalar(3.0).prod().item::<f64>(), 3.0);
    assert_eq!(Tensor::scalar(-3.0).norm(2.0).item::<f64>(), 3.0);

    // Quantiles beside infinities, and with NaN.
    assert_eq!(Tensor::from([1.0, 2.0, f64::INFINITY]).median().item::<f64>(), 2.0);
    assert!(Tensor::from([1.0, f64::NAN, 2.0]).quantile(0.0).item::<f64>().is_nan());
    assert!(Tensor::from([1.0]).try_quantile(1.5).is_err());
    let tied = grad(|x: &Tensor| x.median())(&Tensor::from([2.0, 2.0, 2.0]));
    assert_eq!(tied.sum().item::<f64>(), 1.0);
    assert_eq!(Tensor::from([1i64, 0, 3]).prod().item::<i64>(), 0);
    assert_eq!(Tensor::from([true, false, true]).count_nonzero().item::<i64>(), 2);
}

#[test]
fn transposed_tensors_fold_as_their_copies() {
    let x = sample(&[5, 7, 3, 4]);
    for order in [[3, 2, 1, 0], [1, 0, 3, 2], [0, 2, 1, 3], [2, 3, 0, 1]] {
        let view = x.permute(&order);
        for axes in [&[0][..], &[1, 3], &[0, 1, 2, 3], &[2], &[]] {
            for keep in [false, true] {
                let copy = view.contiguous();
                close("sum", &view.sum_axes(axes, keep), &copy.sum_axes(axes, keep), 1e-12);
                close("max", &view.max_axes(axes, keep), &copy.max_axes(axes, keep), 0.0);
                close("prod", &view.prod_axes(axes, keep), &copy.prod_axes(axes, keep), 1e-12);
                assert!(view.sum_axes(axes, keep).is_contiguous());
            }
        }
        let gaps = view.slice(1, 0, view.dims()[1], 2);
        close("gaps", &gaps.sum_axes(&[1, 2], false), &gaps.contiguous().sum_axes(&[1, 2], false), 1e-12);
    }
    let stretched = sample(&[3, 1]).broadcast_to([3, 4]);
    close("stretched", &stretched.sum_axes(&[1], false), &stretched.contiguous().sum_axes(&[1], false), 1e-12);
    // No copy is made: the cost is the result's memory alone.
    let big = sample(&[300, 200]).t();
    let (_, cost) = tove_tensor::meter::measure(|| big.sum_axes(&[0], false));
    assert!(cost.peak_bytes() <= 4096, "{}", cost.peak_bytes());
}

#[test]
fn long_sums_and_scans_keep_their_digits() {
    // Ten million numbers near one, in single precision, along each axis and all over.
    let n = 10_000_000;
    let x = Key::new(5).uniform([n], DType::F32) + 0.5f64;
    let exact: f64 = x.as_slice::<f32>().unwrap().iter().map(|&x| f64::from(x)).sum();
    let off = |sum: f64| (sum / exact - 1.0).abs();
    assert!(off(f64::from(x.sum().item::<f32>())) < 1e-6);
    for columns in [1, 4, 50, 1000] {
        let folded = x.reshape([n / columns, columns]).sum_axes(&[0], false).to_f64_vec();
        assert!(off(folded.iter().sum()) < 1e-6, "{columns}");
    }
    let constant = Tensor::full([n], 0.1, DType::F32);
    let tenth = f64::from(0.1f32) * n as f64;
    for shape in [[n, 1], [n / 4, 4], [n / 1000, 1000], [1, n]] {
        let total: f64 = constant.reshape(shape).sum_axes(&[0], false).to_f64_vec().iter().sum();
        assert!((total / tenth - 1.0).abs() < 1e-6, "{shape:?} {}", total / tenth - 1.0);
    }
}

/// Every running sum against one kept in f64, in units of its last place: along one long row, many columns, backwards.
#[test]
fn running_sums_are_rounded_once() {
    let n = 1_000_000;
    let x = Key::new(5).uniform([n], DType::F32) + 0.5f64;
    for columns in [1usize, 3, 600] {
        let rows = n / columns;
        let table = x.narrow(0, 0, rows * columns).reshape([rows, columns]);
        let numbers = table.to_f64_vec();
        let running = table.cumsum(0).to_f64_vec();
        for column in [0, columns / 2, columns - 1] {
            let mut exact = 0.0;
            for row in 0..rows {
                exact += numbers[row * columns + column];
                let found = running[row * columns + column];
                assert!((found / exact - 1.0).abs() <= 6.0e-8, "{columns} {row}: {found} {exact}");
            }
        }
        // The gradient runs from the other end.
        let back = grad(|x: &Tensor| x.cumsum(0).select_index(0, rows - 1).sum())(&table);
        assert!(back.to_vec::<f32>().iter().all(|&g| g == 1.0));
    }
    // In f64, where the sum of many tenths is off by 1e-9 if added one by one: k tenths are k / 10 to the last place.
    let tenths = Tensor::full([n], 0.1, DType::F64);
    for shape in [[n, 1], [n / 4, 4]] {
        let running = tenths.reshape(shape).cumsum(0).select_index(1, 0).to_vec::<f64>();
        let worst =
            running.iter().enumerate().map(|(k, y)| (y / (0.1 * (k + 1) as f64) - 1.0).abs()).fold(0.0, f64::max);
        assert!(worst <= 2.3e-16, "{worst:e}");
    }
    // Infinities and NaN run on.
    let odd = Tensor::from([1.0, f64::INFINITY, 2.0, f64::NEG_INFINITY, 1.0]).cumsum(0).to_vec::<f64>();
    assert_eq!(odd[..3], [1.0, f64::INFINITY, f64::INFINITY]);
    assert!(odd[3].is_nan() && odd[4].is_nan());
}

#[test]
fn errors_name_the_operation() {
    let x = sample(&[2, 3]);
    let message = x.try_cumsum(2).unwrap_err().to_string();
    assert!(message.contains("cumsum") && message.contains("axis 2"), "{message}");
    let message = Tensor::from([1i64, 2]).try_var(1).unwrap_err().to_string();
    assert!(message.contains("var") && message.contains("i64"), "{message}");
    let message = x.try_dot(&x).unwrap_err().to_string();
    assert!(message.contains("dot") && message.contains("vectors"), "{message}");
    let message = x.try_trace().unwrap_err().to_string();
    assert!(message.contains("trace") && message.contains("square"), "{message}");
}

#[test]
fn series_agree_with_numpy() {
    let fixture = load("numpy_tensor");
    for case in fixture.cases_starting("diff") {
        let axis = case.integer("axis").unwrap() as isize;
        close(&case.name, &tensor(case.input("x")).diff(axis), &tensor(case.output("y")), 0.0);
    }
    for case in fixture.cases_starting("cov ") {
        let correction = case.integer("correction").unwrap() as usize;
        close(&case.name, &tensor(case.input("x")).cov(correction), &tensor(case.output("y")), 1e-14);
    }
    let case = fixture.case("histogram");
    let counts = tensor(case.input("x")).histogram(&tensor(case.input("edges")));
    assert_eq!(counts.to_f64_vec(), case.output("y").data);
    let case = fixture.case("nan_to_num");
    let odd = tensor(case.input("x"));
    assert_eq!(odd.nan_to_num(0.25, 7.0, -8.0).to_f64_vec(), case.output("y").data);
    assert_eq!(odd.is_inf().to_vec::<bool>(), [false, false, true, true, false]);
    assert!(Tensor::from([1.0]).try_cov(1).is_err() && odd.try_histogram(&Tensor::from([1.0])).is_err());
}
