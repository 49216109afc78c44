//! Running extremes, order statistics, writes at positions, products, images and norms of groups against the values and
//! gradients of PyTorch and numpy.

mod common;

use common::{Array, Case, Fixture, load};
use tove_tensor::{Interpolation, Tensor, vjp};

fn tensor(array: &Array) -> Tensor {
    let shape = &array.shape[..];
    match array.dtype.as_str() {
        "i64" => Tensor::from_vec(array.to_i64(), shape),
        "bool" => Tensor::from_vec(array.data.iter().map(|&x| x != 0.0).collect(), shape),
        _ => Tensor::from_vec(array.data.clone(), shape),
    }
}

/// Sums are taken in another order than the reference's, and its running logarithms lose about 1e-13 themselves.
#[track_caller]
fn close(name: &str, ours: &Tensor, theirs: &Array) {
    assert_eq!(ours.dims(), &theirs.shape[..], "{name}");
    for (&a, &b) in ours.to_f64_vec().iter().zip(&theirs.data) {
        let equal = a == b || a.is_nan() && b.is_nan();
        assert!(equal || (a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{name}: {a} is not {b}");
    }
}

#[track_caller]
fn same(name: &str, ours: &Tensor, theirs: &Array) {
    assert_eq!(ours.dims(), &theirs.shape[..], "{name}");
    assert_eq!(ours.to_f64_vec(), theirs.data, "{name}");
}

/// Value and gradients of `f` by the inputs named.
#[track_caller]
fn check(case: &Case, names: &[&str], f: impl Fn(&[Tensor]) -> Tensor) {
    let inputs: Vec<Tensor> = names.iter().map(|name| tensor(case.input(name))).collect();
    let (y, pull) = vjp(|x: &Vec<Tensor>| f(x), &inputs);
    close(&case.name, &y, case.output("y"));
    let upstream = case.inputs.get("upstream").map_or_else(|| y.ones_like(), tensor);
    for (name, gradient) in names.iter().zip(pull(&upstream)) {
        close(&format!("{} by {name}", case.name), &gradient, case.grad(name));
    }
}

fn fixture() -> Fixture {
    load("torch_everyday")
}

/// Runs the body on the cases that begin so, of which there must be this many.
fn each(start: &str, count: usize, body: impl Fn(&Case)) {
    let fixture = fixture();
    let cases = fixture.cases_starting(start);
    assert_eq!(cases.len(), count, "{start}");
    cases.into_iter().for_each(body);
}

fn axis(case: &Case) -> isize {
    case.integer("axis").expect("an axis") as isize
}

fn list(case: &Case, name: &str) -> Vec<isize> {
    case.integers(name).expect("a list").into_iter().map(|x| x as isize).collect()
}

fn number(case: &Case, name: &str) -> f64 {
    let value = &case.attrs[name];
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).expect("a number")
}

#[test]
fn running_extremes_with_positions() {
    each("cummax", 5, |case| {
        check(case, &["x"], |x| x[0].cummax(axis(case)).0);
        same(&case.name, &tensor(case.input("x")).cummax(axis(case)).1, case.output("other"));
    });
    each("cummin", 5, |case| {
        check(case, &["x"], |x| x[0].cummin(axis(case)).0);
        same(&case.name, &tensor(case.input("x")).cummin(axis(case)).1, case.output("other"));
    });
}

#[test]
fn running_logarithms_of_sums() {
    each("logcumsumexp", 3, |case| check(case, &["x"], |x| x[0].logcumsumexp(axis(case))));
}

#[test]
fn sums_and_means_without_nan() {
    each("nansum", 1, |case| check(case, &["x"], |x| x[0].nansum_axes(&list(case, "axes"), false)));
    each("nanmean", 1, |case| check(case, &["x"], |x| x[0].nanmean_axes(&list(case, "axes"), false)));
}

#[test]
fn order_statistics_and_modes() {
    each("kthvalue", 3, |case| {
        let k = case.integer("k").expect("a number") as usize;
        check(case, &["x"], |x| x[0].kthvalue(k, axis(case), false).0);
        same(&case.name, &tensor(case.input("x")).kthvalue(k, axis(case), false).1, case.output("other"));
    });
    each("mode", 2, |case| {
        check(case, &["x"], |x| x[0].mode(axis(case), false).0);
        same(&case.name, &tensor(case.input("x")).mode(axis(case), false).1, case.output("other"));
    });
}

#[test]
fn different_slices() {
    each("unique_axis", 2, |case| {
        let found = tensor(case.input("x")).unique_axis(axis(case));
        same(&case.name, &found.values, case.output("y"));
        same(&case.name, &found.inverse, case.output("inverse"));
        same(&case.name, &found.counts, case.output("counts"));
    });
}

#[test]
fn writes_at_positions() {
    let fixture = fixture();
    let case = fixture.case("scatter");
    let index = tensor(case.input("index"));
    check(case, &["x", "source"], |x| x[0].scatter(1, &index, &x[1]));
    let case = fixture.case("index_fill");
    let index = tensor(case.input("index"));
    check(case, &["x"], |x| x[0].index_fill(1, &index, 2.5));
    each("masked_scatter", 2, |case| {
        let mask = tensor(case.input("mask"));
        check(case, &["x", "source"], |x| x[0].masked_scatter(&mask, &x[1]));
    });
}

#[test]
fn pairs_of_numbers() {
    each("hypot", 1, |case| check(case, &["input", "other"], |x| x[0].hypot(&x[1])));
    // Absolute tolerances say nothing about 1e-200: the same once more by ratio.
    let fixture = fixture();
    let case = fixture.case("hypot");
    let y = tensor(case.input("input")).hypot(&tensor(case.input("other"))).to_f64_vec();
    y.iter().zip(&case.output("y").data).for_each(|(a, b)| assert!((a / b - 1.0).abs() < 1e-15, "{a} {b}"));
    each("lerp", 1, |case| check(case, &["input", "end", "weight"], |x| x[0].lerp(&x[1], &x[2])));
    each("isclose", 1, |case| {
        let (a, b) = (tensor(case.input("a")), tensor(case.input("b")));
        same(&case.name, &a.isclose(&b, number(case, "relative"), number(case, "absolute")), case.output("y"));
    });
}

#[test]
fn distances_and_products() {
    each("cdist", 5, |case| check(case, &["a", "b"], |x| x[0].cdist(&x[1], number(case, "p"))));
    each("cross", 2, |case| check(case, &["a", "b"], |x| x[0].cross(&x[1], axis(case))));
    each("tensordot", 3, |case| {
        check(case, &["a", "b"], |x| x[0].tensordot(&x[1], &list(case, "axes"), &list(case, "others")));
    });
}

#[test]
fn images_of_another_size() {
    for (name, method) in [("nearest", Interpolation::Nearest), ("bilinear", Interpolation::Bilinear)] {
        each(&format!("interpolate {name}"), 5, |case| {
            let size = list(case, "size");
            check(case, &["x"], |x| x[0].interpolate([size[0] as usize, size[1] as usize], method));
        });
    }
}

#[test]
fn norms_of_groups_and_instances() {
    let names = ["x", "weight", "bias"];
    each("group_norm", 4, |case| {
        let groups = case.integer("groups").expect("a number") as usize;
        check(case, &names, |x| x[0].group_norm(groups, Some(&x[1]), Some(&x[2]), 1e-5));
    });
    each("instance_norm", 3, |case| check(case, &names, |x| x[0].instance_norm(Some(&x[1]), Some(&x[2]), 1e-5)));
}

#[test]
fn sequences_of_numbers() {
    each("arange_step", 5, |case| {
        let y = Tensor::arange_step(number(case, "start"), number(case, "end"), number(case, "step"));
        close(&case.name, &y, case.output("y"));
    });
    each("logspace", 4, |case| {
        let count = case.integer("count").expect("a number") as usize;
        let y = Tensor::logspace(number(case, "start"), number(case, "end"), count, number(case, "base"));
        close(&case.name, &y, case.output("y"));
    });
}
