//! W5: a training step of a small GPT with clipping and AdamW. W8: greedy generation with it.

use std::hint::black_box;

use serde_json::Value;
use tove_nn::{Gpt, GptConfig, ModuleExt, Pass, Rng, Sampling};
use tove_optim::{AdamW, Group, bias_or_norm};
use tove_tensor::{Key, Tensor};

use crate::data;
use crate::workload::{Workload, number};

/// A net with matrices both sides know, and norms as they start.
fn net(parameters: &Value) -> Result<Gpt, String> {
    let size = |key: &str| number(parameters, key);
    let width = size("width")?;
    let config = GptConfig {
        vocabulary: size("vocabulary")?,
        context: size("context")?,
        layers: size("layers")?,
        heads: size("heads")?,
        width,
        hidden: 4 * width,
        ..GptConfig::default()
    };
    let scale = parameters["scale"].as_f64().ok_or("the case has no scale")?;
    let mut net = Gpt::new(&config, &mut Rng::new(0)).map_err(|error| error.to_string())?;
    for (seed, parameter) in (100..).zip(net.parameters_mut()) {
        if parameter.rank() > 1 {
            let values = data::fill_f32(seed, parameter.numel(), scale);
            *parameter = Tensor::from_vec(values, parameter.shape().clone()).requires_grad();
        }
    }
    Ok(net)
}

struct Training {
    net: Gpt,
    x: Tensor,
    y: Tensor,
    rule: AdamW,
    quality_steps: usize,
}

impl Training {
    fn train(&mut self) -> Result<f32, tove_nn::Error> {
        let loss = self.net.loss(&self.x, &self.y, &Pass::train(Key::new(0)))?;
        loss.backward();
        self.rule.step_clipped(&mut self.net.parameters_mut(), 1.0)?;
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

    fn train_on(&mut self, x: Tensor, y: Tensor) -> Option<f64> {
        (self.x, self.y) = (x, y);
        self.train().ok().map(f64::from)
    }
}

/// W5.
pub fn make_training(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let net = net(parameters)?;
    let (batch, context) = (number(parameters, "batch")?, net.config().context);
    let tokens = data::labels(1, batch * (context + 1), net.config().vocabulary as u32);
    let tokens = Tensor::from_vec(tokens, [batch, context + 1]);
    let names: Vec<String> = net.named_parameters().into_iter().map(|(name, _)| name).collect();
    let rule = AdamW::new(1e-3).with(|settings| settings.beta2(0.99).weight_decay(0.1));
    let rule = rule.groups(&[Group::matching(&names, bias_or_norm).weight_decay(0.0)]);
    Ok(Box::new(Training {
        net,
        x: tokens.narrow(1, 0, context).contiguous(),
        y: tokens.narrow(1, 1, context).contiguous(),
        rule: rule.map_err(|error| error.to_string())?,
        quality_steps: number(parameters, "quality_steps")?,
    }))
}

struct Generation {
    net: Gpt,
    runs: usize,
    count: usize,
}

impl Generation {
    fn texts(&self) -> Result<Vec<Vec<i64>>, tove_nn::Error> {
        let write = |run: usize| {
            let text = self.net.generate(&Tensor::from([run as i64]), self.count, &Sampling::greedy())?;
            Ok(text.to_vec::<i64>())
        };
        (0..self.runs).map(write).collect()
    }
}

impl Workload for Generation {
    fn step(&mut self) {
        black_box(self.texts()).expect("the same texts were written before");
    }

    fn quality(&mut self) -> f64 {
        let texts = self.texts().unwrap_or_default();
        let places = texts.iter().flat_map(|text| text.iter().zip(1i64..));
        (places.map(|(token, place)| token * place).sum::<i64>() % 100_003) as f64 / 100_003.0
    }
}

/// W8.
pub fn make_generation(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let (runs, count) = (number(parameters, "runs")?, number(parameters, "count")?);
    Ok(Box::new(Generation { net: net(parameters)?, runs, count }))
}
