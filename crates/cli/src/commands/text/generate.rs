//! `tove text generate`.

use serde_json::json;
use tove::language::TextModel;
use tove::nn::Sampling;
use tove::tensor::Key;

use crate::arguments::TextGenerate;
use crate::failure::Failure;
use crate::output::Output;

pub fn run(generate: &TextGenerate, output: &Output) -> Result<(), Failure> {
    let rule = rule(generate)?;
    let model = TextModel::load(&generate.model)?;
    // Without a prompt, a text without line breaks begins with the first character of its vocabulary.
    let prompt = if generate.prompt == "\n" { model.tokens().beginning() } else { generate.prompt.clone() };
    let text = model.generate(&prompt, generate.length, &rule)?;
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
