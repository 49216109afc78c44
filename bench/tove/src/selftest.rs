//! A workload without any tensors: shows that both sides make the same data and speak the same protocol.

use std::hint::black_box;

use serde_json::Value;

use crate::data;
use crate::workload::{Workload, number};

struct Sum {
    values: Vec<f64>,
}

/// Adds up as many numbers as the case asks for.
pub fn make(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    Ok(Box::new(Sum { values: data::fill_f64(1, number(parameters, "elements")?, 1.0) }))
}

impl Workload for Sum {
    fn step(&mut self) {
        black_box(black_box(&self.values).iter().sum::<f64>());
    }

    fn quality(&mut self) -> f64 {
        data::root_mean_square(&self.values)
    }
}
