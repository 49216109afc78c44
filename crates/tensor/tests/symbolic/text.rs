//! Texts: precedence, printing, errors with their place.

use super::parse;
use tove_tensor::symbolic::{Expr, Function, ParseError};

#[track_caller]
fn prints(text: &str, expected: &str) {
    assert_eq!(parse(text).to_string(), expected, "{text}");
    assert_eq!(parse(expected), parse(text), "{expected} reads back");
}

#[test]
fn precedence_and_associativity() {
    let value = |text: &str| parse(text).evaluate(&[("x", 3.0), ("y", 5.0)]).expect("value");
    assert_eq!(value("-x^2"), -9.0);
    assert_eq!(value("2^x^2"), 512.0);
    assert_eq!(value("2**-1"), 0.5);
    assert_eq!(value("x - y - 1"), -3.0);
    assert_eq!(value("y/x/5"), 1.0 / 3.0);
    assert_eq!(value("x - -y"), 8.0);
    assert_eq!(value("2*-x"), -6.0);
    assert_eq!(value("x^-2"), 1.0 / 9.0);
    assert_eq!(value("1.5e1 + .5 + 2."), 17.5);
    assert_eq!(value("log10(1000)").round(), 3.0);
    assert_eq!(value("log2(8)"), 3.0);
}

#[test]
fn like_terms_and_factors_are_collected() {
    prints("x + x", "2*x");
    prints("x*x", "x^2");
    prints("x*y*x/y", "x^2");
    prints("3*x - x - 2*x", "0");
    prints("x - (x + y)", "-y");
    prints("2*x*3*y", "6*x*y");
    prints("1 + x^2 + 2*x", "x^2 + 2*x + 1");
    prints("x/3 + x/6", "x/2");
    prints("0*sin(x) + 1*x^1 + y^0", "x + 1");
    prints("exp(x)*exp(-x)", "1");
    prints("sqrt(8)*sqrt(8)", "8");
    prints("5*2^x + 3*2^x", "8*2^x");
}

#[test]
fn parentheses_are_minimal() {
    prints("(a + b)*c", "c*(a + b)");
    prints("a/(b*c)", "a/(b*c)");
    prints("a/b/c", "a/(b*c)");
    prints("(a*b)/c", "a*b/c");
    prints("(-2)^x", "(-2)^x");
    prints("-(2^x)", "-2^x");
    prints("x^(y^z)", "x^y^z");
    prints("(x^y)^z", "(x^y)^z");
    prints("x^(y*z)", "x^(y*z)");
    prints("x^(2/3)", "x^(2/3)");
    prints("x^(-y)", "x^(-y)");
    prints("x^(-2)", "1/x^2");
    prints("-x/2 - y", "-x/2 - y");
    prints("1/sqrt(x)", "1/sqrt(x)");
    prints("-(a + b)/2", "-(a + b)/2");
    prints("0.1*x", "0.1*x");
    prints("1e-7*x", "1e-7*x");
    prints("(1/2)^x", "(1/2)^x");
    prints("x/2/0", "x/2/0");
}

#[test]
fn cancellations_happen_only_where_they_keep_the_value() {
    prints("ln(exp(x))", "x");
    prints("exp(ln(x))", "x");
    prints("exp(2*ln(x))", "x^2");
    prints("ln(exp(x)^3)", "3*x");
    // ln(x^2) lives at -1 where 2 ln(x) does not, sqrt(x^2) is not x there
    prints("ln(x^2)", "ln(x^2)");
    prints("sqrt(x^2)", "abs(x)");
    prints("ln(x*y)", "ln(x*y)");
    prints("asin(sin(x))", "asin(sin(x))");
    assert_eq!(parse("ln(x^2)").evaluate(&[("x", -1.0)]).expect("value"), 0.0);
    assert_eq!(parse("sqrt(x^2)").evaluate(&[("x", -3.0)]).expect("value"), 3.0);
    assert_eq!(parse("(x^2)^(1/4)").evaluate(&[("x", -4.0)]).expect("value"), 2.0);
}

#[test]
fn even_and_odd_functions() {
    prints("sin(-x)", "-sin(x)");
    prints("cos(-2*x)", "cos(2*x)");
    prints("abs(-x)", "abs(x)");
    prints("sigmoid(-x)", "sigmoid(-x)");
    prints("sin(0) + cos(0) + exp(0) + ln(1) + sigmoid(0)", "5/2");
    prints("abs(exp(x)) + sign(cosh(x))", "exp(x) + 1");
}

#[test]
fn derivatives_of_every_function() {
    let table = [
        ("sin(x)", "cos(x)"),
        ("cos(x)", "-sin(x)"),
        ("tan(x)", "tan(x)^2 + 1"),
        ("asin(x)", "1/sqrt(-x^2 + 1)"),
        ("acos(x)", "-1/sqrt(-x^2 + 1)"),
        ("atan(x)", "1/(x^2 + 1)"),
        ("sinh(x)", "cosh(x)"),
        ("cosh(x)", "sinh(x)"),
        ("tanh(x)", "-tanh(x)^2 + 1"),
        ("sigmoid(x)", "sigmoid(x)*(-sigmoid(x) + 1)"),
        ("exp(x)", "exp(x)"),
        ("ln(x)", "1/x"),
        ("abs(x)", "sign(x)"),
        ("sign(x)", "0"),
        ("sqrt(x)", "1/(2*sqrt(x))"),
        ("x^n", "n*x^(n - 1)"),
        ("2^x", "2^x*ln(2)"),
        ("e^(3*x)", "3*exp(3*x)"),
        ("y", "0"),
    ];
    assert!(Function::ALL.iter().all(|f| table.iter().any(|(text, _)| text.starts_with(f.name()))));
    for (function, derivative) in table {
        assert_eq!(parse(function).diff("x").to_string(), derivative, "d/dx {function}");
        assert_eq!(parse(function).diff("x"), parse(derivative), "{derivative} reads back");
    }
}

#[track_caller]
fn fails(text: &str, column: usize, problem: &str) -> ParseError {
    let error = text.parse::<Expr>().expect_err(text);
    assert_eq!(error.column(), column, "{error}");
    assert!(error.problem().contains(problem), "{error}");
    error
}

#[test]
fn errors_point_at_their_place() {
    fails("", 1, "no expression");
    fails("2x", 2, "write products with *");
    fails("x +", 4, "an operand is missing");
    fails("(x + 1", 1, "never closed");
    fails("x + 1)", 6, "never opened");
    fails("x + * 3", 5, "missing before '*'");
    fails("sin x", 1, "needs its argument in parentheses");
    fails("2 + foo(x)", 5, "foo is not a function; there are sin, cos");
    fails("x = 3", 3, "not an equation");
    fails("sin(x, y)", 6, "one argument");
    fails("1 + .", 5, "needs digits");
    fails("x $ y", 3, "is not part of an expression");
    fails("1e999", 1, "too large");
    let error = fails("größe + + + ()", 14, "before this parenthesis");
    assert_eq!(
        error.to_string(),
        "column 14: an operand is missing before this parenthesis\n  größe + + + ()\n               ^"
    );
}

#[test]
fn hostile_texts_are_errors_not_crashes() {
    let deep = 100_000;
    assert!("(".repeat(deep).parse::<Expr>().is_err());
    assert!("-".repeat(deep).parse::<Expr>().is_err());
    assert!(format!("{}x{}", "sin(".repeat(deep), ")".repeat(deep)).parse::<Expr>().is_err());
    assert!("x^".repeat(deep).parse::<Expr>().is_err());
    // long but flat is fine
    assert_eq!(vec!["x"; deep].join(" + ").parse::<Expr>().expect("flat").to_string(), format!("{deep}*x"));
    let text = "\u{0}\u{202e}(((x".to_owned();
    assert!(text.parse::<Expr>().is_err());
}
