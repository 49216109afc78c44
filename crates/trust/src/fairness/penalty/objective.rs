//! The objective of penalized logistic regression and its gradient.

use tove_optim::{LbfgsSettings, lbfgs::Minimum};

use super::{Dependence, FairLogisticRegression, NAME};
use crate::{Result, TrustError};

/// Standardized training rows.
pub(super) struct Problem<'a> {
    pub settings: &'a FairLogisticRegression,
    pub x: Vec<f64>,
    pub d: usize,
    pub labels: Vec<usize>,
    /// Weights with sum 1.
    pub shares: Vec<f64>,
    /// The cell of each row, whose means should be equal within its block of cells.
    pub cells: Vec<usize>,
    pub groups: usize,
    pub ridge: f64,
}

/// Columns with mean 0 and variance 1, with the means and standard deviations; constant columns become 0.
pub(super) fn standardized(values: &[f64], d: usize, shares: &[f64]) -> Result<(Vec<f64>, Vec<f64>, Vec<f64>)> {
    let mut x = values.to_vec();
    let (mut means, mut scales) = (vec![0.0; d], vec![1.0; d]);
    for column in 0..d {
        let entries = || values.iter().skip(column).step_by(d).zip(shares);
        let largest = entries().fold(0.0f64, |largest, (value, _)| largest.max(value.abs()));
        if largest > 1e150 {
            let problem = format!("a value of column {column} has magnitude {largest:e}, so its square overflows");
            return Err(TrustError::data(NAME, problem, "scale the features first"));
        }
        let mean: f64 = entries().map(|(value, share)| share * value).sum();
        let deviation = entries().map(|(value, share)| share * (value - mean).powi(2)).sum::<f64>().sqrt();
        let varies = deviation > 1e-13 * largest;
        let scale = if varies { deviation } else { 1.0 };
        for value in x.iter_mut().skip(column).step_by(d) {
            *value = if varies { (*value - mean) / scale } else { 0.0 };
        }
        (means[column], scales[column]) = (mean, scale);
    }
    Ok((x, means, scales))
}

impl Problem<'_> {
    pub(super) fn minimize(&self) -> Result<Minimum> {
        let settings = LbfgsSettings {
            gradient_tolerance: self.settings.tolerance,
            value_tolerance: 0.0,
            max_iterations: self.settings.max_iter,
            max_evaluations: 2 * self.settings.max_iter + 10,
            ..LbfgsSettings::default()
        };
        let strength = self.settings.strength;
        let (mut slope, mut push) = (vec![0.0; self.shares.len()], vec![0.0; self.shares.len()]);
        let objective = |v: &[f64], gradient: &mut [f64]| {
            let z = self.scores(v);
            let mut value = self.log_loss(&z, &mut slope);
            if strength > 0.0 {
                value += strength * self.dependence(&z, &mut push);
                slope.iter_mut().zip(&push).for_each(|(slope, push)| *slope += strength * push);
            }
            gradient.fill(0.0);
            for (row, &slope) in self.x.chunks_exact(self.d).zip(&slope) {
                gradient.iter_mut().zip(row).for_each(|(gradient, x)| *gradient += slope * x);
                gradient[self.d] += slope;
            }
            for (gradient, v) in gradient.iter_mut().zip(&v[..self.d]) {
                *gradient += self.ridge * v;
                value += 0.5 * self.ridge * v * v;
            }
            value
        };
        Ok(settings.minimize(objective, &vec![0.0; self.d + 1])?)
    }

    pub(super) fn scores(&self, v: &[f64]) -> Vec<f64> {
        let score = |row: &[f64]| row.iter().zip(v).map(|(x, v)| x * v).sum::<f64>() + v[self.d];
        self.x.chunks_exact(self.d).map(score).collect()
    }

    /// The mean log loss and its derivatives by the scores.
    pub(super) fn log_loss(&self, z: &[f64], slope: &mut [f64]) -> f64 {
        let mut loss = 0.0;
        for (row, &z) in z.iter().enumerate() {
            let (label, share) = (self.labels[row] as f64, self.shares[row]);
            // ln(1 + e^z) − y z without overflow.
            loss += share * (z.max(0.0) - label * z + (-z.abs()).exp().ln_1p());
            slope[row] = share * (sigmoid(z) - label);
        }
        loss
    }

    /// D and its derivatives by the scores.
    pub(super) fn dependence(&self, z: &[f64], slope: &mut [f64]) -> f64 {
        match self.settings.dependence {
            Dependence::Hsic { bandwidth } => self.hsic(z, bandwidth, slope),
            _ => self.between(z, slope),
        }
    }

    /// Σ over cells of P(cell) (mean of the cell − mean of its block)²; a block holds one cell per group.
    fn between(&self, z: &[f64], slope: &mut [f64]) -> f64 {
        let cells = self.cells.iter().max().map_or(0, |last| last / self.groups + 1) * self.groups;
        let (mut mass, mut sum) = (vec![0.0; cells], vec![0.0; cells]);
        for (row, &cell) in self.cells.iter().enumerate() {
            mass[cell] += self.shares[row];
            sum[cell] += self.shares[row] * z[row];
        }
        let (mut off, mut value) = (vec![0.0; cells], 0.0);
        for block in 0..cells / self.groups {
            let range = block * self.groups..(block + 1) * self.groups;
            let weight: f64 = mass[range.clone()].iter().sum();
            let center = sum[range.clone()].iter().sum::<f64>() / weight;
            for cell in range.filter(|&cell| mass[cell] > 0.0) {
                off[cell] = sum[cell] / mass[cell] - center;
                value += mass[cell] * off[cell] * off[cell];
            }
        }
        // The block's mean drops out of the derivative, since deviations from it sum to 0.
        for (row, &cell) in self.cells.iter().enumerate() {
            slope[row] = 2.0 * self.shares[row] * off[cell];
        }
        value
    }

    /// Σ pᵢ pⱼ K(zᵢ, zⱼ) Mᵢⱼ with the centered group kernel M.
    fn hsic(&self, z: &[f64], bandwidth: f64, slope: &mut [f64]) -> f64 {
        let mut mass = vec![0.0; self.groups];
        self.cells.iter().zip(&self.shares).for_each(|(&cell, share)| mass[cell] += share);
        let same: f64 = mass.iter().map(|mass| mass * mass).sum();
        let inverse = 1.0 / (bandwidth * bandwidth);
        let mut value = 0.0;
        for i in 0..z.len() {
            let (mut total, mut pull) = (0.0, 0.0);
            for j in 0..z.len() {
                let equal = f64::from(u8::from(self.cells[i] == self.cells[j]));
                let centered = equal - mass[self.cells[i]] - mass[self.cells[j]] + same;
                let gap = z[i] - z[j];
                let term = self.shares[j] * centered * (-0.5 * gap * gap * inverse).exp();
                total += term;
                pull -= term * gap * inverse;
            }
            value += self.shares[i] * total;
            slope[i] = 2.0 * self.shares[i] * pull;
        }
        value
    }
}

pub(super) fn sigmoid(z: f64) -> f64 {
    if z >= 0.0 {
        1.0 / (1.0 + (-z).exp())
    } else {
        let e = z.exp();
        e / (1.0 + e)
    }
}
