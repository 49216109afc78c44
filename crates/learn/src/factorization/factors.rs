//! Factors of users and items, and the half steps of alternating least squares.

use tove_optim::settings::Named;
use tove_tensor::{DType, Key};

use super::observed::Observed;
use super::ratings::{FittedMatrixFactorization, MatrixFactorization};
use super::solve::{Scratch, dot, each_row, ridge};
use crate::Result;

/// Factors of users and items, with biases in the last column of each.
pub(super) struct Factors {
    pub users: Vec<f64>,
    pub items: Vec<f64>,
    /// Columns, with the bias.
    pub width: usize,
    pub k: usize,
    pub mean: f64,
    /// Regularization strengths of factors and biases.
    pub alpha: [f64; 2],
}

/// The mean of the entries (0 without biases), and the mean of their squares around it.
pub(super) fn moments(observed: &Observed, biases: bool) -> (f64, f64) {
    let count = observed.values().len() as f64;
    let mean = if biases { observed.values().iter().sum::<f64>() / count } else { 0.0 };
    (mean, observed.values().iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count)
}

impl Factors {
    /// Random factors of so many users and items, for entries of this mean and mean square around it.
    pub fn start(
        estimator: &MatrixFactorization,
        (n, m): (usize, usize),
        (mean, spread): (f64, f64),
    ) -> Result<Factors> {
        let (k, biases) = (estimator.n_components, estimator.biases);
        let width = k + usize::from(biases);
        let (what, bytes) = ("factors of users and items", (n + m) as u64 * width as u64 * 8);
        crate::memory::require(MatrixFactorization::NAME, what, bytes, "lower `n_components`")?;
        // Products of random factors have the size of the entries.
        let size = (spread.sqrt() / (k as f64).sqrt()).sqrt() * 0.5;
        let key = Key::new(estimator.seed);
        let draw = |stream: u64, rows: usize| -> Result<Vec<f64>> {
            let mut numbers = key.fold(stream).try_normal([rows, width], DType::F64)?.to_f64_vec();
            numbers.iter_mut().for_each(|x| *x *= size);
            if biases {
                numbers.chunks_exact_mut(width).for_each(|row| row[k] = 0.0);
            }
            Ok(numbers)
        };
        Ok(Factors {
            users: draw(0, n)?,
            items: draw(1, m)?,
            width,
            k,
            mean,
            alpha: [estimator.alpha, estimator.alpha_bias],
        })
    }

    /// Takes the items' factors of a fitted model, and the users' factors that suit them best.
    pub fn adopt(&mut self, model: &FittedMatrixFactorization, observed: &Observed) {
        let (components, intercept) = (model.components().to_f64_vec(), model.intercept().to_f64_vec());
        let (k, width, count) = (self.k, self.width, intercept.len());
        for (item, row) in self.items.chunks_exact_mut(width).enumerate() {
            (0..k).for_each(|factor| row[factor] = components[factor * count + item]);
            row[k..].iter_mut().for_each(|bias| *bias = intercept[item] - self.mean);
        }
        let mut users = std::mem::take(&mut self.users);
        self.half_step(&mut users, observed, &self.items);
        self.users = users;
    }

    fn biased(&self) -> bool {
        self.width > self.k
    }

    /// What the model says of an entry.
    pub fn predicted(&self, user: usize, item: usize) -> f64 {
        self.between(self.user(user), self.item(item))
    }

    /// The prediction from the factors of a user and an item.
    pub fn between(&self, w: &[f64], z: &[f64]) -> f64 {
        let biases = if self.biased() { w[self.k] + z[self.k] } else { 0.0 };
        self.mean + biases + dot(&w[..self.k], &z[..self.k])
    }

    pub fn user(&self, user: usize) -> &[f64] {
        &self.users[user * self.width..(user + 1) * self.width]
    }

    pub fn item(&self, item: usize) -> &[f64] {
        &self.items[item * self.width..(item + 1) * self.width]
    }

    /// α Σ of squares of factors + β Σ of squares of biases.
    pub fn norm(&self, factors: &[f64]) -> f64 {
        let [alpha, beta] = self.alpha;
        let row =
            |row: &[f64]| alpha * dot(&row[..self.k], &row[..self.k]) + beta * dot(&row[self.k..], &row[self.k..]);
        factors.chunks_exact(self.width).map(row).sum()
    }

    pub fn objective(&self, observed: &Observed) -> f64 {
        let errors: f64 =
            observed.entries().map(|(user, item, value)| (value - self.predicted(user, item)).powi(2)).sum();
        0.5 * (errors + self.norm(&self.users) + self.norm(&self.items))
    }

    /// The best factors of one side for fixed ones of the other: one ridge regression per row, on its observed entries.
    pub fn half_step(&self, out: &mut [f64], observed: &Observed, fixed: &[f64]) {
        let (width, k, mean) = (self.width, self.k, self.mean);
        each_row(out, width, &|row, out, Scratch { system, vectors, right }| {
            vectors.clear();
            right.clear();
            let (columns, values) = observed.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                let start = vectors.len();
                vectors.extend_from_slice(&fixed[column as usize * width..][..width]);
                // The other side's bias belongs to the target; the factor of the own bias takes its place.
                let mut target = value - mean;
                for bias in &mut vectors[start + k..] {
                    target -= *bias;
                    *bias = 1.0;
                }
                right.push(target);
            }
            ridge(system, vectors, right, (k, self.alpha), out);
        });
    }
}
