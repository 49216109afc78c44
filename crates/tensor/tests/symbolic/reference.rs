//! Syllabus B9 and B10, and random expressions against sympy.

use super::parse;
use serde_json::Value;
use tove_tensor::symbolic::Program;

/// Checks every case of the fixture; gives how many there were.
fn compare_with_sympy() -> usize {
    let fixture: Value = serde_json::from_str(include_str!("../reference/symbolic.json")).expect("symbolic.json");
    let cases = fixture["cases"].as_array().expect("cases");
    for case in cases {
        let text = case["text"].as_str().expect("text");
        let f = parse(text);
        let number = |key: &str| case[key].as_f64().expect("number");
        let point = [("x", number("x")), ("y", number("y"))];
        let fx = f.diff("x");
        for (key, e) in [("fy", f.diff("y")), ("fxx", fx.diff("x")), ("fxy", fx.diff("y")), ("fx", fx), ("f", f)] {
            for form in [e.clone(), e.simplify(), parse(&e.to_string())] {
                let (value, wanted) = (form.evaluate(&point).expect("value"), number(key));
                let close = (value - wanted).abs() <= 1e-9 * wanted.abs().max(1.0);
                assert!(close, "{key} of {text} at {point:?}: {value} from {form}, sympy {wanted}");
            }
        }
    }
    cases.len()
}

/// The derivative of a sin x + b x sin x is printed, equals a cos x + b sin x + b x cos x in form and value, and is not
/// the function itself (which the seed shows in its place); random expressions agree with sympy.
#[test]
fn b9_symbolic_derivative_is_an_expression() {
    let f = parse("a*sin(x) + b*x*sin(x)");
    let derivative = f.diff("x");
    assert_eq!(derivative.to_string(), "b*x*cos(x) + a*cos(x) + b*sin(x)");
    assert_eq!(derivative, parse("a*cos(x) + b*sin(x) + b*x*cos(x)"));
    assert_ne!(derivative, f);
    let point = [("a", 2.0), ("b", 3.0), ("x", 1.0)];
    let value = derivative.evaluate(&point).expect("value");
    assert!((value - 5.225924484).abs() < 5e-10, "{value}");
    assert!((f.evaluate(&point).expect("value") - 5.0 * 1f64.sin()).abs() < 1e-15);
    assert!(compare_with_sympy() >= 400);
}

/// The first half of B10's clause; the engine's tests show the second, values cached for the backward pass.
#[test]
fn symbolic_shared_subexpressions() {
    let f = parse("a*sin(x) + b*x*sin(x)");
    let point = [("a", 2.0), ("b", 3.0), ("x", 1.0)];
    let (_, calls) = f.diff("x").evaluate_counted(&point).expect("value");
    assert_eq!(calls.into_iter().collect::<Vec<_>>(), [("cos", 1), ("sin", 1)]);
    // function, derivative and second derivative together still need each once
    let together = Program::new(&[f.clone(), f.diff("x"), f.diff("x").diff("x")]);
    let (values, calls) = together.run(&[2.0, 3.0, 1.0]).expect("values");
    assert_eq!(calls.into_iter().collect::<Vec<_>>(), [("cos", 1), ("sin", 1)]);
    assert_eq!(values[1], f.diff("x").evaluate(&point).expect("value"));
}

/// The counter is not stuck at one: different arguments are different calls.
#[test]
fn calls_are_counted() {
    let (_, calls) = parse("sin(x) + sin(2*x) + sqrt(x) + x^1.5").evaluate_counted(&[("x", 1.0)]).expect("value");
    assert_eq!(calls.into_iter().collect::<Vec<_>>(), [("pow", 1), ("sin", 2), ("sqrt", 1)]);
}
