//! W31: skip-gram and CBOW with negative sampling on the shared word corpus, vocabulary included. Quality is the share of analogy
//! questions answered right.

use std::hint::black_box;
use std::path::PathBuf;

use serde_json::Value;
use tove_learn::words::{AnalogyQuestions, Architecture, Tokens, Word2Vec, WordVectors};

use crate::workload::{Workload, number};

struct Case {
    texts: Vec<String>,
    questions: AnalogyQuestions,
    word2vec: Word2Vec,
}

/// One case of W31.
pub fn make(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("TOVE_DATA").map_or_else(beside, PathBuf::from);
    let read = |name: &str| {
        let path = folder.join(name);
        let absent =
            |error| format!("{}: {error}; set TOVE_DATA to the folder of the shared data sets", path.display());
        std::fs::read_to_string(&path).map_err(absent)
    };
    let mut texts = Vec::new();
    for name in ["word-corpus/sotu.txt", "word-corpus/enwiki-sample.txt"] {
        for line in read(name)?.to_lowercase().lines() {
            let words = line.split(|c: char| !c.is_ascii_lowercase()).filter(|word| !word.is_empty());
            texts.push(words.collect::<Vec<_>>().join(" "));
        }
    }
    let questions =
        AnalogyQuestions::parse(&read("word-analogies/questions-words.txt")?).map_err(|error| error.to_string())?;
    let cbow = parameters["architecture"] == "cbow";
    let architecture = if cbow { Architecture::Cbow } else { Architecture::SkipGram };
    let word2vec =
        Word2Vec::default().tokens(Tokens::Whitespace).architecture(architecture).epochs(number(parameters, "epochs")?);
    Ok(Box::new(Case { texts, questions, word2vec }))
}

impl Case {
    fn fit(&self) -> WordVectors {
        self.word2vec.fit(black_box(&self.texts)).expect("the data are fine")
    }
}

impl Workload for Case {
    fn step(&mut self) {
        black_box(self.fit());
    }

    fn quality(&mut self) -> f64 {
        let scores = self.fit().evaluate_analogies(&self.questions).expect("the data are fine");
        scores.accuracy().unwrap_or(0.0)
    }
}
