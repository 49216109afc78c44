//! `tove text generate`.

use serde_json::json;
use tove::nn::Sampling;
use tove::tensor::Key;

use super::model::{TextModel, Tokens};
use crate::arguments::TextGenerate;
use crate::failure::Failure;
use crate::output::Output;

pub fn run(generate: &TextGenerate, output: &Output) -> Result<(), Failure> {
    let rule = rule(generate)?;
    if generate.length > 1_000_000 {
        return Err(Failure::usage(format!("--length {}: give at most a million tokens", generate.length)));
    }
    let model = TextModel::load(&generate.model)?;
    let prompt = prompt(generate, &model.tokens)?;
    let tokens = model.net.generate(&model.tokens.encode(&prompt)?, generate.length, &rule)?;
    let text = model.tokens.decode(&tokens)?;
    if !output.is_json() {
        return output.raw(format!("{text}\n").as_bytes());
    }
    output.result(
        String::new,
        || json!({"prompt": prompt, "text": text, "tokens": generate.length, "seed": generate.seed}),
    )
}

fn rule(generate: &TextGenerate) -> Result<Sampling, Failure> {
    let temperature = generate.temperature;
    if !(temperature >= 0.0 && temperature.is_finite()) {
        return Err(Failure::usage(format!("--temperature {temperature}: give a number from 0 on")));
    }
    if generate.top_k == Some(0) {
        return Err(Failure::usage("--top-k 0: at least one token must stay"));
    }
    if let Some(p) = generate.top_p.filter(|p| !(*p > 0.0 && *p <= 1.0)) {
        return Err(Failure::usage(format!("--top-p {p}: give a probability above 0, up to 1")));
    }
    if temperature == 0.0 {
        return Ok(Sampling::greedy());
    }
    let rule = Sampling::random(Key::new(generate.seed)).temperature(temperature);
    Ok(Sampling { top_k: generate.top_k, top_p: generate.top_p, ..rule })
}

/// The prompt, if the net knows its characters. Where none was given and the text has no line break, its first character
/// in the alphabet begins.
fn prompt(generate: &TextGenerate, tokens: &Tokens) -> Result<String, Failure> {
    if generate.prompt.is_empty() {
        return Err(Failure::usage("--prompt: give at least one character to go on from"));
    }
    let Tokens::Characters(vocabulary) = tokens else { return Ok(generate.prompt.clone()) };
    let unknown = generate.prompt.chars().find(|&character| vocabulary.token(character).is_none());
    match unknown {
        None => Ok(generate.prompt.clone()),
        Some('\n') if generate.prompt == "\n" => Ok(vocabulary.characters().iter().take(1).collect()),
        Some(character) => {
            let known: String = vocabulary.characters().iter().take(100).collect();
            Err(Failure::work(format!(
                "--prompt: the character {character:?} does not occur in the text the net learned from; it knows {known:?}"
            )))
        }
    }
}
