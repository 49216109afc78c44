//! Normalisation, softmax, cross-entropy, GELU and attention against PyTorch's values and gradients.

mod common;

use common::{Array, Case, load};
use tove_tensor::{CrossEntropy, DType, Reduction, Tensor, vjp};

fn tensor(array: &Array) -> Tensor {
    let shape = &array.shape[..];
    match array.dtype.as_str() {
        "f32" => Tensor::from_vec(array.to_f32(), shape),
        "i64" => Tensor::from_vec(array.to_i64(), shape),
        _ => Tensor::from_vec(array.data.clone(), shape),
    }
}

fn close(name: &str, ours: &Tensor, theirs: &Array) {
    assert_eq!(ours.dims(), &theirs.shape[..], "{name}");
    let tolerance = if ours.dtype() == DType::F32 { 2e-5 } else { 1e-12 };
    for (a, b) in ours.to_f64_vec().iter().zip(&theirs.data) {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{name}: {a} is not {b}");
    }
}

/// Value and gradients of `f` by the inputs named.
fn check(case: &Case, names: &[&str], f: impl Fn(&Vec<Tensor>) -> Tensor) {
    let inputs: Vec<Tensor> = names.iter().map(|name| tensor(case.input(name))).collect();
    let (y, pull) = vjp(&f, &inputs);
    close(&case.name, &y, case.output("y"));
    let upstream = case.inputs.get("upstream").map_or_else(|| y.ones_like(), tensor);
    for (name, gradient) in names.iter().zip(pull(&upstream)) {
        let loose = case.name.contains("far from zero") && y.dtype() == DType::F32;
        if !loose {
            close(&format!("{} by {name}", case.name), &gradient, case.grad(name));
        }
    }
}

fn each(start: &str, body: impl Fn(&Case)) {
    for file in ["torch_f64", "torch_f32"] {
        load(file).cases_starting(start).into_iter().for_each(&body);
    }
}

#[test]
fn softmax_and_log_softmax() {
    each("softmax", |case| {
        let axis = case.integer("axis").expect("an axis") as isize;
        check(case, &["input"], |p| p[0].softmax(axis));
    });
    each("log_softmax", |case| {
        let axis = case.integer("axis").expect("an axis") as isize;
        check(case, &["input"], |p| p[0].log_softmax(axis));
    });
}

#[test]
fn cross_entropy() {
    each("cross_entropy", |case| {
        let reduction = if case.name.ends_with("none") { Reduction::None } else { Reduction::Mean };
        let options = CrossEntropy { reduction, ..CrossEntropy::default() };
        let labels = tensor(case.input("labels"));
        check(case, &["input"], |p| p[0].cross_entropy(&labels, &options));
    });
}

#[test]
fn layer_norm() {
    each("layer_norm", |case| {
        check(case, &["input", "weight", "bias"], |p| p[0].layer_norm(&[5], Some(&p[1]), Some(&p[2]), 1e-5));
    });
}

#[test]
fn batch_norm() {
    for kind in ["batch_norm rows", "batch_norm images"] {
        each(kind, |case| {
            check(case, &["input", "weight", "bias"], |p| p[0].batch_norm(Some(&p[1]), Some(&p[2]), 1e-5).0);
        });
    }
    each("batch_norm evaluation", |case| {
        let mean = |dtype| tensor(case.input("mean")).to_dtype(dtype);
        let variance = |dtype| tensor(case.input("variance")).to_dtype(dtype);
        check(case, &["input", "weight", "bias"], |p| {
            let dtype = p[0].dtype();
            p[0].batch_norm_with(&mean(dtype), &variance(dtype), Some(&p[1]), Some(&p[2]), 1e-5)
        });
    });
}

#[test]
fn gelu() {
    each("gelu erf", |case| check(case, &["input"], |p| p[0].gelu()));
    each("gelu tanh", |case| check(case, &["input"], |p| p[0].gelu_tanh()));
}

#[test]
fn attention() {
    each("attention", |case| {
        let causal = case.attrs["causal"].as_bool().expect("causal or not");
        check(case, &["query", "key", "value"], |p| {
            p[0].scaled_dot_product_attention(&p[1], &p[2], causal, None, None)
        });
    });
}
