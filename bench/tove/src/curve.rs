//! Loss curves: a workload's training steps over fresh batches that both sides make alike.

use serde_json::Value;
use tove::prelude::{DType, Tensor};

use crate::workload::{Workload, number};
use crate::{data, workload};

/// The losses of the first `steps` steps, each computed before its update.
pub fn losses(id: &str, parameters: &Value, steps: usize, strength: f64) -> Result<Vec<f64>, String> {
    let mut workload = workload::make(id, parameters)?.ok_or("there is no such workload")?;
    let missing = || format!("{id} has no loss curve");
    (0..steps as u32).map(|step| train(workload.as_mut(), parameters, step, strength)?.ok_or_else(missing)).collect()
}

fn train(workload: &mut dyn Workload, parameters: &Value, step: u32, strength: f64) -> Result<Option<f64>, String> {
    let batch = number(parameters, "batch")?;
    if let Ok(context) = number(parameters, "context") {
        let vocabulary = number(parameters, "vocabulary")? as u32;
        let tokens = data::token_batch(step, batch, context + 1, vocabulary);
        let tokens = Tensor::from_vec(tokens, [batch, context + 1]);
        let part = |start| tokens.narrow(1, start, context).contiguous();
        return Ok(workload.train_on(part(0), part(1)));
    }
    let (images, labels) = data::image_batch(step, batch, 28 * 28, 10, strength);
    let flat = parameters["net"] != "cnn";
    let images =
        if flat { Tensor::from_vec(images, [batch, 28 * 28]) } else { Tensor::from_vec(images, [batch, 1, 28, 28]) };
    let images = if parameters["dtype"] == "f64" { images.to_dtype(DType::F64) } else { images };
    Ok(workload.train_on(images, Tensor::from(labels)))
}
