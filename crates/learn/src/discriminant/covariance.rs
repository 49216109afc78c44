//! Covariance matrices of classes, shrunk towards a multiple of the identity matrix.
//!
//! With few samples per feature the eigenvalues of a covariance matrix S are spread too far. (1 − s) S + s μ I, with the mean
//! μ of the variances, has a smaller error; Ledoit and Wolf (2004) estimate the best s from the samples.

use tove_optim::settings::{Setting, Value, ValueKind};

/// How much a covariance matrix is shrunk towards a multiple of the identity matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shrinkage {
    /// The estimate of Ledoit and Wolf, of features scaled to variance 1.
    Auto,
    /// This share, from 0 to 1.
    Value(f64),
}

impl From<f64> for Shrinkage {
    fn from(value: f64) -> Shrinkage {
        Shrinkage::Value(value)
    }
}

impl Setting for Shrinkage {
    fn kind() -> ValueKind {
        ValueKind::Text
    }

    fn value(&self) -> Value {
        match self {
            Shrinkage::Auto => Value::Text("auto".to_owned()),
            Shrinkage::Value(value) => Value::Real(*value),
        }
    }

    fn from_value(value: &Value) -> Option<Shrinkage> {
        match value {
            Value::Text(name) if name.eq_ignore_ascii_case("auto") => Some(Shrinkage::Auto),
            number => f64::from_value(number).map(Shrinkage::Value),
        }
    }

    fn parse(text: &str) -> Option<Shrinkage> {
        let number = || f64::parse(text).map(Shrinkage::Value);
        Shrinkage::from_value(&Value::Text(text.trim().to_owned())).or_else(number)
    }

    fn all_numbers(&self, test: &dyn Fn(f64) -> bool) -> bool {
        if let Shrinkage::Value(value) = self { test(*value) } else { true }
    }

    fn expected() -> Option<&'static str> {
        Some("auto or a number from 0 to 1")
    }
}

/// Covariance matrix (d, d) of rows with mean 0, divided by their number, row-major.
pub(super) fn covariance(rows: &[f64], d: usize, shrinkage: Option<Shrinkage>) -> Vec<f64> {
    match shrinkage {
        None => empirical(rows, d),
        Some(Shrinkage::Value(share)) => shrunk(empirical(rows, d), d, share),
        Some(Shrinkage::Auto) => {
            let n = (rows.len() / d) as f64;
            let mut std = vec![0.0f64; d];
            rows.chunks(d).for_each(|row| std.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x / n));
            std.iter_mut().for_each(|var| *var = if *var > 0.0 { var.sqrt() } else { 1.0 });
            let scaled: Vec<f64> = rows.chunks(d).flat_map(|row| row.iter().zip(&std).map(|(x, s)| x / s)).collect();
            let matrix = empirical(&scaled, d);
            let share = ledoit_wolf(&scaled, &matrix, d);
            let mut matrix = shrunk(matrix, d, share);
            for (row, own) in matrix.chunks_mut(d).zip(&std) {
                row.iter_mut().zip(&std).for_each(|(value, other)| *value *= own * other);
            }
            matrix
        }
    }
}

fn empirical(rows: &[f64], d: usize) -> Vec<f64> {
    let n = (rows.len() / d) as f64;
    let mut matrix = vec![0.0; d * d];
    for row in rows.chunks(d) {
        for (i, x) in row.iter().enumerate() {
            crate::distance::add_scaled(&mut matrix[i * d..(i + 1) * d], row, x / n);
        }
    }
    matrix
}

fn shrunk(mut matrix: Vec<f64>, d: usize, share: f64) -> Vec<f64> {
    let mean = (0..d).map(|i| matrix[i * d + i]).sum::<f64>() / d as f64;
    matrix.iter_mut().for_each(|value| *value *= 1.0 - share);
    (0..d).for_each(|i| matrix[i * d + i] += share * mean);
    matrix
}

/// The share of Ledoit and Wolf for rows with mean 0 and their covariance matrix.
fn ledoit_wolf(rows: &[f64], matrix: &[f64], d: usize) -> f64 {
    if d == 1 {
        return 0.0; // one feature has nothing to shrink towards
    }
    let n = (rows.len() / d) as f64;
    let mean = (0..d).map(|i| matrix[i * d + i]).sum::<f64>() / d as f64;
    let squares: f64 = matrix.iter().map(|value| value * value).sum();
    // Squared distance of the matrix from the target, and the part of it that is due to sampling.
    let distance = (squares - d as f64 * mean * mean) / d as f64;
    let fourth: f64 = rows.chunks(d).map(|row| row.iter().map(|x| x * x).sum::<f64>().powi(2)).sum();
    let sampling = ((fourth / n - squares) / (d as f64 * n)).min(distance);
    if sampling > 0.0 { sampling / distance } else { 0.0 }
}
