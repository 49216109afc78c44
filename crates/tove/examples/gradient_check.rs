//! Checks a derivative against differences, and shows what differences cost.
//!
//! ```text
//! cargo run -p tove --example gradient_check
//! ```
//!
//! A gradient of P parameters takes P + 1 evaluations by forward differences and 2P by central ones, against one forward
//! and one backward pass: differences are for checking. A wrong rule is reported with the entry where it shows most.

use tove::tensor::{CustomOp, Scheme, Tensor, gradcheck, numerical_jacobian};

fn main() {
    let x = Tensor::from([0.5, 1.5, 2.5, -1.0]);
    let f = |x: &Tensor| (x.sin() * x).sum();
    for scheme in [Scheme::Forward, Scheme::Central] {
        let found = numerical_jacobian(f, &x, scheme, 1e-5);
        println!("{scheme:?} differences of {} parameters: {} evaluations", x.numel(), found.evaluations);
    }
    match gradcheck(|x: &[Tensor]| f(&x[0]), std::slice::from_ref(&x)) {
        Ok(()) => println!("sum x sin x: derivatives of both modes are right, to second order"),
        Err(report) => println!("sum x sin x: {report}"),
    }
    // The rule for the square, with a factor that is right except at one entry.
    let wrong = CustomOp::new("square", |x| x[0].square())
        .with_backward(|x, _, g| vec![g * &x[0] * Tensor::from([2.0, 2.0, 4.0, 2.0])]);
    match gradcheck(|x: &[Tensor]| wrong.apply(&[&x[0]]).sum(), &[x]) {
        Ok(()) => println!("square with a wrong rule: not noticed"),
        Err(report) => println!("square with a wrong rule: {report}"),
    }
}
