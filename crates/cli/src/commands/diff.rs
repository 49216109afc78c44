//! `tove diff`: the derivative of an expression in four ways: symbolic, forward mode, reverse mode, finite differences.

use serde_json::{Value, json};
use tove::tensor::autodiff::try_numerical_jacobian;
use tove::tensor::symbolic::{Expr, Program};
use tove::tensor::{CheckError, Scheme, Tensor, Trace, grad, gradcheck, jvp};

use crate::arguments::Diff;
use crate::failure::Failure;
use crate::output::{Output, note, paragraph, table, width};

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
        return Err(Failure::usage("the expression has no variable; give one with --wrt"));
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
    if let Some(option) = [(diff.check, "--check"), (diff.trace, "--trace")].iter().find(|(asked, _)| *asked && !ready)
    {
        return Err(Failure::usage(format!("{} needs a point; give one with --at {}=NUMBER", option.1, known[0])));
    }
    let derivatives =
        wrt.iter().map(|variable| point.derivative(&expression, variable, ready)).collect::<Result<Vec<_>, _>>()?;
    let value = if ready { Some(point.value(&expression)?) } else { None };
    let check = if diff.check { Some(point.check()?) } else { None };
    let trace = diff.trace.then(|| point.trace());
    output.result(
        || text(&expression, value, &derivatives, check.as_ref(), trace.as_deref()),
        || document(&expression, value, &derivatives, check.as_ref(), trace.as_deref()),
    )?;
    match check {
        Some(Check { mismatch: Some(report), .. }) => {
            Err(Failure::work(format!("automatic and numerical derivatives differ: {report}")))
        }
        _ => Ok(()),
    }
}

/// The outcome of a gradient check.
struct Check {
    /// Where automatic derivatives and differences disagree most; `None` if they agree.
    mismatch: Option<String>,
    /// What the check found and what it cost, as a sentence.
    text: String,
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
            Some([self.value(&symbolic)?, forward, reverse, self.difference(place)?])
        } else {
            Some([0.0; 4]) // the expression does not depend on it
        };
        Ok(Derivative { variable: variable.to_owned(), symbolic, values })
    }

    /// The central difference by one variable, with a step in proportion to its size.
    fn difference(&self, place: usize) -> Result<f64, Failure> {
        let of_one = |moved: &Tensor| {
            let mut values = self.values.clone();
            values[place] = moved.item();
            self.function(&Tensor::from(values))
        };
        let size = self.values[place].abs();
        let step = 1e-5 * if size > 1.0 { size.min(f64::MAX) } else { 1.0 };
        let x = Tensor::scalar(self.values[place]);
        Ok(try_numerical_jacobian(of_one, &x, Scheme::Central, step)?.jacobian.item())
    }

    /// The gradient against differences, and what differences cost.
    fn check(&self) -> Result<Check, Failure> {
        let x = self.vector();
        let cost = |scheme| try_numerical_jacobian(|x: &Tensor| self.function(x), &x, scheme, 1e-5);
        let (forward, central) = (cost(Scheme::Forward)?.evaluations, cost(Scheme::Central)?.evaluations);
        let mismatch = match gradcheck(|x: &[Tensor]| self.function(&x[0]), std::slice::from_ref(&x)) {
            Ok(()) => None,
            Err(CheckError::Error(error)) => return Err(error.into()),
            Err(report) => Some(report.to_string()),
        };
        let agreement = "Gradient check: forward and reverse mode agree with finite differences, to second order";
        let verdict = mismatch.as_deref().unwrap_or(agreement);
        let p = self.values.len();
        let text = format!(
            "{verdict}. Finite differences in {p} variables took {forward} (forward) and {central} (central) evaluations."
        );
        Ok(Check { mismatch, text })
    }

    /// The recorded program and its reverse, side by side.
    fn trace(&self) -> String {
        Trace::of(|x: &[Tensor]| self.function(&x[0]), &[self.vector()]).dual()
    }
}

fn text(
    expression: &Expr,
    value: Option<f64>,
    derivatives: &[Derivative],
    check: Option<&Check>,
    trace: Option<&str>,
) -> String {
    let mut text = agreement(derivatives).map_or(String::new(), |sentence| format!("{}\n", paragraph(&sentence)));
    text.push_str(&match value {
        Some(value) => note(&format!("f = {expression} = {}", number(value))),
        None => note(&format!("f = {expression}")),
    });
    for derivative in derivatives {
        text.push_str(&note(&format!("df/d{} = {}", derivative.variable, derivative.symbolic)));
    }
    if derivatives.iter().any(|derivative| derivative.values.is_some()) {
        let head = ["", "symbolic", "forward mode", "reverse mode", "finite differences"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for derivative in derivatives {
            let Some(values) = derivative.values else { continue };
            let mut row = vec![format!("df/d{}", derivative.variable)];
            row.extend(values.iter().copied().map(number));
            rows.push(row);
        }
        text.push_str(&format!("\n{}", table(&rows)));
    }
    if let Some(check) = check {
        text.push_str(&format!("\n{}", paragraph(&check.text)));
    }
    if let Some(trace) = trace {
        text.push_str(&format!("\n{}\n", stacked(trace.trim_end(), width())));
    }
    text
}

/// How far the four derivatives are apart.
fn agreement(derivatives: &[Derivative]) -> Option<String> {
    let known: Vec<[f64; 4]> = derivatives.iter().filter_map(|derivative| derivative.values).collect();
    let apart = |values: &[f64; 4]| {
        let size = values.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
        (high - low) / size
    };
    let most = known.iter().map(apart).fold(None, |most: Option<f64>, x| Some(most.map_or(x, |most| most.max(x))))?;
    let count = known.len();
    let what = if count == 1 { "The derivative".to_owned() } else { format!("{count} derivatives") };
    Some(match most.is_finite() {
        true if most == 0.0 => format!("{what}, four ways: all agree exactly."),
        true => format!("{what}, four ways: they agree to within {most:.1e}."),
        false => format!("{what}, four ways: not finite at this point."),
    })
}

/// A program and its reverse side by side, or one below the other where that would be wider.
fn stacked(trace: &str, width: usize) -> String {
    if trace.lines().all(|line| line.chars().count() <= width) {
        return trace.to_owned();
    }
    let halves: Vec<(&str, &str)> = trace.lines().map(|line| line.split_once(" | ").unwrap_or((line, ""))).collect();
    let (head, rows) = halves.split_at(1.min(halves.len()));
    let title = |place: fn(&(&str, &str)) -> String| head.first().map_or(String::new(), place);
    let mut lines = vec![title(|(left, _)| left.trim_end().to_owned())];
    lines.extend(rows.iter().map(|(left, _)| left.trim_end().to_owned()));
    lines.push(String::new());
    lines.push(title(|(_, right)| right.trim_end().to_owned()));
    lines.extend(rows.iter().map(|(_, right)| right.trim_end().to_owned()));
    lines.join("\n")
}

/// A number of up to 12 digits, without hundreds of zeros.
fn number(x: f64) -> String {
    let short = format!("{x:.11e}").parse::<f64>().unwrap_or(x);
    let plain = x == 0.0 || !x.is_finite() || (1e-5..1e12).contains(&x.abs());
    if plain { short.to_string() } else { format!("{short:e}") }
}

fn document(
    expression: &Expr,
    value: Option<f64>,
    derivatives: &[Derivative],
    check: Option<&Check>,
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
    json!({
        "expression": expression.to_string(), "value": value, "derivatives": entries,
        "check": check.map(|check| &check.text), "agrees": check.map(|check| check.mismatch.is_none()), "trace": trace,
    })
}
