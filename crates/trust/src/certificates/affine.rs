//! Affine maps as sparse rows: y = W x + c.

use tove_tensor::Tensor;

use super::region::{InputRegion, gamma};
use crate::{Result, TrustError};

/// An affine map with the entries of W that are not 0, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Affine {
    inputs: usize,
    starts: Vec<usize>,
    columns: Vec<u32>,
    weights: Vec<f64>,
    bias: Vec<f64>,
    /// Per output a size whose rounding the biases carry, from the composition of two maps.
    composed: Vec<f64>,
}

impl Affine {
    /// An empty map, to which rows are added.
    pub fn new(inputs: usize) -> Affine {
        let (columns, weights, bias) = (Vec::new(), Vec::new(), Vec::new());
        Affine { inputs, starts: vec![0], columns, weights, bias, composed: Vec::new() }
    }

    /// A dense matrix (outputs, inputs) with a bias.
    pub fn dense(what: &'static str, weights: &Tensor, bias: Option<&Tensor>) -> Result<Affine> {
        let &[outputs, inputs] = weights.dims() else {
            let problem = format!("weights of shape {}", weights.shape());
            return Err(TrustError::data(what, problem, "give a row of weights per output"));
        };
        let values = crate::input::reals(what, "weights", weights)?;
        let bias = match bias {
            Some(bias) => crate::input::numbers(what, "biases", bias, outputs)?,
            None => vec![0.0; outputs],
        };
        let mut affine = Affine::new(inputs);
        for (row, bias) in values.chunks_exact(inputs).zip(bias) {
            affine.push(row.iter().copied().enumerate(), bias);
        }
        Ok(affine)
    }

    /// x ↦ scale ∘ x + shift.
    pub fn diagonal(scale: &[f64], shift: &[f64]) -> Affine {
        let mut affine = Affine::new(scale.len());
        scale.iter().zip(shift).enumerate().for_each(|(i, (scale, shift))| affine.push([(i, *scale)], *shift));
        affine
    }

    /// Adds a row.
    pub fn push(&mut self, row: impl IntoIterator<Item = (usize, f64)>, bias: f64) {
        for (column, weight) in row.into_iter().filter(|(_, weight)| *weight != 0.0) {
            self.columns.push(column as u32);
            self.weights.push(weight);
        }
        self.starts.push(self.columns.len());
        self.bias.push(bias);
        self.composed.push(0.0);
    }

    pub fn inputs(&self) -> usize {
        self.inputs
    }

    pub fn outputs(&self) -> usize {
        self.bias.len()
    }

    pub fn bias(&self) -> &[f64] {
        &self.bias
    }

    /// The entries of a row.
    pub fn row(&self, output: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[output]..self.starts[output + 1];
        self.columns[range.clone()].iter().map(|&column| column as usize).zip(self.weights[range].iter().copied())
    }

    fn terms(&self, output: usize) -> usize {
        self.starts[output + 1] - self.starts[output]
    }

    /// W x + c.
    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        (0..self.outputs()).map(|o| self.row(o).map(|(i, w)| w * x[i]).sum::<f64>() + self.bias[o]).collect()
    }

    /// Adds Wᵀ a to `into`.
    pub fn add_transposed(&self, a: &[f64], into: &mut [f64]) {
        for (output, &a) in a.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            let range = self.starts[output]..self.starts[output + 1];
            if range.len() == self.inputs {
                // A full row has its columns in order.
                into.iter_mut().zip(&self.weights[range]).for_each(|(into, weight)| *into += a * weight);
                continue;
            }
            for (&column, &weight) in self.columns[range.clone()].iter().zip(&self.weights[range]) {
                into[column as usize] += a * weight;
            }
        }
    }

    /// Bounds of W x + c for x between bounds, rounded outward.
    pub fn intervals(&self, lower: &[f64], upper: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let bound = |output: usize| {
            let (mut low, mut high, mut size) =
                (self.bias[output], self.bias[output], self.bias[output].abs() + self.composed[output]);
            for (i, w) in self.row(output) {
                let (a, b) = (w * lower[i], w * upper[i]);
                low += a.min(b);
                high += a.max(b);
                size += a.abs().max(b.abs());
            }
            let slack = gamma(self.terms(output), f64::EPSILON) * size;
            (low - slack, high + slack)
        };
        (0..self.outputs()).map(bound).unzip()
    }

    /// As [`Affine::intervals`] for x in a region, whose blocks and balls are used.
    pub fn intervals_in(&self, region: &InputRegion) -> (Vec<f64>, Vec<f64>) {
        let mut row = vec![0.0; self.inputs];
        let bound = |output: usize| {
            self.row(output).for_each(|(i, w)| row[i] += w);
            let low = region.minimum(&row);
            self.row(output).for_each(|(i, _)| row[i] = -row[i]);
            let high = -region.minimum(&row);
            self.row(output).for_each(|(i, _)| row[i] = 0.0);
            let bias = self.bias[output];
            let slack = 4.0 * f64::EPSILON * (bias.abs() + low.abs().max(high.abs()))
                + gamma(self.terms(output), f64::EPSILON) * self.composed[output];
            (low + bias - slack, high + bias + slack)
        };
        (0..self.outputs()).map(bound).unzip()
    }

    /// Per output Σ |w| |x| + |c| for |x| up to `sizes`.
    pub fn sizes(&self, sizes: &[f64]) -> Vec<f64> {
        let own = |o: usize| self.bias[o].abs() + self.composed[o];
        let size = |o: usize| self.row(o).map(|(i, w)| w.abs() * sizes[i]).sum::<f64>() + own(o);
        (0..self.outputs()).map(size).collect()
    }

    /// The largest error of computing W x + c at a precision, for x with these errors and sizes.
    pub fn errors(&self, errors: &[f64], sizes: &[f64], epsilon: f64) -> Vec<f64> {
        let both: Vec<f64> = errors.iter().zip(sizes).map(|(error, size)| error + size).collect();
        let rounding = self.sizes(&both);
        let carried = |o: usize| self.row(o).map(|(i, w)| w.abs() * errors[i]).sum::<f64>();
        (0..self.outputs()).map(|o| carried(o) * 1.000001 + gamma(self.terms(o), epsilon) * rounding[o]).collect()
    }

    /// This map behind another one.
    pub fn after(&self, first: &Affine) -> Affine {
        let mut both = Affine::new(first.inputs);
        let mut row = vec![0.0; first.inputs];
        for output in 0..self.outputs() {
            row.fill(0.0);
            let (mut bias, mut size) = (self.bias[output], self.bias[output].abs() + self.composed[output]);
            for (i, w) in self.row(output) {
                bias += w * first.bias[i];
                size += w.abs() * (first.bias[i].abs() + first.composed[i]);
                first.row(i).for_each(|(j, v)| row[j] += w * v);
            }
            both.push(row.iter().copied().enumerate(), bias);
            both.composed[output] = size;
        }
        both
    }
}
