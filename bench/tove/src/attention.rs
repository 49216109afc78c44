//! Scaled dot-product attention, forward and backward by queries, keys and values.

use std::hint::black_box;

use serde_json::Value;
use tove_tensor::{Tensor, vjp};

use crate::w13::{shape_of, size_of, tensor};
use crate::workload::Workload;

struct Attention {
    inputs: Vec<Tensor>,
    dy: Tensor,
    causal: bool,
}

impl Attention {
    fn results(&self) -> Vec<Tensor> {
        let function = |p: &Vec<Tensor>| p[0].scaled_dot_product_attention(&p[1], &p[2], self.causal, None, None);
        let (y, pull) = vjp(function, &self.inputs);
        let mut results = pull(&self.dy);
        results.push(y);
        results
    }
}

impl Workload for Attention {
    fn step(&mut self) {
        black_box(self.results());
    }

    fn quality(&mut self) -> f64 {
        size_of(&self.results())
    }
}

/// One case of attention.
pub fn make(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let shape = shape_of(parameters)?;
    let inputs = [1, 2, 3].iter().map(|&seed| tensor(seed, &shape, 1.0)).collect();
    let causal = parameters["causal"].as_bool().ok_or("the case does not say whether it is causal")?;
    Ok(Box::new(Attention { inputs, dy: tensor(4, &shape, 1.0), causal }))
}
