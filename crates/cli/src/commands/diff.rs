//! `tove diff`: the derivative of an expression in four ways: by rules on symbols, by forward mode, by reverse mode, by
//! differences.

use serde_json::{Value, json};
use tove::tensor::symbolic::{Expr, Program};
use tove::tensor::{Scheme, Tensor, Trace, grad, gradcheck, jvp, numerical_jacobian};

use crate::arguments::Diff;
use crate::failure::Failure;
use crate::output::{Output, table};

/// One derivative in all its forms.
struct Derivative {
    variable: String,
    symbolic: Expr,
    /// Symbolic, forward, reverse, numerical.
    values: Option<[f64; 4]>,
}

pub fn run(diff: &Diff, output: &Output) -> Result<(), Failure> {
    let expression: Expr =
        diff.expression.parse().map_err(|error: tove::tensor::symbolic::ParseError| Failure::usage(error))?;
    let known = expression.free_variables();
    let wrt = if diff.wrt.is_empty() { known.clone() } else { diff.wrt.clone() };
    if wrt.is_empty() {
        return Err(Failure::usage("the expression has no variable; name one with --wrt"));
    }
    for (name, _) in &diff.at {
        if !known.contains(name) {
            return Err(Failure::usage(format!(
                "--at {name}: the expression has no such variable; it has {}",
                known.join(", ")
            )));
        }
    }
    let missing: Vec<&String> = known.iter().filter(|name| !diff.at.iter().any(|(given, _)| given == *name)).collect();
    if !diff.at.is_empty() && !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|name| name.as_str()).collect();
        return Err(Failure::usage(format!(
            "no value for {}; give one with --at {}=NUMBER",
            names.join(", "),
            names[0]
        )));
    }
    let point = Point::new(&expression, &diff.at);
    let ready = missing.is_empty();
    let derivatives =
        wrt.iter().map(|variable| point.derivative(&expression, variable, ready)).collect::<Result<Vec<_>, _>>()?;
    let value = if ready { Some(point.value(&expression)?) } else { None };
    let check = if diff.check && ready { Some(point.check()) } else { None };
    let trace = if diff.trace && ready { Some(point.trace()) } else { None };
    output.result(
        || text(&expression, value, &derivatives, check.as_deref(), trace.as_deref()),
        || document(&expression, value, &derivatives, check.as_deref(), trace.as_deref()),
    )
}

/// An expression as a function of a vector, and a point.
struct Point {
    program: Program,
    names: Vec<String>,
    values: Vec<f64>,
}

impl Point {
    fn new(expression: &Expr, at: &[(String, f64)]) -> Point {
        let program = Program::new(std::slice::from_ref(expression));
        let names = program.variables().to_vec();
        let given =
            |name: &String| at.iter().rev().find(|(known, _)| known == name).map_or(f64::NAN, |(_, value)| *value);
        let values = names.iter().map(given).collect();
        Point { program, names, values }
    }

    /// The expression of a vector of its variables.
    fn function(&self, x: &Tensor) -> Tensor {
        let inputs: Vec<Tensor> = (0..self.names.len()).map(|i| x.get(i)).collect();
        match self.program.run_tensors(&inputs) {
            Ok(values) => values[0].clone(),
            Err(error) => unreachable!("the program has as many variables as the point: {error}"),
        }
    }

    fn vector(&self) -> Tensor {
        Tensor::from_slice(&self.values)
    }

    fn value(&self, expression: &Expr) -> Result<f64, Failure> {
        let point: Vec<(&str, f64)> = self.names.iter().map(String::as_str).zip(self.values.iter().copied()).collect();
        expression.evaluate(&point).map_err(Failure::work)
    }

    fn derivative(&self, expression: &Expr, variable: &str, ready: bool) -> Result<Derivative, Failure> {
        let symbolic = expression.diff(variable).simplify();
        let values = if !ready {
            None
        } else if let Some(place) = self.names.iter().position(|name| name == variable) {
            let x = self.vector();
            let mut direction = vec![0.0; self.values.len()];
            direction[place] = 1.0;
            let forward = jvp(|x: &Tensor| self.function(x), &x, &Tensor::from(direction)).1.item::<f64>();
            let reverse = grad(|x: &Tensor| self.function(x))(&x).at::<f64>(&[place]);
            let numerical = numerical_jacobian(|x: &Tensor| self.function(x), &x, Scheme::Central, 1e-5);
            Some([self.value(&symbolic)?, forward, reverse, numerical.jacobian.at::<f64>(&[place])])
        } else {
            Some([0.0; 4]) // the expression does not depend on it
        };
        Ok(Derivative { variable: variable.to_owned(), symbolic, values })
    }

    /// The gradient against differences, and what differences cost.
    fn check(&self) -> String {
        let x = self.vector();
        let cost = |scheme| numerical_jacobian(|x: &Tensor| self.function(x), &x, scheme, 1e-5).evaluations;
        let (forward, central) = (cost(Scheme::Forward), cost(Scheme::Central));
        let verdict = match gradcheck(|x: &[Tensor]| self.function(&x[0]), std::slice::from_ref(&x)) {
            Ok(()) => "the automatic derivatives of both modes agree with differences, to second order".to_owned(),
            Err(report) => report.to_string(),
        };
        let p = self.values.len();
        format!("{verdict}; differences by {p} variables took {forward} (forward) and {central} (central) evaluations")
    }

    /// The recorded program and its reverse, side by side.
    fn trace(&self) -> String {
        Trace::of(|x: &[Tensor]| self.function(&x[0]), &[self.vector()]).to_string()
    }
}

fn text(
    expression: &Expr,
    value: Option<f64>,
    derivatives: &[Derivative],
    check: Option<&str>,
    trace: Option<&str>,
) -> String {
    let mut text = match value {
        Some(value) => format!("f = {expression} = {value}\n\n"),
        None => format!("f = {expression}\n\n"),
    };
    for derivative in derivatives {
        text.push_str(&format!("df/d{} = {}\n", derivative.variable, derivative.symbolic));
    }
    if derivatives.iter().any(|derivative| derivative.values.is_some()) {
        let head = ["", "symbolic", "forward", "reverse", "numerical"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for derivative in derivatives {
            let Some(values) = derivative.values else { continue };
            let mut row = vec![format!("df/d{}", derivative.variable)];
            row.extend(values.iter().map(f64::to_string));
            rows.push(row);
        }
        text.push_str(&format!("\n{}", table(&rows)));
    }
    for part in [check, trace].into_iter().flatten() {
        text.push_str(&format!("\n{}\n", part.trim_end()));
    }
    text
}

fn document(
    expression: &Expr,
    value: Option<f64>,
    derivatives: &[Derivative],
    check: Option<&str>,
    trace: Option<&str>,
) -> Value {
    let entries: Vec<Value> = derivatives
        .iter()
        .map(|derivative| {
            let [symbolic, forward, reverse, numerical] = match derivative.values {
                Some(values) => values.map(Value::from),
                None => [Value::Null, Value::Null, Value::Null, Value::Null],
            };
            json!({
                "variable": derivative.variable, "expression": derivative.symbolic.to_string(),
                "symbolic": symbolic, "forward": forward, "reverse": reverse, "numerical": numerical,
            })
        })
        .collect();
    json!({"expression": expression.to_string(), "value": value, "derivatives": entries, "check": check, "trace": trace})
}
