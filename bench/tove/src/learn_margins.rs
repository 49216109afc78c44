//! W24: linear SVM. W25: SVM with an RBF kernel. Quality: the objective per sample (W24), accuracy on other samples (W25).

use std::hint::black_box;
use std::path::Path;

use serde_json::Value;
use tove_learn::svm::{HingeLoss, LinearSvc, Svc};
use tove_learn::{Fit, Model, Predict};
use tove_tensor::{DType, Tensor, TryOps};

use crate::data;
use crate::workload::{Workload, number};

fn dtype(parameters: &Value) -> DType {
    if parameters["dtype"] == "f64" { DType::F64 } else { DType::F32 }
}

struct Linear {
    x: Tensor,
    y: Tensor,
    svc: LinearSvc,
}

impl Workload for Linear {
    fn step(&mut self) {
        black_box(self.svc.fit(&self.x, &self.y).map(|model| model.summary().iterations).unwrap_or(0));
    }

    fn quality(&mut self) -> f64 {
        let objective = self.svc.fit(&self.x, &self.y).ok().and_then(|model| model.summary().objective);
        objective.map_or(f64::NAN, |objective| objective / self.y.numel() as f64)
    }
}

/// W24: labels from a plane with noise, so that the classes overlap.
pub fn make_linear(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let (n, d) = (number(parameters, "rows")?, number(parameters, "columns")?);
    let x = data::fill_f64(1, n * d, 1.0);
    let (w, noise) = (data::fill_f64(2, d, 1.0), data::fill_f64(3, n, 3.0));
    let label = |(row, noise): (&[f64], &f64)| {
        let score: f64 = row.iter().zip(&w).map(|(x, w)| x * w).sum();
        i64::from(score + noise > 0.5)
    };
    let y: Vec<i64> = x.chunks_exact(d).zip(&noise).map(label).collect();
    let mut svc = LinearSvc::default();
    if parameters["loss"] == "hinge" {
        svc = svc.loss(HingeLoss::Hinge).c(0.01).max_iter(10_000);
    }
    let x = Tensor::from_vec(x, [n, d]).to_dtype(dtype(parameters));
    Ok(Box::new(Linear { x, y: Tensor::from_slice(&y), svc }))
}

struct Rbf {
    x: Tensor,
    y: Tensor,
    others: (Tensor, Tensor),
    svc: Svc,
}

impl Workload for Rbf {
    fn step(&mut self) {
        black_box(self.svc.fit(&self.x, &self.y).map(|model| model.summary().iterations).unwrap_or(0));
    }

    fn quality(&mut self) -> f64 {
        let model = self.svc.fit(&self.x, &self.y);
        let score = model.and_then(|model| model.score(&self.others.0, &self.others.1));
        score.map_or(f64::NAN, |score| score.value)
    }
}

/// W25: the first rows of Fashion-MNIST, or ten overlapping classes where it is absent.
pub fn make_rbf(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let ((x, y), others) = pictures(number(parameters, "rows")?, number(parameters, "tests")?, dtype(parameters))?;
    Ok(Box::new(Rbf { x, y, others, svc: Svc::default().c(10.0).cache_size(1000.0) }))
}

/// Rows and labels.
type Labeled = (Tensor, Tensor);

/// So many rows for training and for tests: of Fashion-MNIST, or ten overlapping classes where it is absent.
pub fn pictures(n: usize, tests: usize, dtype: DType) -> Result<(Labeled, Labeled), String> {
    let folder =
        tove_data::sets::data_dir().map(|folder| folder.join("fashion-mnist")).filter(|folder| folder.exists());
    match folder {
        Some(folder) => Ok((images(&folder, "train", n, dtype)?, images(&folder, "t10k", tests, dtype)?)),
        None => Ok((synthetic(n, 5, dtype), synthetic(tests, 6, dtype))),
    }
}

/// The first images as rows of numbers from 0 to 1; the rest is dropped before it becomes floating-point numbers.
fn images(folder: &Path, name: &str, n: usize, dtype: DType) -> Result<(Tensor, Tensor), String> {
    let read = |kind: &str| {
        let file = folder.join(format!("{name}-{kind}-ubyte.gz"));
        let all = tove_data::images::read_idx(file).map_err(|error| error.to_string())?;
        all.try_narrow(0, 0, n).map_err(|error| error.to_string())
    };
    let x = read("images-idx3")?.to_dtype(dtype).reshape([n, 784]) / 255.0;
    Ok((x, read("labels-idx1")?.to_dtype(DType::I64)))
}

/// Noise around a point per class.
fn synthetic(n: usize, seed: u32, dtype: DType) -> (Tensor, Tensor) {
    let (centres, mut x) = (data::fill_f64(7, 7840, 0.3), data::fill_f64(seed, n * 784, 1.0));
    for (i, row) in x.chunks_exact_mut(784).enumerate() {
        let centre = &centres[i % 10 * 784..][..784];
        row.iter_mut().zip(centre).for_each(|(x, centre)| *x += centre);
    }
    let y: Vec<i64> = (0..n).map(|i| (i % 10) as i64).collect();
    (Tensor::from_vec(x, [n, 784]).to_dtype(dtype), Tensor::from_slice(&y))
}
