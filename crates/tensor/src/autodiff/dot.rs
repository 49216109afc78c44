//! The computation graph as a picture: DOT text for graphviz (`dot -Tsvg`).
//!
//! A node shows its operation, shape and value. An edge shows the local derivative of the node it leads to by the node it
//! comes from, and the upstream derivative of the result by the node it leads to; their product, summed over the edges
//! that leave a node, is the derivative of the result by that node. Edges from constants are dashed, and those from truth
//! values and indices say that there is no derivative. Short forms stand in the labels, exact numbers in the
//! tooltips.

use std::fmt::Write;

use super::trace::{Reverse, Source, Trace, TraceStep};
use crate::{DType, Result, Tensor};

/// Numbers that a label shows before it falls back to the shape.
const SMALL: usize = 16;

impl Trace {
    /// The graph in DOT, with value, local and upstream derivative at every edge; numbers of small tensors are shown.
    /// The result must be one number.
    ///
    /// ```
    /// use tove_tensor::{Tensor, Trace};
    /// let trace = Trace::of(|x| &x[0] * &x[1], &[Tensor::scalar(3.0), Tensor::scalar(-2.0)]);
    /// let dot = trace.to_dot().unwrap();
    /// assert!(dot.contains(r#"v0 -> v2 [label="local -2\nupstream 1""#), "{dot}");
    /// ```
    pub fn to_dot(&self) -> Result<String> {
        self.to_dot_with(SMALL)
    }

    /// As [`Trace::to_dot`], showing tensors and local Jacobians of up to `limit` numbers in full.
    ///
    /// ```
    /// use tove_tensor::{Tensor, Trace};
    /// let trace = Trace::of(|x| x[0].square().sum(), &[Tensor::linspace(0.0, 1.0, 5)]);
    /// assert!(trace.to_dot_with(4).unwrap().contains("Jacobian (5, 5)"));
    /// assert!(!trace.to_dot_with(25).unwrap().contains("Jacobian"));
    /// ```
    pub fn to_dot_with(&self, limit: usize) -> Result<String> {
        let reverse = self.reverse()?;
        let mut text = String::from("digraph trace {\n  rankdir=LR;\n  node [shape=box, fontname=\"monospace\"];\n");
        text.push_str("  edge [fontname=\"monospace\", fontsize=10];\n");
        for number in 0..self.variables() {
            self.node(number, &reverse, limit, &mut text);
        }
        for (j, step) in self.steps().iter().enumerate() {
            for (k, source) in step.inputs().iter().enumerate() {
                self.edge((j, k), step, source, &reverse, limit, &mut text)?;
            }
        }
        text.push_str("}\n");
        Ok(text)
    }

    fn node(&self, number: usize, reverse: &Reverse, limit: usize, text: &mut String) {
        let Some(value) = self.variable(number) else { return };
        let title = match number.checked_sub(self.inputs().len()) {
            None => "input".to_string(),
            Some(j) => self.call(&self.steps()[j]),
        };
        let shape = if value.rank() > 0 { format!("{} {}\\n", value.shape(), value.dtype()) } else { String::new() };
        let adjoint = &reverse.adjoints[number];
        let _ = writeln!(
            text,
            "  v{number} [label=\"%{number} = {title}\\n{shape}value {}\\ngradient {}\", tooltip=\"value={} gradient={}\"];",
            short(value, limit),
            short(adjoint, limit),
            exact(value, limit),
            exact(adjoint, limit),
        );
    }

    /// The edge from `source` to operand `k` of step `j`.
    fn edge(
        &self,
        (j, k): (usize, usize),
        step: &TraceStep,
        source: &Source,
        reverse: &Reverse,
        limit: usize,
        text: &mut String,
    ) -> Result<()> {
        let (to, x) = (self.inputs().len() + j, self.value_of(source));
        let from = match self.number(source) {
            Some(number) => format!("v{number}"),
            None => {
                let name = format!("c{to}_{k}");
                let _ = writeln!(text, "  {name} [label=\"constant\\n{}\", style=dashed];", short(x, limit));
                name
            }
        };
        if !x.dtype().is_float() || !step.value().dtype().is_float() {
            let _ = writeln!(text, "  {from} -> v{to} [label=\"no derivative\", style=dashed];");
            return Ok(());
        }
        // What flows into a constant or a detached value ends there, but has its numbers all the same.
        let style = if reverse.flows[j][k].is_none() { "style=dashed, " } else { "" };
        let upstream = &reverse.adjoints[to];
        let (label, tooltip) = if step.value().numel() * x.numel() <= limit {
            let local = self.local(step, k)?;
            (short(&local, limit), exact(&local, limit))
        } else {
            let sizes = format!("Jacobian ({}, {})", step.value().numel(), x.numel());
            (sizes.clone(), sizes)
        };
        let _ = writeln!(
            text,
            "  {from} -> v{to} [{style}label=\"local {label}\\nupstream {}\", tooltip=\"local={tooltip} upstream={}\"];",
            short(upstream, limit),
            exact(upstream, limit),
        );
        Ok(())
    }

    /// The Jacobian of a step by operand `k` as a matrix (numbers of the result, numbers of the operand); a number for
    /// scalars. Row i is what the step passes on for an upstream derivative of 1 at number i.
    fn local(&self, step: &TraceStep, k: usize) -> Result<Tensor> {
        let (y, x) = (step.value(), self.value_of(&step.inputs()[k]));
        let mut rows = Vec::with_capacity(y.numel() * x.numel());
        for i in 0..y.numel() {
            let mut seed = vec![0.0; y.numel()];
            seed[i] = 1.0;
            let seed = Tensor::try_from_vec(seed, y.shape())?.to_dtype(y.dtype());
            match self.pull(step, &seed, true)?.swap_remove(k) {
                Some(row) => rows.extend(row.to_f64_vec()),
                None => rows.extend(std::iter::repeat_n(0.0, x.numel())),
            }
        }
        if y.rank() == 0 && x.rank() == 0 {
            return Tensor::try_from_vec(rows, ());
        }
        Tensor::try_from_vec(rows, [y.numel(), x.numel()])
    }
}

/// Six significant digits, rows in brackets; the shape of what is too large.
fn short(x: &Tensor, limit: usize) -> String {
    written(x, limit, &|value| {
        let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
        format!("{rounded}")
    })
}

/// Digits that read back to the same bits.
fn exact(x: &Tensor, limit: usize) -> String {
    written(x, limit, &|value| format!("{value:?}"))
}

fn written(x: &Tensor, limit: usize, number: &dyn Fn(f64) -> String) -> String {
    if x.numel() > limit || x.is_batched() {
        return format!("tensor {}", x.shape());
    }
    let values: Vec<String> = match x.dtype() {
        DType::F32 => x.detach().to_vec::<f32>().iter().map(|&v| number(f64::from(v))).collect(),
        _ => x.to_f64_vec().into_iter().map(number).collect(),
    };
    nested(&values, x.dims())
}

/// Row-major numbers in nested brackets.
fn nested(values: &[String], sizes: &[usize]) -> String {
    match sizes {
        [] => values.concat(),
        [_] => format!("[{}]", values.join(", ")),
        [_, rest @ ..] => {
            let size = rest.iter().product::<usize>().max(1);
            let rows: Vec<String> = values.chunks(size).map(|row| nested(row, rest)).collect();
            format!("[{}]", rows.join(", "))
        }
    }
}
