//! W23: softmax regression on images, down to the objective that the peer's lbfgs reaches in 100 iterations. W32: the prediction
//! of a fitted logistic regression for one row.

use std::hint::black_box;
use std::path::PathBuf;

use serde_json::Value;
use tove::prelude::*;
use tove_data::images::read_idx;
use tove_learn::{Fit, FittedLogisticRegression, LogisticRegression, Model, Predict};

use crate::data;
use crate::workload::{Workload, number};

fn dtype(parameters: &Value) -> DType {
    if parameters["dtype"] == "f64" { DType::F64 } else { DType::F32 }
}

/// The first rows of Fashion-MNIST in [0, 1], or numbers made up if it is absent.
fn images(rows: usize, dtype: DType) -> Result<(Tensor, Tensor), String> {
    let root = std::env::var_os("TOVE_DATA").map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    let folder = root.join("fashion-mnist");
    if !folder.exists() {
        let x = Tensor::from_vec(data::fill_f32(1, rows * 784, 1.0), [rows, 784]).abs();
        return Ok((x.to_dtype(dtype), Tensor::from(data::labels(2, rows, 10))));
    }
    let read = |name: &str| read_idx(folder.join(name)).map_err(|error| error.to_string());
    let x = read("train-images-idx3-ubyte.gz")?.narrow(0, 0, rows).reshape([rows, 784]);
    let y = read("train-labels-idx1-ubyte.gz")?.narrow(0, 0, rows).to_dtype(DType::I64);
    Ok(((x.to_dtype(DType::F32) / 255.0).to_dtype(dtype), y))
}

struct Fitting {
    x: Tensor,
    y: Tensor,
    settings: LogisticRegression,
}

impl Fitting {
    fn fit(&self) -> FittedLogisticRegression {
        self.settings.fit(black_box(&self.x), &self.y).expect("the data are sound")
    }
}

impl Workload for Fitting {
    fn step(&mut self) {
        black_box(self.fit());
    }

    fn quality(&mut self) -> f64 {
        self.fit().summary().objective.unwrap_or(f64::NAN)
    }
}

/// W23.
pub fn make_fit(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    tove_learn::on_warning(|_| {}); // that it stops at the peer's objective is the task
    let (x, y) = images(number(parameters, "rows")?, dtype(parameters))?;
    let settings = LogisticRegression::default().max_iter(number(parameters, "tove_iterations")?);
    Ok(Box::new(Fitting { x, y, settings }))
}

struct Prediction {
    model: FittedLogisticRegression,
    row: Tensor,
    soft: bool,
}

impl Workload for Prediction {
    fn step(&mut self) {
        let row = black_box(&self.row);
        let answer = if self.soft { self.model.predict_proba(row) } else { self.model.predict(row) };
        black_box(answer.expect("the row fits"));
    }

    fn quality(&mut self) -> f64 {
        let p = self.model.predict_proba(&self.row).expect("the row fits");
        p.to_f64_vec().into_iter().fold(0.0, f64::max)
    }
}

/// W32.
pub fn make_prediction(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let (rows, columns) = (number(parameters, "rows")?, number(parameters, "columns")?);
    let classes = number(parameters, "classes")?;
    let x = Tensor::from_vec(data::fill_f64(1, rows * columns, 1.0), [rows, columns]).to_dtype(dtype(parameters));
    let y = Tensor::from(data::labels(2, rows, classes as u32));
    let settings = LogisticRegression::default().tol(1e-6).max_iter(1000);
    let model = settings.fit(&x, &y).map_err(|error| error.to_string())?;
    Ok(Box::new(Prediction { model, row: x.narrow(0, 0, 1).contiguous(), soft: parameters["task"] == "proba" }))
}
