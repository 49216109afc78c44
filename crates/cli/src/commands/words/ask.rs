//! Questions to word vectors, and their files.

use serde_json::json;
use tove::learn::LearnError;
use tove::tensor::io::WriteOptions;
use tove::words::WordModel;

use super::{load, neighbor_table, neighbors, questions, score_document, score_rows, score_sentence};
use crate::arguments::{WordsAnalogy, WordsConvert, WordsNearest};
use crate::failure::Failure;
use crate::files;
use crate::output::{Output, paragraph, table};

/// A word without a vector is a mistake of the call.
fn asked<T>(answer: Result<T, LearnError>) -> Result<T, Failure> {
    answer.map_err(|error| match error {
        LearnError::Data { .. } | LearnError::Parameter { .. } => Failure::usage(error),
        other => other.into(),
    })
}

fn at_least_one(k: usize) -> Result<(), Failure> {
    if k == 0 { Err(Failure::usage("--k 0: give at least 1")) } else { Ok(()) }
}

pub fn nearest(nearest: &WordsNearest, output: &Output) -> Result<(), Failure> {
    at_least_one(nearest.k)?;
    let list = asked(load(&nearest.model)?.nearest(&nearest.word, nearest.k))?;
    output.result(|| neighbor_table(&list), || json!({"word": nearest.word, "nearest": neighbors(&list)}))
}

pub fn analogy(analogy: &WordsAnalogy, output: &Output) -> Result<(), Failure> {
    at_least_one(analogy.k)?;
    if let Some(path) = &analogy.questions {
        files::read_once(&[&analogy.model, path])?;
        let scores = load(&analogy.model)?.vectors().evaluate_analogies(&questions(path)?)?;
        return output.result(
            || format!("{}\n{}", paragraph(&score_sentence(&scores)), table(&score_rows(&scores))),
            || score_document(&scores),
        );
    }
    let [a, b, c] = &analogy.words[..] else { return Err(Failure::usage("give three words A B C")) };
    let list = asked(load(&analogy.model)?.analogy(a, b, c, analogy.k))?;
    output.result(
        || format!("{a} is to {b} as {c} is to\n\n{}", neighbor_table(&list)),
        || json!({"a": a, "b": b, "c": c, "answers": neighbors(&list)}),
    )
}

pub fn convert(convert: &WordsConvert, output: &Output) -> Result<(), Failure> {
    files::may_write(&convert.output, convert.overwrite, &[&convert.model])?;
    let model = load(&convert.model)?;
    let options = WriteOptions { overwrite: convert.overwrite, ..WriteOptions::default() };
    model.save(&convert.output, options)?;
    if WordModel::foreign(&convert.output).is_some() && model.has_subwords() {
        output.remark("the vectors of n-grams, which unseen words need, are not in the file: its format has none");
    }
    let (shown, about) = (convert.output.display().to_string(), super::about(&model));
    if files::is_stdout(&convert.output) {
        output.remark(format!("{about}: {shown}"));
        return Ok(());
    }
    let vectors = model.vectors();
    output.result(
        || format!("{about}: {shown}\n"),
        || json!({"vocabulary": vectors.words().len(), "dimension": vectors.dimension(), "file": shown}),
    )
}
