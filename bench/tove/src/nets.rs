//! W1, W2 and W3: a training step of a small net with Adam. W6: its prediction for one row.

use std::hint::black_box;

use serde_json::Value;
use tove::prelude::*;

use crate::data;
use crate::workload::{Workload, number};

/// The net with the weights both sides agree on.
fn net(sizes: &[usize]) -> Result<Mlp, String> {
    let mut net = Mlp::new(sizes, &mut Rng::new(0));
    let layers = data::mlp_parameters(sizes).into_iter().zip(sizes.windows(2)).enumerate();
    let state: Vec<(String, Tensor)> = layers
        .flat_map(|(index, ((weight, bias), pair))| {
            [
                (format!("layers.{index}.weight"), Tensor::from_vec(weight, [pair[1], pair[0]])),
                (format!("layers.{index}.bias"), Tensor::from_vec(bias, [pair[1]])),
            ]
        })
        .collect();
    net.load_state(&state).map_err(|error| error.to_string())?;
    Ok(net)
}

/// The widths of a net's layers.
pub fn sizes(parameters: &Value) -> Result<Vec<usize>, String> {
    let list = parameters["sizes"].as_array().ok_or("the case has no sizes")?;
    Ok(list.iter().filter_map(Value::as_u64).map(|size| size as usize).collect())
}

struct Training {
    net: Mlp,
    x: Tensor,
    y: Tensor,
    cross_entropy: bool,
    adam: Adam,
    quality_steps: usize,
}

impl Training {
    fn train(&mut self) -> f32 {
        let output = self.net.forward(&self.x, &Pass::train(Key::new(0))).expect("the shapes fit");
        let loss = if self.cross_entropy {
            output.cross_entropy(&self.y, &CrossEntropy::default())
        } else {
            output.mse_loss(&self.y, Reduction::Mean)
        };
        loss.backward();
        self.adam.step(&mut self.net.parameters_mut()).expect("the parameters stay the same");
        loss.item()
    }
}

impl Workload for Training {
    fn step(&mut self) {
        black_box(self.train());
    }

    fn quality(&mut self) -> f64 {
        let losses: Vec<f32> = (0..self.quality_steps).map(|_| self.train()).collect();
        losses.last().copied().map_or(f64::NAN, f64::from)
    }

    fn train_on(&mut self, x: Tensor, y: Tensor) -> Option<f64> {
        (self.x, self.y) = (x, y);
        Some(f64::from(self.train()))
    }
}

/// W1, W2 and W3.
pub fn make_training(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let (sizes, batch) = (sizes(parameters)?, number(parameters, "batch")?);
    let (inputs, outputs) = (sizes[0], sizes[sizes.len() - 1]);
    let cross_entropy = parameters["loss"] == "cross_entropy";
    let y = if cross_entropy {
        Tensor::from(data::labels(2, batch, outputs as u32))
    } else {
        Tensor::from_vec(data::fill_f32(2, batch * outputs, 1.0), [batch, outputs])
    };
    Ok(Box::new(Training {
        net: net(&sizes)?,
        x: Tensor::from_vec(data::fill_f32(1, batch * inputs, 1.0), [batch, inputs]),
        y,
        cross_entropy,
        adam: Adam::default(),
        quality_steps: number(parameters, "quality_steps")?,
    }))
}

struct Prediction {
    net: Mlp,
    x: Tensor,
}

impl Prediction {
    fn predict(&self) -> Tensor {
        self.net.forward(black_box(&self.x), &Pass::eval()).expect("the shapes fit")
    }
}

impl Workload for Prediction {
    fn step(&mut self) {
        black_box(self.predict());
    }

    fn quality(&mut self) -> f64 {
        data::root_mean_square(&self.predict().to_f64_vec())
    }
}

/// W6.
pub fn make_prediction(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let (sizes, batch) = (sizes(parameters)?, number(parameters, "batch")?);
    let x = Tensor::from_vec(data::fill_f32(1, batch * sizes[0], 1.0), [batch, sizes[0]]);
    let mut net = net(&sizes)?;
    net.freeze("").map_err(|error| error.to_string())?;
    Ok(Box::new(Prediction { net, x }))
}
