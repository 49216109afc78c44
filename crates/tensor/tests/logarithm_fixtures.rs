//! Sums of exponentials and binary cross-entropies against PyTorch's values and gradients, and at their extremes.

mod common;

use common::{Array, Case, load};
use tove_tensor::{DType, Reduction, Tensor, TryReduce, grad, hessian, vjp};

fn tensor(array: &Array) -> Tensor {
    let dtype = if array.dtype == "f32" { DType::F32 } else { DType::F64 };
    Tensor::from_vec(array.data.clone(), &array.shape[..]).to_dtype(dtype)
}

fn close(name: &str, ours: &Tensor, theirs: &Array) {
    assert_eq!(ours.dims(), &theirs.shape[..], "{name}");
    let tolerance = if ours.dtype() == DType::F32 { 2e-6 } else { 1e-13 };
    for (a, b) in ours.to_f64_vec().iter().zip(&theirs.data) {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{name}: {a} is not {b}");
    }
}

/// Value and gradients of `f` by the inputs named, in both element types.
fn agree(start: &str, names: &[&str], count: usize, f: impl Fn(&[Tensor], Reduction) -> Tensor) {
    for file in ["torch_f64", "torch_f32"] {
        let fixture = load(file);
        let cases: Vec<&Case> = fixture.cases_starting(start);
        assert_eq!(cases.len(), count, "{start}");
        for case in cases {
            let reduction = match case.attrs["reduction"].as_str() {
                Some("mean") => Reduction::Mean,
                Some("sum") => Reduction::Sum,
                _ => Reduction::None,
            };
            let inputs: Vec<Tensor> = names.iter().map(|name| tensor(case.input(name))).collect();
            let (y, pull) = vjp(|x: &Vec<Tensor>| f(x, reduction), &inputs);
            close(&case.name, &y, case.output("y"));
            let upstream = case.inputs.get("upstream").map_or_else(|| y.ones_like(), tensor);
            for (name, gradient) in names.iter().zip(pull(&upstream)) {
                close(&format!("{} by {name}", case.name), &gradient, case.grad(name));
            }
        }
    }
}

#[test]
fn functions_agree_with_torch() {
    agree("logaddexp", &["a", "b"], 2, |x, _| x[0].logaddexp(&x[1]));
    agree("logsigmoid", &["input"], 1, |x, _| x[0].log_sigmoid());
    agree("softplus", &["input"], 1, |x, _| x[0].softplus());
}

#[test]
fn binary_cross_entropies_agree_with_torch() {
    agree("bce logits", &["input", "target"], 3, |x, reduction| {
        x[0].binary_cross_entropy_with_logits(&x[1], None, reduction)
    });
    // PyTorch has no derivative by the weights; the registry's samples check ours.
    agree("bce weighted", &["input", "target"], 3, |x, reduction| {
        let weight = Tensor::from([0.5, 2.0, 3.0, 1.0]).to_dtype(x[0].dtype());
        x[0].binary_cross_entropy_with_logits(&x[1], Some(&weight), reduction)
    });
    agree("bce probabilities", &["input", "target"], 3, |x, reduction| x[0].binary_cross_entropy(&x[1], reduction));
}

#[test]
fn sure_and_right_costs_little_but_not_nothing() {
    // In f32 as well: the loss e^-x and its slope -e^-x, where a difference of large numbers would give zero.
    for dtype in [DType::F32, DType::F64] {
        let (x, y) = (Tensor::full([1], 20.0, dtype), Tensor::ones([1], dtype));
        let loss = |x: &Tensor| x.binary_cross_entropy_with_logits(&y, None, Reduction::Sum);
        let expected = (-20f64).exp();
        let value = loss(&x).to_f64_vec()[0];
        let slope = grad(loss)(&x).to_f64_vec()[0];
        assert!((value / expected - 1.0).abs() < 1e-6, "{value:e}");
        assert!((slope / -expected - 1.0).abs() < 1e-6, "{slope:e}");
    }
    // Nothing overflows, to second order.
    let x = Tensor::from([1e4, -1e4, 0.0]);
    let y = Tensor::from([0.0, 1.0, 0.5]);
    let loss = |x: &Tensor| x.binary_cross_entropy_with_logits(&y, None, Reduction::Sum);
    assert_eq!(grad(loss)(&x).to_vec::<f64>(), [1.0, -1.0, 0.0]);
    assert_eq!(hessian(loss, &x).diag(0).to_vec::<f64>(), [0.0, 0.0, 0.25]);
    let both = x.logaddexp(&x).to_vec::<f64>();
    assert_eq!(both, [1e4 + 2f64.ln(), -1e4 + 2f64.ln(), 2f64.ln()]);
}

#[test]
fn losses_refuse_other_shapes() {
    let (column, flat) = (Tensor::ones([3, 1], DType::F64), Tensor::ones([3], DType::F64));
    for outcome in [
        column.try_binary_cross_entropy(&flat, Reduction::Mean),
        column.try_binary_cross_entropy_with_logits(&flat, None, Reduction::Mean),
    ] {
        assert!(outcome.is_err_and(|error| error.to_string().contains("reshape")));
    }
    let wide = Tensor::ones([2, 3], DType::F64);
    let outcome = flat.try_binary_cross_entropy_with_logits(&flat, Some(&wide), Reduction::Mean);
    assert!(outcome.is_err_and(|error| error.to_string().contains("broadcast")));
}
