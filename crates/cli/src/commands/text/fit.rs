//! `tove text fit`.

use std::time::Instant;

use serde_json::json;
use tove::data::text::read_text;
use tove::language::{ModelError, TextFit as Settings, TextTraining};
use tove::nn::{ModuleExt, Progress};

use super::page;
use crate::arguments::TextFit;
use crate::commands::training::{Files, Told, ending};
use crate::failure::Failure;
use crate::output::{Output, paragraph};

pub fn run(fit: &TextFit, output: &Output) -> Result<(), Failure> {
    let settings = settings(fit);
    settings.check()?;
    let training = settings.prepare(&read_text(&fit.file)?).map_err(|error| failed(fit, error))?;
    let ([train, validation, test], net) = (training.token_counts(), training.net());
    output.remark(format!(
        "{}: {train} train, {validation} validation and {test} test tokens, a vocabulary of {}; a GPT with {} parameters",
        fit.file.display(),
        net.config().vocabulary,
        net.count_parameters()
    ));
    let files = Files::begin(&fit.keeping, &[&fit.file])?;
    match work(fit, training, &files, output) {
        Ok((text, document, saved)) => {
            files.run.finish(document.clone(), saved)?;
            files.tell(output, text, document)
        }
        Err(failure) => {
            files.abandon();
            Err(failure)
        }
    }
}

/// A text that does not suit is named.
fn failed(fit: &TextFit, error: ModelError) -> Failure {
    match error {
        ModelError::Source(_) | ModelError::Unsuited { .. } => {
            Failure::work(format!("{}: {}", fit.file.display(), Failure::from(error)))
        }
        other => other.into(),
    }
}

fn settings(fit: &TextFit) -> Settings {
    Settings {
        tokens: fit.tokens.into(),
        vocabulary: fit.vocabulary,
        layers: fit.layers,
        heads: fit.heads,
        width: fit.width,
        context: fit.context,
        steps: fit.steps,
        batch: fit.batch,
        learning_rate: fit.learning_rate,
        test_size: fit.test_size,
        validation: fit.validation,
        seed: fit.seed,
    }
}

fn work(fit: &TextFit, training: TextTraining, files: &Files, output: &Output) -> Result<Told, Failure> {
    let start = Instant::now();
    let [train_tokens, validation_tokens, test_tokens] = training.token_counts();
    let progress = if output.is_quiet() { Progress::Silent } else { Progress::Auto };
    let mut outcome = training.run(&files.watch(progress))?;
    outcome.model.note("data", fit.file.display().to_string());
    let seconds = start.elapsed().as_secs_f64();
    let (model, test, report) = (&outcome.model, &outcome.test, &outcome.report);
    let uniform = (model.tokens().len() as f64).ln();
    let verdict = format!(
        "The GPT has a test loss of {:.4} nats per token (perplexity {:.2}, {:.4} nats per character) on the last {test_tokens} \
         tokens of the text; a uniform guess among {} tokens has {uniform:.4}.",
        test.loss,
        test.perplexity(),
        test.nats_per_character(),
        model.tokens().len()
    );
    model.save(&files.model, files.options)?;
    let evaluated = page::Evaluated { fit, outcome: &outcome, verdict: &verdict, seconds };
    let saved = page::of(&evaluated).and_then(|page| Ok(page.save(&files.page, files.options)?));
    let facts = model.facts();
    let mut document = json!({
        "file": fit.file.display().to_string(), "target": "next token", "task": "language model", "model": "gpt",
        "tokens": model.tokens().kind().name(), "vocabulary": model.tokens().len(),
        "parameters": model.net().count_parameters(), "seed": fit.seed, "steps": report.steps, "ending": report.ending,
        "best": facts["best"], "test": facts["scores"]["test"], "verdict": verdict, "train_rows": train_tokens,
        "validation_rows": validation_tokens, "test_rows": test_tokens, "seconds": seconds,
    });
    files.note(&mut document);
    let mut text = paragraph(&verdict);
    if output.is_verbose() {
        let [low, high] = outcome.interval;
        text.push_str(&format!("\n{}", paragraph(&format!(
            "The accuracy of the next token is {:.4}, with probability 95 % between {low:.4} and {high:.4} (Hoeffding's \
             inequality for {} windows).",
            test.accuracy, test.windows
        ))));
    }
    text.extend(ending(report).map(|note| format!("\n{note}\n")));
    text.push_str(&files.list(seconds));
    Ok((text, document, saved))
}
