//! Values and gradients of convolutions and pooling against PyTorch.

mod common;

use common::{Array, Case, load};
use tove_tensor::{ConvOptions, DType, PoolOptions, Shape, Tensor, vjp};

fn tensor(array: &Array) -> Tensor {
    let dtype = if array.dtype == "f32" { DType::F32 } else { DType::F64 };
    Tensor::from_vec(array.data.clone(), Shape::new(&array.shape)).to_dtype(dtype)
}

fn close(found: &Tensor, wanted: &Array, what: &str) {
    assert_eq!(found.dims(), wanted.shape, "{what}");
    let tolerance = if wanted.dtype == "f32" { 1e-5 } else { 1e-12 };
    for (a, b) in found.to_f64_vec().iter().zip(&wanted.data) {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{what}: {a} and {b}");
    }
}

fn pair(case: &Case, name: &str, other: usize) -> [usize; 2] {
    match case.integers(name).as_deref() {
        None => [other; 2],
        Some([both]) => [*both as usize; 2],
        Some(list) => [list[0] as usize, list[1] as usize],
    }
}

fn conv_options(case: &Case) -> ConvOptions {
    let mut options = ConvOptions::new().groups(case.integer("groups").unwrap_or(1) as usize);
    options.stride = pair(case, "stride", 1);
    options.padding = pair(case, "padding", 0);
    options.dilation = pair(case, "dilation", 1);
    options.output_padding = pair(case, "output_padding", 0);
    options
}

fn pool_options(case: &Case) -> PoolOptions {
    let mut options = PoolOptions::new(1);
    options.kernel = pair(case, "kernel_size", 1);
    options.stride = case.integers("stride").map_or(options.kernel, |_| pair(case, "stride", 1));
    options.padding = pair(case, "padding", 0);
    options.count_include_pad(case.attrs["count_include_pad"].as_bool().unwrap_or(true))
}

fn convolutions(kind: &str, apply: impl Fn(&Vec<Tensor>, &ConvOptions) -> Tensor) {
    for file in ["torch_f32", "torch_f64"] {
        let fixture = load(file);
        let cases = fixture.cases_starting(&format!("{kind} "));
        assert!(cases.len() >= 4, "{kind}");
        for case in cases {
            let options = conv_options(case);
            let names = ["input", "weight", "bias"];
            let inputs: Vec<Tensor> = names.iter().map(|name| tensor(case.input(name))).collect();
            let (y, pull) = vjp(|inputs: &Vec<Tensor>| apply(inputs, &options), &inputs);
            close(&y, case.output("y"), &case.name);
            for (name, gradient) in names.iter().zip(pull(&tensor(case.input("upstream")))) {
                close(&gradient, case.grad(name), &format!("{}: {name}", case.name));
            }
        }
    }
}

#[test]
fn conv1d_agrees_with_torch() {
    convolutions("conv1d", |i, options| i[0].conv1d(&i[1], Some(&i[2]), options));
}

#[test]
fn conv2d_agrees_with_torch() {
    convolutions("conv2d", |i, options| i[0].conv2d(&i[1], Some(&i[2]), options));
}

#[test]
fn conv_transpose2d_agrees_with_torch() {
    convolutions("conv_transpose2d", |i, options| i[0].conv_transpose2d(&i[1], Some(&i[2]), options));
}

#[test]
fn conv_transpose1d_agrees_with_torch() {
    convolutions("conv_transpose1d", |i, options| i[0].conv_transpose1d(&i[1], Some(&i[2]), options));
}

fn poolings(kind: &str, apply: impl Fn(&Tensor, &PoolOptions) -> Tensor) {
    for file in ["torch_f32", "torch_f64"] {
        let fixture = load(file);
        for case in fixture.cases_starting(&format!("{kind} ")) {
            let options = pool_options(case);
            let name = if case.inputs.contains_key("input") { "input" } else { "x" };
            let (y, pull) = vjp(|x: &Tensor| apply(x, &options), &tensor(case.input(name)));
            close(&y, case.output("y"), &case.name);
            close(&pull(&tensor(case.input("upstream"))), case.grad(name), &case.name);
        }
    }
}

#[test]
fn max_pool2d_agrees_with_torch() {
    poolings("max_pool2d", |x, options| x.max_pool2d(options));
}

#[test]
fn avg_pool2d_agrees_with_torch() {
    poolings("avg_pool2d", |x, options| x.avg_pool2d(options));
}
