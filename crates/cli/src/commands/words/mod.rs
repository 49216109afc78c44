//! `tove words`: vectors of words from texts.

mod ask;
mod fit;
mod page;

use std::path::Path;

use serde_json::{Value, json};
use tove::learn::words::{AnalogyQuestions, AnalogyScores, Neighbor};
use tove::words::WordModel;

use crate::arguments::{Words, WordsAction};
use crate::failure::Failure;
use crate::models;
use crate::output::{Output, table};

pub fn run(words: &Words, output: &Output) -> Result<(), Failure> {
    match &words.action {
        WordsAction::Fit(fit) => fit::run(fit, output),
        WordsAction::Nearest(nearest) => ask::nearest(nearest, output),
        WordsAction::Analogy(analogy) => ask::analogy(analogy, output),
        WordsAction::Convert(convert) => ask::convert(convert, output),
    }
}

/// The word vectors of a file of any format.
fn load(path: &Path) -> Result<WordModel, Failure> {
    if WordModel::foreign(path).is_some() {
        return Ok(WordModel::load(path)?);
    }
    match models::AnyModel::load(path)? {
        models::AnyModel::Words(model) => Ok(*model),
        other => Err(Failure::usage(format!(
            "{path} holds {}, not word vectors; give a file that `tove words fit` wrote",
            other.what(),
            path = path.display()
        ))),
    }
}

/// Analogy questions of a file.
fn questions(path: &Path) -> Result<AnalogyQuestions, Failure> {
    let text = tove::data::text::read_text(path)?;
    let failed = |problem: String| Failure::work(format!("{}: {problem}", path.display()));
    let questions = AnalogyQuestions::parse(&text).map_err(|error| failed(error.to_string()))?;
    if questions.sections.iter().all(|(_, questions)| questions.is_empty()) {
        return Err(failed("there are no analogy questions; give a line with four words for each".to_owned()));
    }
    Ok(questions)
}

/// What the vectors are, in a few words.
pub fn about(model: &WordModel) -> String {
    let vectors = model.vectors();
    format!("{} vectors of length {} by {}", vectors.words().len(), vectors.dimension(), model.method())
}

fn neighbor_table(list: &[Neighbor]) -> String {
    let mut rows = vec![["similarity", "word"].map(str::to_owned).to_vec()];
    rows.extend(list.iter().map(|one| vec![format!("{:.3}", one.similarity), one.word.clone()]));
    table(&rows)
}

/// Neighbors as JSON.
pub fn neighbors(list: &[Neighbor]) -> Value {
    list.iter().map(|one| json!({"word": one.word, "similarity": one.similarity})).collect()
}

fn score_rows(scores: &AnalogyScores) -> Vec<Vec<String>> {
    let mut rows = vec![["section", "right", "questions", "with unknown words"].map(str::to_owned).to_vec()];
    for one in &scores.sections {
        let counts = [one.correct, one.total, one.skipped].map(|count| count.to_string());
        rows.push([vec![one.name.clone()], counts.to_vec()].concat());
    }
    rows
}

fn score_sentence(scores: &AnalogyScores) -> String {
    let sum = |part: fn(&tove::learn::words::AnalogySection) -> usize| scores.sections.iter().map(part).sum::<usize>();
    let (correct, total, skipped) = (sum(|one| one.correct), sum(|one| one.total), sum(|one| one.skipped));
    match scores.accuracy() {
        Some(share) => format!(
            "Of {total} analogy questions {correct} are answered right ({:.1} %); {skipped} more have unknown words.",
            100.0 * share
        ),
        None => format!("All {skipped} analogy questions have unknown words."),
    }
}

fn score_document(scores: &AnalogyScores) -> Value {
    let section = |one: &tove::learn::words::AnalogySection| json!({"name": one.name, "correct": one.correct, "total": one.total, "skipped": one.skipped});
    json!({"accuracy": scores.accuracy(), "sections": scores.sections.iter().map(section).collect::<Vec<_>>()})
}
