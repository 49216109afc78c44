//! `tove words fit`.

use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tove::data::text::read_text;
use tove::learn::Stop;
use tove::learn::words::AnalogyScores;
use tove::nn::interrupt_flag;
use tove::tensor::io::WriteOptions;
use tove::words::{TextUnit, WordFit, WordMethod, WordModel, WordOutcome};

use super::{page, questions, score_document, score_sentence};
use crate::arguments::{WordsFit, WordsMethod, WordsUnit};
use crate::failure::Failure;
use crate::files;
use crate::output::{Output, entries, paragraph, table};

/// Steps of the progress bar.
const STEPS: u64 = 1000;
/// Words whose neighbors are shown, and how many neighbors.
const SHOWN: usize = 6;
const NEIGHBORS: usize = 6;

/// What was fitted, for people and for machines.
pub struct Fitted<'a> {
    pub fit: &'a WordsFit,
    pub outcome: &'a WordOutcome,
    pub scores: Option<AnalogyScores>,
    /// Words with their neighbors.
    pub examples: Vec<(String, String)>,
}

pub fn run(fit: &WordsFit, output: &Output) -> Result<(), Failure> {
    let plan = plan(fit)?;
    let mut inputs: Vec<&Path> = fit.files.iter().map(AsRef::as_ref).collect();
    inputs.extend(fit.questions.as_deref());
    files::read_once(&inputs)?;
    files::differ(&[Some(&fit.output), fit.report.as_ref()])?;
    files::model_name(&fit.output)?;
    for path in [Some(&fit.output), fit.report.as_ref()].into_iter().flatten() {
        files::may_write(path, fit.overwrite, &inputs)?;
    }
    let questions = fit.questions.as_deref().map(questions).transpose()?;
    let unit = match fit.texts {
        WordsUnit::Line => TextUnit::Line,
        WordsUnit::Paragraph => TextUnit::Paragraph,
        WordsUnit::File => TextUnit::File,
    };
    let contents = fit.files.iter().map(read_text).collect::<Result<Vec<String>, _>>()?;
    let texts: Vec<&str> = contents.iter().flat_map(|content| unit.split(content)).collect();
    tove::optim::interrupt_on(interrupt_flag()?);
    let bar = progress(output);
    let outcome = plan.fit(&texts, &mut |done| bar.set_position((done * STEPS as f64) as u64));
    bar.finish_and_clear();
    let mut outcome = outcome.map_err(|error| Failure::work(format!("{}: {error}", names(fit))))?;
    let scores = questions.map(|questions| outcome.judge(&questions)).transpose()?;
    if let Some(scores) = &scores {
        outcome.model.note("analogies", score_document(scores));
    }
    outcome.model.note("data", names(fit));
    let options = WriteOptions { overwrite: fit.overwrite, ..WriteOptions::default() };
    outcome.model.save(&fit.output, options)?;
    if WordModel::foreign(&fit.output).is_some() && outcome.model.has_subwords() {
        output.remark("the vectors of n-grams, which unseen words need, are not in the file: its format has none");
    }
    let examples = examples(&outcome.model);
    let fitted = Fitted { fit, outcome: &outcome, scores, examples };
    let told = || text(&fitted);
    if let Some(path) = &fit.report {
        page::of(&fitted)?.save(path, options)?;
    }
    if [Some(&fit.output), fit.report.as_ref()].into_iter().flatten().any(|path| files::is_stdout(path)) {
        // The words must not come between the bytes of the file.
        output.remark(told());
    } else {
        output.result(told, || document(&fitted))?;
    }
    match outcome.model.vectors().summary().stop {
        Some(Stop::Interrupted) => {
            let place = fit.output.display();
            Err(Failure::interrupted(format!("interrupted; the vectors so far are in {place}")))
        }
        _ => Ok(()),
    }
}

/// The method with the settings of the command line.
fn plan(fit: &WordsFit) -> Result<WordFit, Failure> {
    let mut plan = WordFit::new(match fit.method {
        WordsMethod::SkipGram => WordMethod::SkipGram,
        WordsMethod::Cbow => WordMethod::Cbow,
        WordsMethod::Glove => WordMethod::GloVe,
        WordsMethod::Fasttext => WordMethod::FastText,
    });
    let settings = plan.settings();
    settings.set("seed", fit.seed.into()).map_err(Failure::usage)?;
    for (name, value) in &fit.settings {
        settings.parse(name, value).map_err(Failure::usage)?;
    }
    settings.validate().map_err(Failure::usage)?;
    match fit.phrases {
        None => Ok(plan),
        Some(threshold) if threshold >= 0.0 && threshold.is_finite() => Ok(plan.phrases(threshold)),
        Some(threshold) => {
            Err(Failure::usage(format!("--phrases {threshold}: give a number of at least 0, such as 10")))
        }
    }
}

fn progress(output: &Output) -> ProgressBar {
    if output.is_quiet() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} training {bar:30} {percent} % {elapsed}, {eta} left");
    ProgressBar::new(STEPS).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// The files that were read.
pub fn names(fit: &WordsFit) -> String {
    let name = |path: &std::path::PathBuf| match path.as_os_str() == "-" {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    };
    fit.files.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// Words that say something of their texts, neither the most frequent nor rare, with their neighbors.
fn examples(model: &WordModel) -> Vec<(String, String)> {
    let words = model.vectors().words();
    let long: Vec<&String> = words.iter().skip(words.len() / 100).filter(|word| word.chars().count() > 3).collect();
    let step = (long.len() / 50).clamp(1, 20);
    let shown = long.into_iter().step_by(step).take(SHOWN);
    let listed = |word: &String| {
        let list = model.nearest(word, NEIGHBORS).ok()?;
        Some((word.clone(), list.into_iter().map(|one| one.word).collect::<Vec<_>>().join(", ")))
    };
    shown.filter_map(listed).collect()
}

/// What was learned, in a sentence or two.
pub fn verdict(fitted: &Fitted<'_>) -> String {
    let WordOutcome { model, texts, words, phrases, .. } = fitted.outcome;
    let joined = if phrases.is_empty() { String::new() } else { format!(" after joining {} phrases", phrases.len()) };
    let head = format!("{} of {words} words in {texts} texts{joined}.", super::about(model));
    match &fitted.scores {
        Some(scores) => format!("{head} {}", score_sentence(scores)),
        None => head,
    }
}

fn text(fitted: &Fitted<'_>) -> String {
    let mut text = paragraph(&verdict(fitted));
    let mut rows = vec![["word", "nearest"].map(str::to_owned).to_vec()];
    rows.extend(fitted.examples.iter().map(|(word, list)| vec![word.clone(), list.clone()]));
    if rows.len() > 1 {
        text.push_str(&format!("\n{}", table(&rows)));
    }
    let mut files = vec![("vectors", fitted.fit.output.display().to_string())];
    files.extend(fitted.fit.report.iter().map(|path| ("report", path.display().to_string())));
    text.push_str(&format!("\n{}", entries(&files)));
    text
}

fn document(fitted: &Fitted<'_>) -> Value {
    let Fitted { fit, outcome, .. } = fitted;
    let (model, summary) = (&outcome.model, outcome.model.vectors().summary());
    let examples: serde_json::Map<String, Value> = fitted
        .examples
        .iter()
        .map(|(word, list)| (word.clone(), json!(list.split(", ").collect::<Vec<_>>())))
        .collect();
    let phrases: &[String] = &outcome.phrases;
    json!({
        "files": fit.files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        "model": model.method(), "settings": model.vectors().settings()["settings"], "texts": outcome.texts,
        "words": outcome.words, "vocabulary": model.vectors().words().len(), "dimension": model.vectors().dimension(),
        "phrases": phrases, "curve": summary.curve, "converged": summary.converged, "nearest": examples,
        "analogies": fitted.scores.as_ref().map(score_document), "verdict": verdict(fitted), "warnings": summary.warnings,
        "seed": fit.seed, "seconds": outcome.seconds, "model_file": fit.output.display().to_string(),
        "report": fit.report.as_ref().map(|path| path.display().to_string()),
    })
}
