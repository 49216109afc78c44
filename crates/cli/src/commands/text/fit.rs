//! `tove text fit`.

use std::time::Instant;

use serde_json::json;
use tove::data::text::{Bpe, read_text};
use tove::data::{CharVocabulary, Dataset, TextWindows};
use tove::nn::{Classification, Gpt, GptConfig, ModuleExt, Progress, Report, Rng, Trainer, evaluate};
use tove::optim::{AdamW, Group, Schedule, bias_or_norm};
use tove::tensor::Tensor;

use super::model::{TextModel, Tokens};
use super::page;
use crate::arguments::{TextFit, TokenKind};
use crate::commands::training::{Files, Told, best, count, ending, positive, share};
use crate::failure::Failure;
use crate::output::{Output, paragraph};

/// The parts of a text, as tokens.
struct Parts {
    tokens: Tokens,
    train: TextWindows,
    /// The validation part, if it is long enough.
    validation: Option<TextWindows>,
    test: TextWindows,
    /// The first tokens of the test part, for the report.
    beginning: Tensor,
    train_count: usize,
    validation_count: usize,
    test_count: usize,
    /// Characters per token in the test part.
    characters: f64,
}

pub fn run(fit: &TextFit, output: &Output) -> Result<(), Failure> {
    let config = check(fit)?;
    let parts = parts(fit)?;
    let config = GptConfig { vocabulary: parts.tokens.len(), ..config };
    let net = Gpt::new(&config, &mut Rng::new(fit.seed)).map_err(Failure::usage)?;
    output.remark(format!(
        "{}: {} train, {} validation and {} test tokens, a vocabulary of {}; a GPT with {} parameters",
        fit.file.display(),
        parts.train_count,
        parts.validation_count,
        parts.test_count,
        config.vocabulary,
        net.count_parameters()
    ));
    let files = Files::begin(&fit.keeping, &[&fit.file])?;
    match work(fit, net, parts, &files, output) {
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

fn check(fit: &TextFit) -> Result<GptConfig, Failure> {
    share("test-size", fit.test_size)?;
    if fit.validation != 0.0 {
        share("validation", fit.validation)?;
    }
    positive("learning-rate", fit.learning_rate)?;
    count("steps", usize::try_from(fit.steps).unwrap_or(usize::MAX), 1 << 30)?;
    count("batch", fit.batch, 1 << 16)?;
    let (layers, heads) = (count("layers", fit.layers, 1000)?, count("heads", fit.heads, 1000)?);
    let (width, context) = (count("width", fit.width, 1 << 14)?, count("context", fit.context, 1 << 16)?);
    if !width.is_multiple_of(heads) {
        return Err(Failure::usage(format!("--width {width}: give a multiple of the {heads} heads")));
    }
    Ok(GptConfig { layers, heads, width, hidden: 4 * width, context, ..GptConfig::default() })
}

/// Reads the text; its end is the test part, what comes before that the validation part. Tokens are learned from the training part
/// only, characters are those of the whole text.
fn parts(fit: &TextFit) -> Result<Parts, Failure> {
    let text = read_text(&fit.file)?;
    if text.is_empty() {
        return Err(Failure::work(format!("{}: the text is empty", fit.file.display())));
    }
    let characters = text.chars().count();
    let kept = ((characters as f64) * (1.0 - fit.test_size)).round() as usize;
    let learned = ((kept as f64) * (1.0 - fit.validation)).round() as usize;
    let place = |count: usize| text.char_indices().nth(count).map_or(text.len(), |(place, _)| place);
    let (start, middle, end) = (&text[..place(learned)], &text[place(learned)..place(kept)], &text[place(kept)..]);
    let short = |part: &str, count: usize| {
        Failure::work(format!(
            "{}: the {part} of the text is {count} tokens long, and a window takes {}; give a longer text or a smaller \
             --context",
            fit.file.display(),
            fit.context + 1
        ))
    };
    if start.is_empty() || end.is_empty() {
        return Err(short(if start.is_empty() { "beginning" } else { "end" }, 0));
    }
    let tokens = match fit.tokens {
        TokenKind::Characters => Tokens::Characters(Box::new(CharVocabulary::from_text(&text)?)),
        TokenKind::Bpe => Tokens::Bpe(Box::new(Bpe::train(start, fit.vocabulary).map_err(Failure::usage)?)),
    };
    let (train, test) = (tokens.encode(start)?, tokens.encode(end)?);
    for (part, tokens) in [("beginning", &train), ("end", &test)] {
        if tokens.numel() <= fit.context {
            return Err(short(part, tokens.numel()));
        }
    }
    // A middle too short for a window is left out.
    let validation = if middle.is_empty() { None } else { Some(tokens.encode(middle)?) };
    let validation = validation.filter(|part| part.numel() > fit.context);
    // Windows are at random positions, new ones in every epoch, so the number matters for the memory of their order only.
    let windows = fit.steps.min(1000) as usize * fit.batch;
    Ok(Parts {
        train: TextWindows::random(&train, fit.context, windows)?,
        validation: validation.as_ref().map(|part| TextWindows::consecutive(part, fit.context)).transpose()?,
        test: TextWindows::consecutive(&test, fit.context)?,
        beginning: test.narrow(0, 0, fit.context.min(page::ATTENDED)).contiguous(),
        train_count: train.numel(),
        validation_count: validation.as_ref().map_or(0, Tensor::numel),
        test_count: test.numel(),
        characters: (characters - kept) as f64 / test.numel() as f64,
        tokens,
    })
}

fn train_net(fit: &TextFit, net: &mut Gpt, parts: &Parts, files: &Files, output: &Output) -> Result<Report, Failure> {
    let names: Vec<String> = net.named_parameters().into_iter().map(|(name, _)| name).collect();
    let no_decay = Group::matching(&names, bias_or_norm).weight_decay(0.0);
    let adam = AdamW::new(fit.learning_rate).with(|settings| settings.beta2(0.99).weight_decay(0.1));
    let adam = adam.groups(&[no_decay]).map_err(Failure::work)?;
    let warm = (fit.steps / 20).clamp(1, 100);
    let schedule = Schedule::Cosine { steps: fit.steps.saturating_sub(warm).max(1), floor: 0.1 }.after_warm_up(warm);
    let progress = if output.is_quiet() { Progress::Silent } else { Progress::Auto };
    let mut trainer = Trainer::new(adam)
        .steps(fit.steps)
        .batch_size(fit.batch)
        .clip_norm(1.0)
        .schedule(schedule)
        .evaluate_every(evaluate_every(fit))
        .seed(fit.seed)
        .log(&files.losses)
        .progress(progress)
        .interruptible()?;
    let validation = parts.validation.as_ref().map(|part| part as &dyn Dataset);
    if validation.is_some() {
        trainer = trainer.keep_best();
    }
    Ok(trainer.fit(net, &Classification::new(), &parts.train, validation)?)
}

/// Steps between two evaluations: ten in all, more in long runs.
fn evaluate_every(fit: &TextFit) -> u64 {
    (fit.steps / 10).clamp(1, 500)
}

fn work(fit: &TextFit, mut net: Gpt, parts: Parts, files: &Files, output: &Output) -> Result<Told, Failure> {
    let start = Instant::now();
    let report = train_net(fit, &mut net, &parts, files, output)?;
    let scores = evaluate(&net, &Classification::new(), &parts.test, 64)?;
    let find = |name: &str| scores.iter().find(|score| score.name == name).map_or(f64::NAN, |score| score.value);
    let (loss, right) = (find("loss"), find("accuracy"));
    let nats = loss / parts.characters;
    let seconds = start.elapsed().as_secs_f64();
    let tokens = if fit.tokens == TokenKind::Bpe { "bpe" } else { "characters" };
    // Tokens of a window are dependent; windows are treated as independent.
    let (windows, spread) = (parts.test.len(), tove::metrics::hoeffding(parts.test.len() as f64, 1.0, 0.05));
    let interval = [(right - spread).max(0.0), (right + spread).min(1.0)];
    let test = json!({
        "loss": {"value": loss}, "accuracy": {"value": right, "interval": interval, "n": windows}, "nats per character": {"value": nats},
    });
    let facts = json!({
        "data": fit.file.display().to_string(), "seed": fit.seed, "steps": report.steps, "batch": fit.batch,
        "learning_rate": fit.learning_rate, "best": best(&report), "scores": {"test": test},
    });
    let model = TextModel { net, tokens: parts.tokens, facts };
    let uniform = (model.tokens.len() as f64).ln();
    let verdict = format!(
        "The GPT has a test loss of {loss:.4} nats per token (perplexity {:.2}, {nats:.4} nats per character) on the last {} \
         tokens of the text; a uniform guess among {} tokens has {uniform:.4}.",
        loss.exp(),
        parts.test_count,
        model.tokens.len()
    );
    model.save(&files.model, files.options)?;
    let evaluated = page::Evaluated {
        fit,
        model: &model,
        report: &report,
        verdict: &verdict,
        beginning: &parts.beginning,
        seconds,
    };
    let saved = page::of(&evaluated).and_then(|page| Ok(page.save(&files.page, files.options)?));
    let mut document = json!({
        "file": fit.file.display().to_string(), "target": "next token", "task": "language model", "model": "gpt",
        "tokens": tokens, "vocabulary": model.tokens.len(), "parameters": model.net.count_parameters(),
        "seed": fit.seed, "steps": report.steps, "ending": report.ending, "best": best(&report), "test": test,
        "verdict": verdict,
        "train_rows": parts.train_count, "validation_rows": parts.validation_count, "test_rows": parts.test_count, "seconds": seconds,
    });
    files.note(&mut document);
    let mut text = paragraph(&verdict);
    if output.is_verbose() {
        let [low, high] = interval;
        text.push_str(&format!("\n{}", paragraph(&format!(
            "The accuracy of the next token is {right:.4}, with probability 95 % between {low:.4} and {high:.4} (Hoeffding's \
             inequality for {windows} windows)."
        ))));
    }
    text.extend(ending(&report).map(|note| format!("\n{note}\n")));
    text.push_str(&files.list(seconds));
    Ok((text, document, saved))
}
