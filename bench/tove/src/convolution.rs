//! A convolution with bias, forward and backward by input, weight and bias.

use std::hint::black_box;

use serde_json::Value;
use tove_tensor::{ConvOptions, Tensor, vjp};

use crate::w13::{size_of, tensor};
use crate::workload::{Workload, number};

struct Convolution {
    /// Input, weight and bias.
    inputs: Vec<Tensor>,
    dy: Tensor,
    options: ConvOptions,
}

impl Convolution {
    fn results(&self) -> Vec<Tensor> {
        let function = |p: &Vec<Tensor>| p[0].conv2d(&p[1], Some(&p[2]), &self.options);
        let (y, pull) = vjp(function, &self.inputs);
        let mut results = pull(&self.dy);
        results.push(y);
        results
    }
}

impl Workload for Convolution {
    fn step(&mut self) {
        black_box(self.results());
    }

    fn quality(&mut self) -> f64 {
        size_of(&self.results())
    }
}

fn shape(parameters: &Value, key: &str) -> Result<Vec<usize>, String> {
    let list = parameters[key].as_array().ok_or_else(|| format!("the case has no shape {key:?}"))?;
    Ok(list.iter().filter_map(Value::as_u64).map(|size| size as usize).collect())
}

/// One case of conv2d.
pub fn make(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let (x, w) = (shape(parameters, "x")?, shape(parameters, "w")?);
    let scale = 1.0 / (w[1..].iter().product::<usize>() as f64).sqrt();
    let options = ConvOptions::new().padding(number(parameters, "padding")?);
    let inputs = vec![tensor(1, &x, 1.0), tensor(2, &w, scale), tensor(3, &w[..1], scale)];
    let y = inputs[0].conv2d(&inputs[1], Some(&inputs[2]), &options);
    Ok(Box::new(Convolution { dy: tensor(4, y.dims(), 1.0), inputs, options }))
}
