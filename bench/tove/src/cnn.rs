//! W4: a small convolutional net on images of 28x28, a training step with Adam and the forward pass alone.
//!
//! With `"dtype": "f64"` a training step is in double precision, which the loss curves ask for.
//!
//! conv3x3 (1-32), relu, pool 2, conv3x3 (32-64), relu, pool 2, linear (3136-128), relu, linear (128-10).

use std::hint::black_box;

use serde_json::Value;
use tove::prelude::*;
use tove_tensor::{ConvOptions, PoolOptions};

use crate::data;
use crate::workload::{Workload, number, value};

/// Shapes of the weights; each has a bias of its first size.
const WEIGHTS: [&[usize]; 4] = [&[32, 1, 3, 3], &[64, 32, 3, 3], &[128, 3136], &[10, 128]];

/// The net. Weight and bias of each layer, in [-1/sqrt(fan in), 1/sqrt(fan in)); seeds 10, 11, 12, ...
pub struct Cnn {
    layers: Vec<(Tensor, Tensor)>,
}

impl Cnn {
    pub fn new() -> Cnn {
        let layer = |(index, shape): (usize, &&[usize])| {
            let fan_in: usize = shape[1..].iter().product();
            let (scale, seed) = (1.0 / (fan_in as f64).sqrt(), 10 + 2 * index as u32);
            let weight = Tensor::from_vec(data::fill_f32(seed, shape[0] * fan_in, scale), *shape);
            (weight, Tensor::from_vec(data::fill_f32(seed + 1, shape[0], scale), [shape[0]]))
        };
        Cnn { layers: WEIGHTS.iter().enumerate().map(layer).collect() }
    }

    /// The same weights in this type, to be trained.
    pub fn trainable(mut self, dtype: DType) -> Cnn {
        for (weight, bias) in &mut self.layers {
            (*weight, *bias) = (weight.to_dtype(dtype).requires_grad(), bias.to_dtype(dtype).requires_grad());
        }
        self
    }

    pub fn forward(&self, x: &Tensor) -> Tensor {
        let convolution = ConvOptions::new().padding(1).activation(Activation::Relu);
        let pool = PoolOptions::new(2);
        let mut x = x.clone();
        for (weight, bias) in &self.layers[..2] {
            x = x.conv2d(weight, Some(bias), &convolution).max_pool2d(&pool);
        }
        let [.., (hidden, hidden_bias), (output, output_bias)] = &self.layers[..] else { return x };
        let x = x.flatten(1).linear(hidden, Some(hidden_bias), Activation::Relu);
        x.linear(output, Some(output_bias), Activation::Identity)
    }
}

struct Training {
    net: Cnn,
    x: Tensor,
    y: Tensor,
    adam: Adam,
    quality_steps: usize,
}

impl Training {
    fn train(&mut self) -> f64 {
        let loss = self.net.forward(&self.x).cross_entropy(&self.y, &CrossEntropy::default());
        loss.backward();
        let mut parameters: Vec<&mut Tensor> = Vec::new();
        for (weight, bias) in &mut self.net.layers {
            parameters.extend([weight, bias]);
        }
        self.adam.step(&mut parameters).expect("the parameters stay the same");
        value(&loss)
    }
}

impl Workload for Training {
    fn step(&mut self) {
        black_box(self.train());
    }

    fn quality(&mut self) -> f64 {
        (0..self.quality_steps).map(|_| self.train()).last().unwrap_or(f64::NAN)
    }

    fn train_on(&mut self, x: Tensor, y: Tensor) -> Option<f64> {
        (self.x, self.y) = (x, y);
        Some(self.train())
    }
}

struct Prediction {
    net: Cnn,
    x: Tensor,
}

impl Workload for Prediction {
    fn step(&mut self) {
        black_box(self.net.forward(black_box(&self.x)));
    }

    fn quality(&mut self) -> f64 {
        data::root_mean_square(&self.net.forward(&self.x).to_f64_vec())
    }
}

/// W4, by its `task`: "step" or "forward".
pub fn make(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let batch = number(parameters, "batch")?;
    let x = Tensor::from_vec(data::fill_f32(1, batch * 28 * 28, 1.0), [batch, 1, 28, 28]);
    if parameters["task"] == "forward" {
        return Ok(Box::new(Prediction { net: Cnn::new(), x }));
    }
    let dtype = if parameters["dtype"] == "f64" { DType::F64 } else { DType::F32 };
    Ok(Box::new(Training {
        net: Cnn::new().trainable(dtype),
        x: x.to_dtype(dtype),
        y: Tensor::from(data::labels(2, batch, 10)),
        adam: Adam::default(),
        quality_steps: number(parameters, "quality_steps")?,
    }))
}
