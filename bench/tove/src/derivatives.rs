//! W7: the Hessian of a small net's loss, a Hessian-vector product of a larger one, gradients for each sample.

use std::hint::black_box;

use serde_json::Value;
use tove::prelude::*;

use crate::data;
use crate::nets::sizes;
use crate::workload::{Workload, number};

/// Mean cross-entropy of an MLP whose parameters come weight (out, in) before bias, layer by layer.
fn loss(parameters: &[Tensor], x: &Tensor, y: &Tensor, tanh: bool) -> Tensor {
    let mut hidden = x.clone();
    for layer in (0..parameters.len()).step_by(2) {
        let last = layer + 2 == parameters.len();
        let activation = if last || tanh { Activation::Identity } else { Activation::Relu };
        hidden = hidden.linear(&parameters[layer], Some(&parameters[layer + 1]), activation);
        if !last && tanh {
            hidden = hidden.tanh();
        }
    }
    hidden.cross_entropy(y, &CrossEntropy::default())
}

/// The parameters out of one flat vector.
fn unflatten(theta: &Tensor, sizes: &[usize]) -> Vec<Tensor> {
    let (mut parameters, mut start) = (Vec::new(), 0);
    for pair in sizes.windows(2) {
        let count = pair[0] * pair[1];
        parameters.push(theta.narrow(0, start, count).reshape([pair[1], pair[0]]));
        parameters.push(theta.narrow(0, start + count, pair[1]));
        start += count + pair[1];
    }
    parameters
}

struct Derivative {
    run: Box<dyn Fn() -> Vec<Tensor>>,
    /// Whether the results are parts of one vector.
    joined: bool,
}

impl Workload for Derivative {
    fn step(&mut self) {
        black_box((self.run)());
    }

    fn quality(&mut self) -> f64 {
        let results: Vec<Vec<f64>> = (self.run)().iter().map(Tensor::to_f64_vec).collect();
        if self.joined {
            return data::root_mean_square(&results.concat());
        }
        results.iter().map(|result| data::root_mean_square(result)).sum()
    }
}

/// W7.
pub fn make(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let (sizes, batch) = (sizes(parameters)?, number(parameters, "batch")?);
    let tanh = parameters["activation"] == "tanh";
    let x = Tensor::from_vec(data::fill_f32(1, batch * sizes[0], 1.0), [batch, sizes[0]]);
    let y = Tensor::from(data::labels(2, batch, sizes[sizes.len() - 1] as u32));
    let flat: Vec<f32> = data::mlp_parameters(&sizes).into_iter().flat_map(|(w, b)| [w, b].concat()).collect();
    let theta = Tensor::from(flat);
    let run: Box<dyn Fn() -> Vec<Tensor>> = match parameters["task"].as_str() {
        Some("hessian") => {
            Box::new(move || vec![hessian(|theta: &Tensor| loss(&unflatten(theta, &sizes), &x, &y, tanh), &theta)])
        }
        Some("hvp") => {
            // A tree of parameters, as a user would hold them; the results are joined for the quality only.
            let layers = unflatten(&theta, &sizes);
            let direction = unflatten(&Tensor::from(data::fill_f32(3, theta.numel(), 1.0)), &sizes);
            Box::new(move || hvp(|layers: &Vec<Tensor>| loss(layers, &x, &y, tanh), &layers, &direction))
        }
        _ => {
            let layers = unflatten(&theta, &sizes);
            let samples = (x, y);
            let each = per_sample_grad(move |layers: &Vec<Tensor>, (x, y): &(Tensor, Tensor)| {
                loss(layers, &x.unsqueeze(0), &y.unsqueeze(0), tanh)
            });
            Box::new(move || each(&layers, &samples))
        }
    };
    Ok(Box::new(Derivative { run, joined: parameters["task"] == "hvp" }))
}
