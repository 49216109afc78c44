//! Shared parts of training on images and text: the folder of the run, the loss curve; checks of arguments.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tove::nn::{Ending, Progress, TrainingPoint, TrainingReport};
use tove::plot::LineChart;
use tove::tensor::io::WriteOptions;
use tove::vision::Watch;

use crate::arguments::Keeping;
use crate::failure::Failure;
use crate::files;
use crate::output::{Output, entries};
use crate::runs::Run;

/// The name of the record of losses in the folder of a run.
pub const LOSSES: &str = "losses.jsonl";

/// What a training says for people and for machines, and whether its report could be written.
pub type Told = (String, Value, Result<(), Failure>);

/// The files of a run.
pub struct Files {
    pub run: Run,
    pub model: PathBuf,
    pub page: PathBuf,
    pub losses: PathBuf,
    pub options: WriteOptions,
}

impl Files {
    /// Takes a number and a folder for the run, when nothing would be written over.
    pub fn begin(keeping: &Keeping, inputs: &[&Path]) -> Result<Files, Failure> {
        files::differ(&[keeping.output.as_ref(), keeping.report.as_ref()])?;
        for path in [&keeping.output, &keeping.report].into_iter().flatten() {
            files::may_write(path, keeping.overwrite, inputs)?;
        }
        let run = Run::begin(&keeping.runs)?;
        let inside = |given: &Option<PathBuf>, name: &str| given.clone().unwrap_or_else(|| run.folder.join(name));
        Ok(Files {
            model: inside(&keeping.output, "model.tove"),
            page: inside(&keeping.report, "report.html"),
            losses: run.folder.join(LOSSES),
            options: WriteOptions { overwrite: keeping.overwrite, ..WriteOptions::default() },
            run,
        })
    }

    /// How the training is watched: losses in the folder of the run, Ctrl-C ends it.
    pub fn watch(&self, progress: Progress) -> Watch {
        Watch { log: Some(self.losses.clone()), progress, interruptible: true }
    }

    /// Removes what a run that came to nothing left in its folder. A trained net stays, whatever failed after it.
    pub fn abandon(self) {
        if self.model.exists() {
            return;
        }
        let _ = std::fs::remove_file(&self.losses); // there may be none yet
        self.run.abandon();
    }

    /// The files of the run, for people.
    pub fn list(&self, seconds: f64) -> String {
        let place = [
            ("run", format!("{} ({seconds:.1} s)", self.run.number)),
            ("model", self.model.display().to_string()),
            ("report", self.page.display().to_string()),
            ("losses", self.losses.display().to_string()),
        ];
        format!("\n{}", entries(&place))
    }

    /// Prints the result: to standard error if the model or the report went to standard output, where it must not come between the
    /// bytes of the file.
    pub fn tell(&self, output: &Output, text: String, document: Value) -> Result<(), Failure> {
        if files::is_stdout(&self.model) || files::is_stdout(&self.page) {
            output.remark(text);
            return Ok(());
        }
        output.result(|| text, || document)
    }

    /// Adds where everything went to the document of the run.
    pub fn note(&self, document: &mut Value) {
        document["model_file"] = json!(self.model.display().to_string());
        document["report"] = json!(self.page.display().to_string());
        document["losses"] = json!(self.losses.display().to_string());
    }
}

/// Checks that a fraction lies between 0 and 1.
pub fn share(name: &str, value: f64) -> Result<f64, Failure> {
    let fine = value > 0.0 && value < 1.0;
    fine.then_some(value).ok_or_else(|| Failure::usage(format!("--{name} {value}: give a fraction between 0 and 1")))
}

/// Checks that a number is positive.
pub fn positive(name: &str, value: f64) -> Result<f64, Failure> {
    let fine = value > 0.0 && value.is_finite();
    fine.then_some(value).ok_or_else(|| Failure::usage(format!("--{name} {value}: give a positive number")))
}

/// Training and validation loss by epoch, or by step where there are several evaluations in an epoch or none; nothing, if the run
/// ended before the first step. The lowest validation loss is marked.
pub fn curve(report: &TrainingReport) -> Option<LineChart> {
    if report.history.is_empty() {
        let steps: Vec<f64> = (1..=report.losses.len()).map(|step| step as f64).collect();
        let chart = LineChart::new().series("train", &steps, &report.losses).x_label("step").y_label("loss");
        return (!steps.is_empty()).then(|| chart.title("Loss"));
    }
    let train: Vec<f64> = report.history.iter().map(|evaluation| evaluation.train_loss).collect();
    let loss = |scores: &[(String, f64)]| scores.iter().find(|(name, _)| name == "loss").map(|&(_, value)| value);
    let validation: Vec<f64> = report.history.iter().filter_map(|evaluation| loss(&evaluation.validation)).collect();
    let by_epoch = report.history.windows(2).all(|pair| pair[0].epoch < pair[1].epoch);
    let place = |evaluation: &TrainingPoint| if by_epoch { evaluation.epoch as f64 } else { evaluation.step as f64 };
    let places: Vec<f64> = report.history.iter().map(place).collect();
    let mut chart = LineChart::new().series("train", &places, &train).title("Loss").y_label("loss");
    chart = chart.x_label(if by_epoch { "epoch" } else { "step" });
    if validation.len() == places.len() {
        chart = chart.series("validation", &places, &validation);
        let known = places.iter().zip(&validation).filter(|(_, loss)| loss.is_finite());
        chart =
            known.min_by(|a, b| a.1.total_cmp(b.1)).into_iter().fold(chart, |chart, (at, _)| chart.mark_x("best", *at));
    }
    Some(chart)
}

/// A note for runs that did not end as planned.
pub fn ending(report: &TrainingReport) -> Option<String> {
    (report.ending == Ending::Interrupted).then(|| format!("Interrupted after {} steps.", report.steps))
}
