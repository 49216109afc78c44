//! W9: a training step of a small vision transformer on images of 28x28 with Adam.
//!
//! Patches of 4x4 are tokens, a special token in front is classified; blocks with the norm first, GELU and biases.

use std::hint::black_box;

use serde_json::Value;
use tove::prelude::*;
use tove_nn::{BlockConfig, VisionTransformer, VitConfig};

use crate::data;
use crate::workload::{Workload, number};

/// A net whose maps, tokens and their biases both sides know; norms stay as they start.
fn net(parameters: &Value) -> Result<VisionTransformer, String> {
    let size = |key: &str| number(parameters, key);
    let config = VitConfig {
        image: [1, 28, 28],
        patch: size("patch")?,
        layers: size("layers")?,
        block: BlockConfig::new(size("width")?, size("heads")?),
        classes: 10,
    };
    let scale = parameters["scale"].as_f64().ok_or("the case has no scale")?;
    let mut net = VisionTransformer::new(&config, &mut Rng::new(0)).map_err(|error| error.to_string())?;
    let names: Vec<String> = net.named_parameters().into_iter().map(|(name, _)| name).collect();
    for ((seed, parameter), name) in (100..).zip(net.parameters_mut()).zip(names) {
        if !name.contains("norm") {
            let values = data::fill_f32(seed, parameter.numel(), scale);
            *parameter = Tensor::from_vec(values, parameter.shape().clone()).requires_grad();
        }
    }
    Ok(net)
}

struct Training {
    net: VisionTransformer,
    x: Tensor,
    y: Tensor,
    adam: Adam,
    quality_steps: usize,
}

impl Training {
    fn train(&mut self) -> Result<f32, tove_nn::Error> {
        let logits = self.net.forward(&self.x, &Pass::train(Key::new(0)))?;
        let loss = logits.cross_entropy(&self.y, &CrossEntropy::default());
        loss.backward();
        self.adam.step(&mut self.net.parameters_mut())?;
        Ok(loss.item())
    }
}

impl Workload for Training {
    fn step(&mut self) {
        black_box(self.train()).expect("the same step succeeded before");
    }

    fn quality(&mut self) -> f64 {
        let losses: Vec<f32> = (0..self.quality_steps).filter_map(|_| self.train().ok()).collect();
        losses.last().copied().map_or(f64::NAN, f64::from)
    }
}

/// W9.
pub fn make(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let batch = number(parameters, "batch")?;
    Ok(Box::new(Training {
        net: net(parameters)?,
        x: Tensor::from_vec(data::fill_f32(1, batch * 28 * 28, 1.0), [batch, 1, 28, 28]),
        y: Tensor::from(data::labels(2, batch, 10)),
        adam: Adam::default(),
        quality_steps: number(parameters, "quality_steps")?,
    }))
}
