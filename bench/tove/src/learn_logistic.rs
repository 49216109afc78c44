//! W23: softmax regression on images, down to the objective that the peer's lbfgs reaches in 100 iterations. W32: the prediction
//! of a fitted logistic regression for one row. `saga`: passes of SAGA over sparse rows such as counts of words.

use std::hint::black_box;
use std::path::PathBuf;

use serde_json::Value;
use tove::prelude::*;
use tove_data::images::read_idx;
use tove_learn::logistic::{Penalty, Solver};
use tove_learn::{Csr, Fit, FittedLogisticRegression, LogisticRegression, Model, Predict, Rows};

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
    x: Rows,
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
    Ok(Box::new(Fitting { x: Rows::from(&x), y, settings }))
}

/// Rows of which each has a number in every stratum of columns; strata grow with the cube of their place, so that few columns
/// are frequent and most are rare.
fn sparse(rows: usize, columns: usize, each: usize) -> Result<(Csr, Tensor), String> {
    let start = |stratum: usize| stratum + ((columns - each) * stratum.pow(3)) / each.pow(3);
    let (picks, sizes) = (data::fill_f64(1, rows * each, 1.0), data::fill_f64(2, rows * each, 1.0));
    let (rule, noise) = (data::fill_f64(3, columns, 1.0), data::fill_f64(4, rows, 1.0));
    let column = |place: usize| {
        let (first, end) = (start(place % each), start(place % each + 1));
        first + (picks[place].abs() * (end - first) as f64) as usize
    };
    let indices: Vec<usize> = (0..rows * each).map(column).collect();
    let label = |row: usize| {
        let score: f64 = (row * each..(row + 1) * each).map(|place| sizes[place].abs() * rule[indices[place]]).sum();
        i64::from(score + noise[row] > 0.0)
    };
    let y: Vec<i64> = (0..rows).map(label).collect();
    let values: Vec<f64> = sizes.iter().map(|size| size.abs()).collect();
    let (indptr, indices) = ((0..=rows).map(|row| row * each).collect(), indices.iter().map(|&j| j as u32).collect());
    let x = Csr::new(indptr, indices, Tensor::from(values), columns).map_err(|error| error.to_string())?;
    Ok((x, Tensor::from(y)))
}

/// `saga`.
pub fn make_saga(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    tove_learn::on_warning(|_| {}); // that it stops after so many passes is the task
    let number = |name| number(parameters, name);
    let (x, y) = sparse(number("rows")?, number("columns")?, number("each")?)?;
    let ratio = parameters["l1_ratio"].as_f64().ok_or("the case has no l1_ratio")?;
    let settings = LogisticRegression::default().solver(Solver::Saga).penalty(Penalty::Elasticnet).l1_ratio(ratio);
    Ok(Box::new(Fitting { x: Rows::from(x), y, settings: settings.tol(0.0).max_iter(number("passes")?) }))
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
