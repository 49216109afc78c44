//! The graph itself: sharing, depth, compiled programs, several variables.

use super::parse;
use tove_tensor::symbolic::{EvaluationError, Expr, Function, Program};

#[test]
fn equal_expressions_are_one_node_on_all_threads() {
    let make = || parse("sin(q7)^2 + exp(q7*3) - sin(q7)");
    let here = make();
    let there = std::thread::spawn(make).join().expect("thread");
    assert_eq!(here, there);
    assert_eq!(here.node_count(), there.node_count());
}

/// Built of 60 doublings, the tree would have 2^60 leaves; the graph has one node per step.
#[test]
fn a_tree_too_large_for_the_world_is_a_small_graph() {
    let mut e = parse("x");
    for _ in 0..60 {
        e = e.call(Function::Sin) * e.call(Function::Cos);
    }
    assert!(e.node_count() < 400, "{}", e.node_count());
    let derivative = e.diff("x");
    let (_, calls) = derivative.evaluate_counted(&[("x", 0.5)]).expect("value");
    assert_eq!((calls["sin"], calls["cos"]), (60, 60));
    let again = {
        let mut e = parse("x");
        for _ in 0..60 {
            e = e.call(Function::Cos) * e.call(Function::Sin);
        }
        e
    };
    assert_eq!(e, again);
}

#[test]
fn depth_costs_no_stack() {
    let mut e = parse("x");
    for _ in 0..100_000 {
        e = e.call(Function::Tanh);
    }
    assert!(e.evaluate(&[("x", 0.5)]).expect("value") > 0.0);
    assert_eq!(e.free_variables(), ["x"]);
    assert_eq!(e.to_string().len(), 100_000 * "tanh()".len() + 1);
    let replaced = e.substitute("x", &Expr::from(0));
    assert_eq!(replaced, Expr::from(0));
    let mut small = parse("x");
    for _ in 0..500 {
        small = small.call(Function::Tanh);
    }
    assert!(small.diff("x").evaluate(&[("x", 0.0)]).expect("value") == 1.0);
}

#[test]
fn gradient_and_hessian() {
    let rosenbrock = parse("(1 - x)^2 + 100*(y - x^2)^2");
    let gradient = rosenbrock.gradient(&["x", "y"]);
    let at = |e: &Expr, x: f64, y: f64| e.evaluate(&[("x", x), ("y", y)]).expect("value");
    assert_eq!((at(&gradient[0], 1.0, 1.0), at(&gradient[1], 1.0, 1.0)), (0.0, 0.0));
    assert_eq!((at(&gradient[0], -1.0, 2.0), at(&gradient[1], -1.0, 2.0)), (396.0, 200.0));
    let hessian = rosenbrock.hessian(&["x", "y"]);
    let values: Vec<f64> = hessian.iter().flatten().map(|e| at(e, 1.0, 1.0)).collect();
    assert_eq!(values, [802.0, -400.0, -400.0, 200.0]);
    assert_eq!(hessian[0][1], hessian[1][0]);
}

#[test]
fn programs_are_flat_and_printable() {
    let program = Program::new(&[parse("x/y - sqrt(x)"), parse("x/y + 3")]);
    assert_eq!(program.variables(), ["x", "y"]);
    let listing = "\
t0 = x
t1 = sqrt(t0)
t2 = y
t3 = t0 / t2
t4 = t3 - t1
t5 = 3
t6 = t3 + t5
return t4, t6";
    assert_eq!(program.to_string(), listing);
    assert_eq!(program.run(&[4.0, 2.0]).expect("values").0, [0.0, 5.0]);
    let (mut registers, mut results) = (Vec::new(), Vec::new());
    program.run_into(&[4.0, 8.0], &mut registers, &mut results).expect("values");
    assert_eq!(results, [-1.5, 3.5]);
    assert_eq!(program.run(&[1.0]).expect_err("two are needed").to_string(), "1 values for 2 variables (x, y)");
}

#[test]
fn a_variable_without_value_is_named() {
    let error = parse("a*x + b").evaluate(&[("a", 1.0), ("b", 2.0)]).expect_err("x is missing");
    assert!(matches!(&error, EvaluationError::NoValue { name, .. } if name == "x"));
    assert_eq!(error.to_string(), "variable x has no value; give one of each of a, b, x");
}

#[test]
fn simplify_knows_the_squares_of_sine_and_cosine() {
    for (text, simpler) in [
        ("sin(x)^2 + cos(x)^2", "1"),
        ("3*sin(2*x)^2*y + 3*y*cos(2*x)^2 - y", "2*y"),
        ("cosh(x)^2 - sinh(x)^2", "1"),
        ("sin(x)/cos(x)", "tan(x)"),
        ("sin(x)^2 + cos(y)^2", "sin(x)^2 + cos(y)^2"),
        ("exp(sin(x)^2 + cos(x)^2)", "e"),
    ] {
        assert_eq!(parse(text).simplify(), parse(simpler), "{text}");
    }
}

#[test]
fn fractions_stay_exact() {
    assert_eq!(parse("1/3 + 1/6").to_string(), "1/2");
    assert_eq!(parse("x^(1/3)").diff("x").to_string(), "1/(3*x^(2/3))");
    assert_eq!(parse("(2/3)^3").to_string(), "8/27");
    assert_eq!(parse("sqrt(9/4)").to_string(), "3/2");
    assert_eq!(parse("sqrt(2)*sqrt(2)").to_string(), "2");
    // too large for 64 bits: floating point takes over, nothing wraps
    let big = parse("4611686018427387904*4");
    assert_eq!(big.evaluate(&[]).expect("value"), 2f64.powi(64));
}
