//! Word vectors against gensim and the fastText program (`reference/words.py`).
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use serde_json::Value;
use tove_learn::words::{
    AnalogyQuestions, Architecture, Tokens, Word2Vec, WordFormat, WordVectors, char_ngrams, ngram_rows,
};
use tove_tensor::io::WriteOptions;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn fixture() -> Value {
    serde_json::from_slice(&std::fs::read(folder().join("words.json")).unwrap()).unwrap()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort();
    list
}

fn check_rows(entry: &Value, (low, high, buckets): (usize, usize, u32)) {
    let word = entry["word"].as_str().unwrap();
    assert_eq!(sorted(char_ngrams(word, low, high)), texts(&entry["ngrams"]), "{word}");
    let rows: Vec<u32> =
        entry["rows"].as_array().unwrap().iter().map(|row| row.as_u64().unwrap().try_into().unwrap()).collect();
    assert_eq!(sorted(ngram_rows(word, low, high, buckets)), rows, "{word}");
}

#[test]
fn ngrams_and_their_hashes_are_those_of_gensim_and_fasttext() {
    let fixture = fixture();
    let of_gensim = fixture["hashes"].as_array().unwrap();
    assert!(of_gensim.len() > 40);
    for entry in of_gensim {
        let number = |name: &str| entry[name].as_u64().unwrap() as usize;
        check_rows(entry, (number("min_n"), number("max_n"), number("buckets") as u32));
    }
    fixture["fasttext"].as_array().unwrap().iter().for_each(|entry| check_rows(entry, (3, 6, 1000)));
}

/// gensim read `tove.txt` and `tove.bin` when the fixtures were made; these are the bytes that are written today. What gensim wrote
/// is read.
#[test]
fn files_go_to_gensim_and_back() {
    let (fixture, place) = (fixture(), folder().join("words"));
    let words = texts(&fixture["files"]["words"]);
    let numbers: Vec<f32> = fixture["files"]["vectors"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|row| row.as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect::<Vec<f32>>())
        .collect();
    for (ending, format) in [("txt", WordFormat::Text), ("bin", WordFormat::Binary)] {
        for name in ["gensim", "tove"] {
            let read = WordVectors::load_word2vec(place.join(name).with_extension(ending), format).unwrap();
            assert_eq!(read.words(), words);
            assert_eq!(read.matrix().unwrap().to_vec::<f32>(), numbers, "{name}.{ending}");
        }
        let path = std::env::temp_dir().join(format!("tove-words-reference-{}.{ending}", std::process::id()));
        let vectors = WordVectors::new(words.clone(), numbers.clone(), 4).unwrap();
        vectors.save_word2vec(&path, format, WriteOptions { overwrite: true, ..WriteOptions::default() }).unwrap();
        let written = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(written, std::fs::read(place.join("tove").with_extension(ending)).unwrap(), "{ending}");
    }
}

/// Minutes: `TOVE_DATA=... cargo test --release -p tove-learn --test words_reference -- --ignored --nocapture`.
#[test]
#[ignore = "trains on the shared word corpus for minutes"]
fn analogies_are_answered_as_well_as_by_gensim() {
    let Some(data) = std::env::var_os("TOVE_DATA").map(PathBuf::from) else {
        println!("SKIPPED: data set absent: set TOVE_DATA");
        return;
    };
    let read = |name: &str| std::fs::read_to_string(data.join(name)).unwrap();
    let mut texts = Vec::new();
    for name in ["word-corpus/sotu.txt", "word-corpus/enwiki-sample.txt"] {
        for line in read(name).to_lowercase().lines() {
            let words = line.split(|c: char| !c.is_ascii_lowercase()).filter(|word| !word.is_empty());
            texts.push(words.collect::<Vec<_>>().join(" "));
        }
    }
    let questions = AnalogyQuestions::parse(&read("word-analogies/questions-words.txt")).unwrap();
    let fixture = fixture();
    for (name, architecture) in [("skip_gram", Architecture::SkipGram), ("cbow", Architecture::Cbow)] {
        let theirs: Vec<f64> =
            fixture["analogies"][name].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
        let ours: Vec<f64> = (1..=theirs.len() as u64)
            .map(|seed| {
                let word2vec = Word2Vec::default().tokens(Tokens::Whitespace).architecture(architecture).seed(seed);
                word2vec.fit(&texts).unwrap().evaluate_analogies(&questions).unwrap().accuracy().unwrap()
            })
            .collect();
        let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
        let variance = |x: &[f64]| x.iter().map(|value| (value - mean(x)).powi(2)).sum::<f64>() / (x.len() - 1) as f64;
        // The difference of the means, in its standard errors.
        let error = ((variance(&ours) + variance(&theirs)) / ours.len() as f64).sqrt();
        println!("{name}: {ours:.4?} mean {:.4}, gensim {theirs:.4?} mean {:.4}", mean(&ours), mean(&theirs));
        assert!(mean(&ours) > mean(&theirs) - 3.0 * error, "{name}: {:.4} and {:.4}", mean(&ours), mean(&theirs));
    }
}
