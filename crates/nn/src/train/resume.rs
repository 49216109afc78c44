//! Going on from a checkpoint: what must be the same, what comes from the file, and what from the program.
//!
//! From the file come the weights, the optimizer's counters and tensors, and the place in the run. The optimizer's settings
//! are the program's: a changed learning rate, other betas or another weight decay hold from the next step on. Parameter
//! groups are the program's too, if it has any, otherwise the file's.

use std::collections::HashMap;
use std::path::Path;

use serde_json::json;
use tove_data::Dataset;
use tove_tensor::{Key, Tensor};

use super::Trainer;
use super::checkpoint::{Checkpoint, Place};
use crate::{Error, Module, ModuleExt, Result};

/// The place in a run, the best weights and their running mean.
pub(super) type Resumed = (Place, Vec<(String, Tensor)>, Vec<(String, Tensor)>);

/// Samples that tell one training set from another.
const WITNESSES: usize = 16;

/// Takes net, optimizer and place from a checkpoint; if anything does not fit, nothing changes.
pub(super) fn resume<M: Module>(
    trainer: &mut Trainer<'_>,
    net: &mut M,
    settings: &serde_json::Value,
    path: &Path,
) -> Result<Resumed> {
    let mut saved = Checkpoint::read(path)?;
    let other = |problem: String| {
        let problem = format!("{} was written by another run: {problem}; use another file", path.display());
        Error::setting("Trainer", "checkpoint", problem)
    };
    let mut expected = settings.clone();
    if saved.settings.get("data").is_none() {
        // A file from before the data were noted.
        _ = expected.as_object_mut().and_then(|settings| settings.remove("data"));
    }
    if saved.settings != expected {
        return Err(other(format!("{} there, {expected} here", saved.settings)));
    }
    let before = trainer.optimizer.state();
    if let Some(own) = before.groups.as_ref().filter(|groups| !groups.is_empty()) {
        saved.optimizer.groups = Some(own.clone());
    }
    let loaded = trainer.optimizer.load_state(&saved.optimizer);
    let loaded = loaded.and_then(|()| trainer.optimizer.set_hyperparameters(&before.settings));
    let loaded = loaded.map_err(|error| other(error.to_string()));
    let loaded = loaded.and_then(|()| net.load_state(&saved.net).map_err(|error| other(error.to_string())));
    if let Err(error) = loaded {
        trainer.optimizer.load_state(&before)?;
        return Err(error);
    }
    if let Some(plateau) = &mut trainer.plateau {
        // What it saw before, it sees again.
        plateau.restart();
        let watched = |(name, value): &(String, f64)| (*name == trainer.watch).then_some(*value);
        let seen = saved.place.history.iter().filter_map(|evaluation| evaluation.validation.iter().find_map(watched));
        seen.for_each(|value| _ = plateau.observe(value));
    }
    // Files keep tensors in an order of their own; the mean is taken in the net's.
    let order: HashMap<String, usize> =
        net.state().into_iter().zip(0..).map(|((name, _), place)| (name, place)).collect();
    let mut average = saved.average;
    average.sort_by_key(|(name, _)| order.get(name).copied());
    Ok((saved.place, saved.best, average))
}

/// What must be the same for a run to go on from a checkpoint. The length is not part of it: a finished run may be made
/// longer.
pub(super) fn settings<D: Dataset + ?Sized>(trainer: &Trainer<'_>, train: &D) -> Result<serde_json::Value> {
    let mut settings = json!({
        "samples": train.len(), "batch_size": trainer.batch_size, "shuffle": trainer.shuffle,
        "drop_last": trainer.drop_last, "seed": trainer.seed, "ranks": trainer.collective.size(),
    });
    // Only where it is used, so that files from before it can be read.
    if trainer.accumulate > 1 {
        settings["accumulate"] = json!(trainer.accumulate);
    }
    if trainer.checkpoint.is_some() {
        settings["data"] = json!(fingerprint(train)?);
    }
    Ok(settings)
}

/// A number that tells one training set from another: a checksum of a few samples spread over the set. The folds of a
/// cross-validation have the same size, and a run on one must not go on from the checkpoint of another.
fn fingerprint<D: Dataset + ?Sized>(train: &D) -> Result<u32> {
    let count = train.len().min(WITNESSES);
    let indices: Vec<usize> = (0..count).map(|at| at * train.len() / count).collect();
    let batch = train.batch(&indices, Key::new(0))?;
    let values = batch.x.to_f64_vec().into_iter().chain(batch.y.to_f64_vec());
    Ok(values.fold(0, |sum, value| crc32c::crc32c_append(sum, &value.to_le_bytes())))
}
