//! `tove text generate`.

use serde_json::json;
use tove::language::{Generation, TextModel};

use crate::arguments::TextGenerate;
use crate::failure::Failure;
use crate::output::Output;

pub fn run(generate: &TextGenerate, output: &Output) -> Result<(), Failure> {
    let &TextGenerate { length, temperature, top_k, top_p, seed, .. } = generate;
    let sampling = Generation { length, temperature, top_k, top_p, seed }.sampling()?;
    let model = TextModel::load(&generate.model)?;
    // Without a prompt, a text without line breaks begins with the first character of its vocabulary.
    let prompt = if generate.prompt == "\n" { model.tokens().beginning() } else { generate.prompt.clone() };
    let text = model.generate(&prompt, length, &sampling)?;
    if !output.is_json() {
        return output.raw(format!("{text}\n").as_bytes());
    }
    output.result(
        String::new,
        || json!({"prompt": prompt, "text": text, "tokens": generate.length, "seed": generate.seed}),
    )
}
