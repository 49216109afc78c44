//! Word vectors against gensim and the fastText program (`reference/words.py`).
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use serde_json::Value;
use tove_learn::words::{WordFormat, WordVectors, char_ngrams, ngram_rows};
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
