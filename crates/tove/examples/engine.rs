//! The engine at work: derivatives of a small function in both modes with the recorded program, then a small net fitted.
//!
//! `cargo run --release -p tove --example engine` takes about a second. It asserts what it shows.

use std::time::Instant;

use tove::prelude::*;
use tove::tensor::{Key, Trace};

fn main() {
    derivatives();
    net();
}

/// f(a, x) = Σ sin(a x) + x², by hand, forward, backward and by differences.
fn derivatives() {
    let f = |v: &[Tensor]| ((&v[0] * &v[1]).sin() + v[1].square()).sum();
    let (a, x) = (Tensor::scalar(2.0), Tensor::from([0.5, -1.0]));
    let inputs = [a.clone(), x.clone()];

    println!("f(a, x) = sum(sin(a x) + x^2) at a = {a}, x = {x}\n");
    let trace = Trace::of(f, &inputs);
    println!("the recorded program and its reverse:\n\n{}", trace.dual());

    let reverse = grad(|v: &Vec<Tensor>| f(v))(&inputs.to_vec());
    let one = |v: &Tensor| f(&[v.clone(), x.clone()]);
    let (value, forward) = jvp(one, &a, &Tensor::scalar(1.0));
    let by_hand: f64 = [0.5f64, -1.0].iter().map(|x| x * (2.0 * x).cos()).sum();
    println!("value                  {value}");
    println!("df/da by hand          {by_hand:.12}");
    println!("df/da forward mode     {:.12}", forward.item::<f64>());
    println!("df/da reverse mode     {:.12}", reverse[0].item::<f64>());
    println!("df/dx reverse mode     {}", reverse[1]);
    println!("d2f/da2                {}", hessian(one, &a));
    assert!((forward.item::<f64>() - by_hand).abs() < 1e-12);
    assert!((reverse[0].item::<f64>() - by_hand).abs() < 1e-12);
    gradcheck(f, &inputs).expect("the derivatives agree with differences to second order, in both modes");
    println!("gradcheck              passed, both modes, second order\n");
}

/// A net 2-32-32-2 learns two spirals.
fn net() {
    let (x, y) = spirals(200);
    let key = Key::new(7);
    let sizes = [2, 32, 32, 2];
    let mut parameters: Vec<Tensor> = Vec::new();
    for (layer, pair) in sizes.windows(2).enumerate() {
        let scale = (2.0 / pair[0] as f64).sqrt();
        let weight = key.fold(layer as u64).normal([pair[1], pair[0]], DType::F32) * scale;
        parameters.push(weight.requires_grad());
        parameters.push(Tensor::zeros([pair[1]], DType::F32).requires_grad());
    }
    let forward = |parameters: &[Tensor]| {
        let hidden = x.linear(&parameters[0], Some(&parameters[1]), Activation::Relu);
        let hidden = hidden.linear(&parameters[2], Some(&parameters[3]), Activation::Relu);
        hidden.linear(&parameters[4], Some(&parameters[5]), Activation::Identity)
    };
    let accuracy = |parameters: &[Tensor]| {
        let right = no_grad(|| forward(parameters)).argmax(-1).eq(&y);
        right.to_dtype(DType::F32).mean().item::<f32>()
    };

    println!("a net 2-32-32-2 on two spirals of {} points, Adam, cross-entropy:\n", x.dims()[0]);
    let mut adam = Adam::new(5e-3);
    let start = Instant::now();
    let steps = 500;
    for step in 0..=steps {
        let loss = forward(&parameters).cross_entropy(&y, &CrossEntropy::default());
        if step % 100 == 0 {
            println!("step {step:>5}   loss {:.4}   accuracy {:.3}", loss.item::<f32>(), accuracy(&parameters));
        }
        loss.backward();
        adam.step(&mut parameters.iter_mut().collect::<Vec<_>>()).expect("parameters do not change in number");
    }
    let elapsed = start.elapsed();
    println!("\n{steps} steps in {:.2?}, {:.1?} each", elapsed, elapsed / steps);
    assert!(accuracy(&parameters) > 0.98);
}

/// Two interleaved spirals with a little noise: points (n, 2) and classes (n).
fn spirals(each: usize) -> (Tensor, Tensor) {
    let noise: Vec<f32> = Key::new(1).normal([4 * each], DType::F32).to_vec();
    let (mut points, mut classes) = (Vec::new(), Vec::new());
    for i in 0..2 * each {
        let (class, radius) = (i % 2, 0.1 + 0.9 * (i / 2) as f32 / each as f32);
        let angle = 6.0 * radius + std::f32::consts::PI * class as f32;
        points.push([radius * angle.cos() + 0.01 * noise[2 * i], radius * angle.sin() + 0.01 * noise[2 * i + 1]]);
        classes.push(class as i64);
    }
    (Tensor::from_vec(points.into_flattened(), [2 * each, 2]), Tensor::from(classes))
}
