//! Everything a run needs to go on, in one safetensors file: weights, the optimiser's tensors and counters, the best
//! weights so far, and the place in the run. Random numbers are functions of seed and place, so there is nothing else.
//!
//! Names are `net.…`, `optimizer.…`, `best.…` and `average.…`; the rest is JSON in the metadata entry `tove.training`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::json;
use tove_optim::OptimizerState;
use tove_tensor::Tensor;
use tove_tensor::io::{WriteOptions, safetensors, write_safetensors};

use super::report::Evaluation;
use crate::{Error, Result};

const ENTRY: &str = "tove.training";
/// Version of the layout described above.
const VERSION: u64 = 1;

/// The place in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Place {
    /// Epochs completed.
    pub(super) epoch: usize,
    /// Steps taken in the present epoch.
    pub(super) step_in_epoch: usize,
    /// Steps taken in all.
    pub(super) step: u64,
    /// Loss of every step.
    pub(super) losses: Vec<f64>,
    /// Number of losses at the last evaluation.
    pub(super) evaluated: usize,
    pub(super) history: Vec<Evaluation>,
    /// The best watched score and its step.
    pub(super) best: Option<(f64, u64)>,
    /// Evaluations since it.
    pub(super) stale: usize,
    pub(super) seconds: f64,
}

/// A run between two steps.
pub(super) struct Checkpoint {
    pub(super) place: Place,
    pub(super) net: Vec<(String, Tensor)>,
    pub(super) best: Vec<(String, Tensor)>,
    /// The running mean of the weights, if there is one.
    pub(super) average: Vec<(String, Tensor)>,
    pub(super) optimizer: OptimizerState,
    /// What must be the same for a resumed run: seed, batch size, number of samples …
    pub(super) settings: serde_json::Value,
}

fn damaged(path: &Path, problem: &str) -> Error {
    let problem = format!("{}: {problem}; delete the file to start anew", path.display());
    Error::setting("Trainer", "checkpoint", problem)
}

impl Checkpoint {
    /// Writes the file, complete or not at all.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let named = |part: &str, tensors: &[(String, Tensor)]| -> Vec<(String, Tensor)> {
            tensors.iter().map(|(name, tensor)| (format!("{part}.{name}"), tensor.clone())).collect()
        };
        let optimizer: Vec<(String, Tensor)> =
            self.optimizer.tensors.iter().map(|(name, tensor)| (name.clone(), tensor.clone())).collect();
        let (best, average) = (named("best", &self.best), named("average", &self.average));
        let tensors = [named("net", &self.net), best, average, named("optimizer", &optimizer)].concat();
        let tensors: Vec<(&str, &Tensor)> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        let header = json!({
            "version": VERSION, "place": self.place, "settings": self.settings,
            "optimizer": self.optimizer.description(),
        });
        let metadata = BTreeMap::from([(ENTRY.to_owned(), header.to_string())]);
        Ok(write_safetensors(path, &tensors, &metadata, WriteOptions::overwriting())?)
    }

    /// Reads a file written by [`Checkpoint::write`]. The tensors share its map; a later checkpoint takes the file's name,
    /// not its bytes.
    pub(super) fn read(path: &Path) -> Result<Checkpoint> {
        let header = safetensors::SafeTensors::open(path)?;
        let header = header.metadata().get(ENTRY).ok_or_else(|| damaged(path, "is no checkpoint of a training run"))?;
        let mut header: serde_json::Value =
            serde_json::from_str(header).map_err(|error| damaged(path, &error.to_string()))?;
        if header["version"] != VERSION {
            let problem = format!("has version {}, this program reads version {VERSION}", header["version"]);
            return Err(damaged(path, &problem));
        }
        let place = serde_json::from_value(header["place"].take()).map_err(|e| damaged(path, &e.to_string()))?;
        let optimizer = OptimizerState::from_description(&header["optimizer"]);
        let optimizer = optimizer.map_err(|error| damaged(path, &error.to_string()))?;
        let settings = header["settings"].take();
        let (net, best, average) = (Vec::new(), Vec::new(), Vec::new());
        let mut checkpoint = Checkpoint { place, net, best, average, optimizer, settings };
        for (name, tensor) in tove_tensor::io::read_safetensors(path)? {
            match name.split_once('.') {
                Some(("net", name)) => checkpoint.net.push((name.to_owned(), tensor)),
                Some(("best", name)) => checkpoint.best.push((name.to_owned(), tensor)),
                Some(("average", name)) => checkpoint.average.push((name.to_owned(), tensor)),
                Some(("optimizer", name)) => _ = checkpoint.optimizer.tensors.insert(name.to_owned(), tensor),
                _ => return Err(damaged(path, &format!("has an unknown tensor {name:?}"))),
            }
        }
        Ok(checkpoint)
    }
}
