//! Everything a run needs to go on, in one safetensors file: weights, the optimiser's tensors and counters, the best
//! weights so far, and the place in the run. Random numbers are functions of seed and place, so there is nothing else.
//!
//! Names are `net.…`, `optimizer.…`, `best.…` and `average.…`; `history.losses` holds the loss of every step, and
//! `history.evaluations` a row of numbers per evaluation, whose scores are named in the header. The rest is JSON in the metadata
//! entry `tove.training`, whose size does not grow with the run. Files of version 1 have losses and evaluations in the JSON.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::json;
use tove_optim::OptimizerState;
use tove_tensor::Tensor;
use tove_tensor::io::{WriteOptions, safetensors, write_safetensors};

use super::report::TrainingPoint;
use crate::{Error, Result};

const ENTRY: &str = "tove.training";
/// Version of the layout described above. Files of all versions before it are read.
const VERSION: u64 = 2;

/// The place in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Place {
    /// Epochs completed.
    pub(super) epoch: usize,
    /// Steps taken in the present epoch.
    pub(super) step_in_epoch: usize,
    /// Steps taken in all.
    pub(super) step: u64,
    /// Loss of every step; in the JSON of version 1.
    #[serde(default, skip_serializing)]
    pub(super) losses: Vec<f64>,
    /// Number of losses at the last evaluation.
    pub(super) evaluated: usize,
    /// All evaluations; in the JSON of version 1.
    #[serde(default, skip_serializing)]
    pub(super) history: Vec<TrainingPoint>,
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

/// Numbers of an evaluation before its scores.
const FIXED: usize = 5;

impl Place {
    /// Losses and evaluations as tensors, and the names of the scores.
    fn tensors(&self) -> (Vec<(String, Tensor)>, Vec<String>) {
        let mut scores: Vec<String> = Vec::new();
        for (name, _) in self.history.iter().flat_map(|evaluation| &evaluation.validation) {
            if !scores.contains(name) {
                scores.push(name.clone());
            }
        }
        let mut rows = Vec::with_capacity(self.history.len() * (FIXED + 2 * scores.len()));
        for evaluation in &self.history {
            let TrainingPoint { epoch, step, train_loss, learning_rate, seconds, validation } = evaluation;
            rows.extend([*epoch as f64, *step as f64, *train_loss, *learning_rate, *seconds]);
            for score in &scores {
                let value = validation.iter().find(|(name, _)| name == score).map(|(_, value)| *value);
                // Whether it was there, and its value, which may be NaN.
                rows.extend([f64::from(u8::from(value.is_some())), value.unwrap_or(0.0)]);
            }
        }
        let losses = Tensor::from_slice(&self.losses);
        let rows = Tensor::from_slice(&rows);
        (vec![("losses".to_owned(), losses), ("evaluations".to_owned(), rows)], scores)
    }
}

/// The evaluations that [`Place::tensors`] wrote; none if the numbers do not come out even.
fn evaluations(rows: &Tensor, scores: &[String]) -> Option<Vec<TrainingPoint>> {
    let rows = rows.try_to_vec::<f64>().ok()?;
    let width = FIXED + 2 * scores.len();
    if !rows.len().is_multiple_of(width) {
        return None;
    }
    let evaluation = |row: &[f64]| {
        let (fixed, values) = row.split_at(FIXED);
        let there = scores.iter().zip(values.chunks_exact(2)).filter(|(_, value)| value[0] != 0.0);
        TrainingPoint {
            epoch: fixed[0] as usize,
            step: fixed[1] as u64,
            train_loss: fixed[2],
            validation: there.map(|(name, value)| (name.clone(), value[1])).collect(),
            learning_rate: fixed[3],
            seconds: fixed[4],
        }
    };
    Some(rows.chunks_exact(width).map(evaluation).collect())
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
        let (history, scores) = self.place.tensors();
        let history = named("history", &history);
        let tensors = [named("net", &self.net), best, average, named("optimizer", &optimizer), history].concat();
        let tensors: Vec<(&str, &Tensor)> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        let header = json!({
            "version": VERSION, "place": self.place, "settings": self.settings, "scores": scores,
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
        if !header["version"].as_u64().is_some_and(|version| (1..=VERSION).contains(&version)) {
            let problem = format!("has version {}, this program reads versions 1 to {VERSION}", header["version"]);
            return Err(damaged(path, &problem));
        }
        let place = serde_json::from_value(header["place"].take()).map_err(|e| damaged(path, &e.to_string()))?;
        let scores: Vec<String> = match header["scores"].take() {
            serde_json::Value::Null => Vec::new(),
            scores => serde_json::from_value(scores).map_err(|error| damaged(path, &error.to_string()))?,
        };
        let optimizer = OptimizerState::from_description(&header["optimizer"]);
        let optimizer = optimizer.map_err(|error| damaged(path, &error.to_string()))?;
        let settings = header["settings"].take();
        let (net, best, average) = (Vec::new(), Vec::new(), Vec::new());
        let mut checkpoint = Checkpoint { place, net, best, average, optimizer, settings };
        let place = &mut checkpoint.place;
        for (name, tensor) in tove_tensor::io::read_safetensors(path)? {
            match name.split_once('.') {
                Some(("net", name)) => checkpoint.net.push((name.to_owned(), tensor)),
                Some(("best", name)) => checkpoint.best.push((name.to_owned(), tensor)),
                Some(("average", name)) => checkpoint.average.push((name.to_owned(), tensor)),
                Some(("history", "losses")) => place.losses = tensor.try_to_vec::<f64>()?,
                Some(("history", "evaluations")) => {
                    place.history = evaluations(&tensor, &scores)
                        .ok_or_else(|| damaged(path, "has evaluations that do not fit its scores"))?;
                }
                Some(("optimizer", name)) => _ = checkpoint.optimizer.tensors.insert(name.to_owned(), tensor),
                _ => return Err(damaged(path, &format!("has an unknown tensor {name:?}"))),
            }
        }
        let Place { step, losses, evaluated, .. } = &checkpoint.place;
        if losses.len() as u64 != *step || *evaluated > losses.len() {
            let problem = format!("has {} losses for {step} steps", losses.len());
            return Err(damaged(path, &problem));
        }
        Ok(checkpoint)
    }
}
