//! Files of language models: the same text after loading, and no harm from files that were tampered with.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::json;
use tove_data::CharVocabulary;
use tove_nn::{Gpt, GptConfig, Rng, Sampling};
use tove_tensor::Key;
use tove_tensor::io::WriteOptions;

use super::model::TextModel;
use super::tokens::Tokens;
use crate::meter::peak_bytes;
use crate::mutate::{Random, mutate, unsealed};

const ROUNDS: usize = 20_000;

fn model(heads: usize, layers: usize) -> TextModel {
    let vocabulary = CharVocabulary::from_characters("abcdef \n".chars()).unwrap();
    let config = GptConfig {
        vocabulary: vocabulary.len(),
        context: 5,
        layers,
        heads,
        width: 8,
        hidden: 32,
        ..GptConfig::default()
    };
    let net = Gpt::new(&config, &mut Rng::new(3)).unwrap();
    TextModel { net, tokens: Tokens::Characters(Box::new(vocabulary)), facts: json!({"seed": 3}) }
}

fn written(model: &TextModel, count: usize) -> Option<String> {
    model.generate("a", count, &Sampling::random(Key::new(4))).ok()
}

#[test]
fn the_text_is_the_same_after_loading() {
    let path = std::env::temp_dir().join(format!("tove-text-files-{}.tove", std::process::id()));
    for model in [model(1, 1), model(2, 3)] {
        model.save(&path, WriteOptions::overwriting()).unwrap();
        let back = TextModel::load(&path).unwrap();
        let text = written(&model, 40).unwrap();
        assert_eq!(text.chars().count(), 41);
        assert_eq!(written(&back, 40).unwrap(), text);
        assert_eq!(back.facts, model.facts);
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn files_that_were_tampered_with_do_no_harm() {
    let path = std::env::temp_dir().join(format!("tove-text-tampered-{}.tove", std::process::id()));
    let bytes = |model: TextModel| {
        model.save(&path, WriteOptions::overwriting()).unwrap();
        unsealed(&std::fs::read(&path).unwrap())
    };
    let files = [bytes(model(1, 1)), bytes(model(2, 2))];
    let mut random = Random(3);
    let mut loaded = 0;
    for round in 0..ROUNDS {
        let file = mutate(&mut random, &files);
        // A new file each time: replacing the content of one waits for the disk.
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, &file).unwrap();
        let work = || {
            let model = TextModel::load(&path).ok()?;
            Some(written(&model, 2).is_some())
        };
        let (outcome, peak) = peak_bytes(|| catch_unwind(AssertUnwindSafe(work)));
        let outcome = outcome.unwrap_or_else(|_| panic!("round {round} panics; the file is {}", path.display()));
        assert!(peak <= (8 << 20) + 64 * file.len(), "round {round}: {peak} bytes for a file of {}", file.len());
        loaded += usize::from(outcome.is_some());
    }
    std::fs::remove_file(path).unwrap();
    assert!(loaded > ROUNDS / 50 && loaded < ROUNDS, "{loaded} loaded: the mutations are too wild or too tame");
}
