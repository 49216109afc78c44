//! The report of a language model.

use tove::language::{TextModel, TextOutcome, Tokens};
use tove::nn::{ModuleExt, Sampling};
use tove::plot::{HeatMap, Report as Page};
use tove::tensor::{Key, Tensor};

use crate::arguments::TextFit;
use crate::commands::training::{curve, ending};
use crate::failure::Failure;

/// Tokens in the picture of the attention.
const ATTENDED: usize = 32;
/// Rows of the picture that do not set its scale.
const EARLY: usize = 4;
/// Letters in a line of a sample.
const LINE: usize = 100;
/// Tokens of each sample.
const WRITTEN: usize = 200;
/// What the samples are drawn with.
const TEMPERATURES: [f64; 3] = [0.5, 0.8, 1.0];

/// An evaluated language model.
pub struct Evaluated<'a> {
    pub fit: &'a TextFit,
    pub outcome: &'a TextOutcome,
    pub verdict: &'a str,
    pub seconds: f64,
}

/// The report: losses, generated text, attention.
pub fn of(evaluated: &Evaluated<'_>) -> Result<Page, Failure> {
    let Evaluated { fit, outcome, .. } = evaluated;
    let (model, report) = (&outcome.model, &outcome.report);
    let mut page = Page::new(format!("Language model of {}", fit.file.display()))
        .subtitle(format!("GPT by tove {}", env!("CARGO_PKG_VERSION")))
        .card("Parameters", model.net().count_parameters().to_string())
        .card("Tokens", model.tokens().len().to_string())
        .section("Training")
        .text(evaluated.verdict);
    if let Some(chart) = curve(report) {
        page = page.picture_or_reason(&chart);
    }
    if let Some((loss, step)) = report.best {
        page = page.text(format!(
            "The weights with the lowest validation loss were kept: {loss:.4}, at step {step} of {}. The validation part is the end \
             of the training text.",
            report.steps
        ));
    }
    if let Some(note) = ending(report) {
        page = page.text(note);
    }
    page = samples(page.section("Generated text"), model, fit.seed)?;
    let shown = model.net().config().context.min(ATTENDED);
    let beginning = outcome.test_tokens.narrow(0, 0, shown).contiguous();
    page = attention(page.section("Attention"), model, &beginning)?;
    let settings = format!("{:#}", model.facts());
    page = page.section("Details").text(format!("Seed {}. {:.1} seconds.", fit.seed, evaluated.seconds));
    Ok(page.details("Settings", |body| Ok(body.preformatted(&settings)))?)
}

/// Samples at several temperatures, prompted by a line break if the vocabulary has one.
fn samples(mut page: Page, model: &TextModel, seed: u64) -> Result<Page, Failure> {
    let prompt = model.tokens().beginning();
    for temperature in TEMPERATURES {
        let rule = Sampling::random(Key::new(seed)).temperature(temperature);
        let text = model.generate(&prompt, WRITTEN, &rule)?;
        page = page.text(format!("Temperature {temperature}:")).preformatted(wrapped(&text));
    }
    Ok(page)
}

/// The text with lines broken at a space where they are too long for a page.
fn wrapped(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.trim_start_matches('\n').lines() {
        let mut now = String::new();
        for word in line.split(' ') {
            if !now.is_empty() && now.chars().count() + word.chars().count() > LINE {
                lines.push(std::mem::take(&mut now));
            }
            if !now.is_empty() {
                now.push(' ');
            }
            now.push_str(word);
        }
        lines.push(now);
    }
    lines.join("\n")
}

/// Tokens as they can be seen.
fn visible(tokens: &Tokens, token: i64) -> String {
    let text = tokens.decode(&Tensor::from([token])).unwrap_or_default();
    text.chars()
        .map(|letter| {
            if letter == ' ' {
                '␣'
            } else if letter == '\n' {
                '⏎'
            } else {
                letter
            }
        })
        .collect()
}

/// The attention of the last block among the first test tokens, mean of the heads.
fn attention(page: Page, model: &TextModel, tokens: &Tensor) -> Result<Page, Failure> {
    let Some(last) = model.net().attention_maps(&tokens.unsqueeze(0))?.pop() else { return Ok(page) };
    let map = last.mean_axes(&[1], false).to_f64_vec();
    let names: Vec<String> = tokens.to_vec::<i64>().into_iter().map(|token| visible(model.tokens(), token)).collect();
    // The first tokens have few to attend to, hence large weights; the scale is that of the others.
    let late = map.iter().skip(names.len() * EARLY.min(names.len() - 1)).copied();
    let most = late.fold(0.0, f64::max).clamp(0.01, 1.0);
    let chart = HeatMap::new(&names, &names, &map).bounds(0.0, most).value_label("attention").title("Attention");
    let page = page.picture_or_reason(&chart);
    Ok(page.text(format!(
        "The beginning of the test text. Each row is a token and sums to 1: how much it attends to each token up to itself in \
         the last block, mean of the heads. The color scale ends at {most:.2}."
    )))
}
