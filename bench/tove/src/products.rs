//! W11: the sum of two tiny tensors. W12: matrix products.

use std::hint::black_box;

use serde_json::Value;
use tove::prelude::*;

use crate::data;
use crate::workload::{Workload, number};

struct Binary {
    a: Tensor,
    b: Tensor,
    operation: fn(&Tensor, &Tensor) -> Tensor,
}

impl Workload for Binary {
    fn step(&mut self) {
        black_box((self.operation)(black_box(&self.a), black_box(&self.b)));
    }

    fn quality(&mut self) -> f64 {
        data::root_mean_square(&(self.operation)(&self.a, &self.b).to_f64_vec())
    }
}

/// W11.
pub fn make_sum(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let count = number(parameters, "elements")?;
    let operand = |seed| Tensor::from(data::fill_f32(seed, count, 1.0));
    let a = if parameters["tracked"] == true { operand(1).requires_grad() } else { operand(1) };
    Ok(Box::new(Binary { a, b: operand(2), operation: |a, b| a + b }))
}

/// W12.
pub fn make_product(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let (m, k, n) = (number(parameters, "m")?, number(parameters, "k")?, number(parameters, "n")?);
    let batch = number(parameters, "batch").unwrap_or(0);
    let operand = |seed, rows: usize, columns: usize| {
        let shape: Vec<usize> = if batch > 0 { vec![batch, rows, columns] } else { vec![rows, columns] };
        let count = shape.iter().product();
        if parameters["dtype"] == "f64" {
            Tensor::from_vec(data::fill_f64(seed, count, 1.0), shape)
        } else {
            Tensor::from_vec(data::fill_f32(seed, count, 1.0), shape)
        }
    };
    // As stored: `nt` has the second operand as (n, k), `tn` the first as (k, m).
    let layout = parameters["layout"].as_str().unwrap_or("nn");
    let a = if layout == "tn" { operand(1, k, m).t() } else { operand(1, m, k) };
    let b = if layout == "nt" { operand(2, n, k).t() } else { operand(2, k, n) };
    Ok(Box::new(Binary { a, b, operation: Tensor::matmul }))
}
