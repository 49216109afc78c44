//! W20 to W22: least squares, ridge and lasso on one tall matrix in double precision.
//!
//! Features are uniform in [-1, 1), the target a linear rule with noise. In the twin the second half of the columns is the
//! first half plus a small share of itself, down to 2e-7, which makes a condition number of 1e7.

use std::hint::black_box;

use serde_json::Value;
use tove_learn::Fit;
use tove_learn::linear::{Lasso, LinearRegression, Ridge};
use tove_tensor::Tensor;

use crate::data;
use crate::workload::{Workload, number};

struct Linear {
    x: Tensor,
    y: Tensor,
    task: Task,
}

enum Task {
    /// Mean squared residual as quality.
    Least,
    /// The length of the coefficients as quality.
    LeastCoefficients,
    Ridge,
    Lasso,
    Path,
}

fn matrix(n: usize, d: usize, twin: bool) -> Vec<f64> {
    let mut x = data::fill_f64(1, n * d, 1.0);
    if twin {
        let half = d / 2;
        let shares: Vec<f64> = (0..half).map(|j| if j == 0 { 2e-7 } else { 1.0 / (1.0 + j as f64) }).collect();
        for row in x.chunks_exact_mut(d) {
            for j in 0..half {
                row[half + j] = row[j] + shares[j] * row[half + j];
            }
        }
    }
    x
}

/// One case of W20, W21 or W22.
pub fn make(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let (n, d) = (number(parameters, "rows")?, number(parameters, "columns")?);
    let x = matrix(n, d, parameters["twin"] == true);
    let w = data::fill_f64(2, d, 3.0);
    let noise = data::fill_f64(3, n, 0.5);
    let rule = |(row, noise): (&[f64], &f64)| row.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() + noise + 2.0;
    let y: Vec<f64> = x.chunks_exact(d).zip(&noise).map(rule).collect();
    let task = match parameters["task"].as_str() {
        Some("least squares") => Task::Least,
        Some("least squares coefficients") => Task::LeastCoefficients,
        Some("ridge") => Task::Ridge,
        Some("lasso") => Task::Lasso,
        Some("path") => Task::Path,
        other => return Err(format!("no task {other:?}")),
    };
    Ok(Box::new(Linear { x: Tensor::from_vec(x, [n, d]), y: Tensor::from_vec(y, [n]), task }))
}

impl Linear {
    /// Coefficients and intercept; of a path, those of its end.
    fn fit(&self) -> (Vec<f64>, f64) {
        let (x, y) = (&self.x, &self.y);
        let (coef, intercept) = match self.task {
            Task::Least | Task::LeastCoefficients => {
                let model = LinearRegression::default().fit(x, y).expect("the data are fine");
                (model.coef().clone(), model.intercept().clone())
            }
            Task::Ridge => {
                let model = Ridge::default().fit(x, y).expect("the data are fine");
                (model.coef().clone(), model.intercept().clone())
            }
            Task::Lasso => {
                let model = Lasso::default().alpha(0.1).fit(x, y).expect("the data are fine");
                (model.coef().clone(), model.intercept().clone())
            }
            Task::Path => {
                let path = Lasso::default().path(x, y, 100, 1e-3).expect("the data are fine");
                (path.coefs.narrow(0, 99, 1).reshape([self.x.dims()[1]]), path.intercepts.narrow(0, 99, 1))
            }
        };
        (coef.to_f64_vec(), intercept.to_f64_vec()[0])
    }
}

impl Workload for Linear {
    fn step(&mut self) {
        black_box(self.fit());
    }

    fn quality(&mut self) -> f64 {
        let (w, b) = self.fit();
        let predicted = &self.x.matmul(&Tensor::from_slice(&w)) + b;
        let error = (predicted - &self.y).square().mean().item::<f64>();
        let l1: f64 = w.iter().map(|w| w.abs()).sum();
        match self.task {
            Task::Least | Task::Ridge | Task::Path => error,
            Task::LeastCoefficients => w.iter().map(|w| w * w).sum::<f64>().sqrt(),
            Task::Lasso => 0.5 * error + 0.1 * l1,
        }
    }
}
