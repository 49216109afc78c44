//! The record of a run: lines of JSON, TensorBoard events, and what a person sees while waiting.

use std::fs::OpenOptions;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::callback::Step;
use super::report::TrainingPoint;
use super::tensorboard::EventFile;
use crate::{Error, Result};

/// What a person sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// A bar on a terminal, a line per evaluation elsewhere.
    #[default]
    Auto,
    /// A line per evaluation.
    Lines,
    /// Nothing.
    Silent,
}

fn io_error(path: &Path, doing: &'static str, source: std::io::Error) -> Error {
    tove_tensor::io::FileError::Io { path: path.to_owned(), doing, source }.into()
}

/// All records of one run.
pub(super) struct Logs {
    json: Option<(PathBuf, BufWriter<std::fs::File>)>,
    events: Option<(PathBuf, EventFile)>,
    bar: Option<ProgressBar>,
    lines: bool,
}

impl Logs {
    /// Opens what is asked for. A log is continued, never overwritten.
    pub(super) fn open(
        json: Option<&Path>,
        events: Option<&Path>,
        progress: Progress,
        total_steps: u64,
        done: u64,
    ) -> Result<Logs> {
        let json = json.map(|path| {
            let file = OpenOptions::new().create(true).append(true).open(path);
            file.map(|file| (path.to_owned(), BufWriter::new(file))).map_err(|e| io_error(path, "open", e))
        });
        let events = events.map(|folder| {
            EventFile::create(folder).map(|file| (folder.to_owned(), file)).map_err(|e| io_error(folder, "create", e))
        });
        let terminal = std::io::stderr().is_terminal();
        let bar = (progress == Progress::Auto && terminal).then(|| bar(total_steps, done));
        let lines = progress == Progress::Lines || progress == Progress::Auto && !terminal;
        Ok(Logs { json: json.transpose()?, events: events.transpose()?, bar, lines })
    }

    fn write(&mut self, line: &Value) -> Result<()> {
        match &mut self.json {
            Some((path, file)) => writeln!(file, "{line}").map_err(|error| io_error(path, "write", error)),
            None => Ok(()),
        }
    }

    pub(super) fn start(&mut self, settings: Value) -> Result<()> {
        self.write(&settings)
    }

    pub(super) fn step(&mut self, step: &Step) -> Result<()> {
        if let Some(bar) = &self.bar {
            bar.set_position(step.step);
            if step.step.is_multiple_of(16) {
                bar.set_message(format!("epoch {} loss {:.4}", step.epoch, step.loss));
            }
        }
        if self.json.is_some() {
            let (epoch, at, loss, rate) = (step.epoch, step.step, step.loss, step.learning_rate);
            let mut line = json!({"event": "step", "epoch": epoch, "step": at, "loss": loss, "learning_rate": rate});
            if let Some(norm) = step.gradient_norm {
                line["gradient_norm"] = json!(norm);
            }
            self.write(&line)?;
        }
        if let Some((folder, events)) = &mut self.events {
            let numbers = [("train/loss", step.loss), ("train/learning_rate", step.learning_rate)];
            for (tag, value) in numbers {
                events.scalar(tag, step.step, value).map_err(|error| io_error(folder, "write", error))?;
            }
        }
        Ok(())
    }

    pub(super) fn evaluation(&mut self, evaluation: &TrainingPoint) -> Result<()> {
        if let Some(bar) = &self.bar {
            bar.println(evaluation.to_string());
        } else if self.lines {
            // Where nobody can be told, the training goes on.
            let _ = writeln!(std::io::stderr(), "{evaluation}");
        }
        let scores: serde_json::Map<String, Value> =
            evaluation.validation.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let TrainingPoint { epoch, step, train_loss, learning_rate, seconds, .. } = evaluation;
        self.write(&json!({
            "event": "evaluation", "epoch": epoch, "step": step, "train_loss": train_loss,
            "validation": scores, "learning_rate": learning_rate, "seconds": seconds,
        }))?;
        if let Some((folder, events)) = &mut self.events {
            for (name, value) in &evaluation.validation {
                let written = events.scalar(&format!("validation/{name}"), *step, *value);
                written.map_err(|error| io_error(folder, "write", error))?;
            }
        }
        self.flush()
    }

    pub(super) fn end(&mut self, ending: &impl serde::Serialize, steps: u64) -> Result<()> {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.write(&json!({"event": "end", "ending": ending, "steps": steps}))?;
        self.flush()
    }

    fn flush(&mut self) -> Result<()> {
        if let Some((path, file)) = &mut self.json {
            file.flush().map_err(|error| io_error(path, "write", error))?;
        }
        if let Some((folder, events)) = &mut self.events {
            events.flush().map_err(|error| io_error(folder, "write", error))?;
        }
        Ok(())
    }
}

fn bar(total: u64, done: u64) -> ProgressBar {
    let bar = ProgressBar::new(total).with_position(done);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} steps  {msg}  {per_sec}  {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
