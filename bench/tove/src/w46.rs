//! W46: estimators and transformers at sizes where they were once slower than the peer's, in double precision.
//!
//! Features are uniform in [-1, 1). Targets are linear rules with noise: of 50 columns for the lasso, of all columns otherwise.

use std::hint::black_box;

use serde_json::Value;
use tove_learn::features::PolynomialFeatures;
use tove_learn::linear::{Lasso, Ridge};
use tove_learn::{Fit, LogisticRegression, Model, RobustScaler, StandardScaler, Transform};
use tove_tensor::Tensor;

use crate::data;
use crate::workload::{Workload, number};

enum Task {
    Logistic,
    Lasso(f64),
    Ridge,
    Polynomial,
    Standard,
    Robust,
}

struct Case {
    task: Task,
    x: Tensor,
    y: Tensor,
}

/// Columns with a weight in the lasso's rule.
const TRUE_COLUMNS: usize = 50;

/// One case of W46.
pub fn make(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let task = match parameters["task"].as_str() {
        Some("logistic") => Task::Logistic,
        Some("lasso") => Task::Lasso(parameters["alpha"].as_f64().ok_or("the case has no alpha")?),
        Some("ridge") => Task::Ridge,
        Some("polynomial") => Task::Polynomial,
        Some("standard") => Task::Standard,
        Some("robust") => Task::Robust,
        Some("saga") => return crate::learn_logistic::make_saga(parameters),
        other => return Err(format!("no task {other:?}")),
    };
    let (n, d) = (number(parameters, "rows")?, number(parameters, "columns")?);
    let x = data::fill_f64(1, n * d, 1.0);
    let mut w = data::fill_f64(2, d, 3.0);
    if let Task::Lasso(_) = task {
        let step = d / TRUE_COLUMNS;
        w.iter_mut().enumerate().filter(|(j, _)| j % step != 0).for_each(|(_, w)| *w = 0.0);
    }
    let noise = data::fill_f64(3, n, if let Task::Logistic = task { 10.0 } else { 0.5 });
    let rule = |(row, noise): (&[f64], &f64)| row.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() + noise;
    let scores: Vec<f64> = x.chunks_exact(d).zip(&noise).map(rule).collect();
    let y = match task {
        Task::Logistic => Tensor::from(scores.iter().map(|score| i64::from(*score > 0.0)).collect::<Vec<_>>()),
        _ => Tensor::from(scores),
    };
    Ok(Box::new(Case { task, x: Tensor::from_vec(x, [n, d]), y }))
}

impl Case {
    fn scaled(&self) -> Tensor {
        let x = black_box(&self.x);
        match self.task {
            Task::Polynomial => PolynomialFeatures::default().fit(x, None).and_then(|fitted| fitted.transform(x)),
            Task::Robust => RobustScaler::default().fit(x, None).and_then(|fitted| fitted.transform(x)),
            _ => StandardScaler::default().fit(x, None).and_then(|fitted| fitted.transform(x)),
        }
        .expect("the data are fine")
    }

    /// Coefficients and intercept.
    fn line(&self) -> (Tensor, f64) {
        let (x, y) = (black_box(&self.x), &self.y);
        let (w, b) = match self.task {
            Task::Lasso(alpha) => {
                let model = Lasso::default().alpha(alpha).fit(x, y).expect("the data are fine");
                (model.coef().clone(), model.intercept().clone())
            }
            _ => {
                let model = Ridge::default().fit(x, y).expect("the data are fine");
                (model.coef().clone(), model.intercept().clone())
            }
        };
        (w, b.to_f64_vec()[0])
    }

    fn objective(&self) -> f64 {
        LogisticRegression::default()
            .fit(&self.x, &self.y)
            .expect("the data are fine")
            .summary()
            .objective
            .unwrap_or(0.0)
    }
}

impl Workload for Case {
    fn step(&mut self) {
        match self.task {
            Task::Logistic => {
                black_box(self.objective());
            }
            Task::Lasso(_) | Task::Ridge => {
                black_box(self.line());
            }
            _ => {
                black_box(self.scaled());
            }
        }
    }

    /// The objective, or the root mean square of what is given.
    fn quality(&mut self) -> f64 {
        match self.task {
            Task::Logistic => self.objective(),
            Task::Lasso(_) | Task::Ridge => {
                let (w, b) = self.line();
                let error = (&self.x.matmul(&w) + b - &self.y).square().mean().item::<f64>();
                let (l1, l2) = (w.abs().sum().item::<f64>(), w.square().sum().item::<f64>());
                if let Task::Lasso(alpha) = self.task {
                    0.5 * error + alpha * l1
                } else {
                    error + l2 / self.y.numel() as f64
                }
            }
            _ => self.scaled().square().mean().item::<f64>().sqrt(),
        }
    }
}
