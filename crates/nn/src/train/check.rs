//! What is asked of settings, data and net before a run begins.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;

use tove_data::Dataset;
use tove_optim::same_leaves;
use tove_tensor::Tensor;
use tove_tensor::io::atomic;

use super::Trainer;
use crate::{Error, Module, ModuleExt, Result};

impl Trainer<'_> {
    pub(super) fn check<D: Dataset + ?Sized>(&self, train: &D, validation: Option<&dyn Dataset>) -> Result<()> {
        let wrong = |name, problem: &str| Err(Error::setting("Trainer", name, problem));
        if self.optimizer.needs_loss() && (self.clip_norm.is_some() || self.clip_value.is_some()) {
            let problem = "does not go with an optimiser that searches along a line: it needs the gradient as it is; \
                           leave the clipping out, or take Adam";
            return wrong("clip", problem);
        }
        if let Some(schedule) = &self.schedule {
            schedule.validate().map_err(tove_tensor::Error::from)?;
        }
        if train.is_empty() {
            return wrong("training set", "is empty; there is nothing to learn from");
        }
        if validation.is_some_and(|set| set.is_empty()) {
            return wrong("validation set", "is empty; leave it out or give it samples");
        }
        if self.batch_size == 0 || self.evaluation_batch == 0 {
            return wrong("batch_size", "is 0; a batch needs at least one sample");
        }
        if self.accumulate == 0 {
            return wrong("accumulate", "is 0; a step needs at least one batch");
        }
        if self.accumulate > 1 && self.optimizer.needs_loss() {
            return wrong("accumulate", "is for mini-batches; this optimiser takes the whole set in every step anyway");
        }
        if self.drop_last && train.len() < self.batch_size {
            return wrong("drop_last", "leaves no batch at all: the set is smaller than one; take smaller batches");
        }
        if self.evaluate_every == Some(0) || self.checkpoint_every == Some(0) {
            return wrong("evaluate_every", "is 0 steps; give at least 1");
        }
        let positive = |limit: Option<f64>| limit.is_none_or(|limit| limit > 0.0);
        if !positive(self.clip_norm) || !positive(self.clip_value) {
            return wrong("clip", "must be positive");
        }
        if self.patience.as_ref().is_some_and(|patience| !(patience.margin >= 0.0 && patience.margin.is_finite())) {
            return wrong("early_stopping", "has a margin that is negative or not finite; give 0 or more");
        }
        if self.average.is_some_and(|decay| !(0.0..1.0).contains(&decay)) {
            return wrong("average_weights", "has a decay outside [0, 1); 0.999 looks back on a thousand steps");
        }
        if (self.patience.is_some() || self.restore_best) && validation.is_none() {
            return wrong("early_stopping", "needs a validation set to watch");
        }
        self.checkpoint.as_deref().map_or(Ok(()), writable)
    }
}

/// That the checkpoint can be written, before hours have gone into it; leftovers of killed runs beside it are removed.
fn writable(path: &Path) -> Result<()> {
    let wrong = |problem: String| Err(Error::setting("Trainer", "checkpoint", problem));
    let shown = path.display();
    let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
        return wrong(format!("{shown} is a folder; give the name of a file in it"));
    };
    // A link is followed: what it names is replaced.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return wrong(format!("{shown}: there is no folder {}; create it first", folder.display()));
    }
    atomic::sweep(folder);
    // A name that a sweep knows, should the program be killed just here.
    let mut trial = std::ffi::OsString::from(".");
    trial.push(name);
    trial.push(format!(".{}-0.tove.tmp", std::process::id()));
    let trial = folder.join(trial);
    match OpenOptions::new().write(true).create_new(true).open(&trial) {
        Ok(_) => _ = std::fs::remove_file(&trial),
        // Another fit of this process tries the same.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return wrong(format!("{shown} cannot be written: {error}")),
    }
    Ok(())
}

/// That there is something to train, and that no tensor is there twice: a step would move one of the two and leave the other.
pub(super) fn trained(net: &impl Module) -> Result<()> {
    let named = net.named_parameters();
    if !named.iter().any(|(_, parameter)| parameter.is_tracked()) {
        let problem = match named.len() {
            0 => "has no parameters; there is nothing to train".to_owned(),
            count => format!("has {count} parameters, and all are frozen; `unfreeze` some"),
        };
        return Err(Error::setting("Trainer", "net", problem));
    }
    let parameters: Vec<&Tensor> = named.iter().map(|(_, parameter)| *parameter).collect();
    if let Some((first, second)) = same_leaves(&parameters) {
        let problem = format!(
            "has one tensor under two names, {:?} and {:?}, and a step would move only one of them; keep it in one place \
             and use it twice in `forward`, or give the copy a leaf of its own with `detach().requires_grad()`",
            named[first].0, named[second].0
        );
        return Err(Error::setting("Trainer", "net", problem));
    }
    Ok(())
}
