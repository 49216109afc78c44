//! Byte-pair tokens (feature `bpe`).
#![cfg(feature = "bpe")]

use tove_data::DataError;
use tove_data::text::Bpe;
use tove_tensor::{Tensor, io::WriteOptions};

const TEXT: &str = "the cat sat on the mat, the cat ate the rat;\nthat was that and the rest is the rest\n";

#[test]
fn every_text_comes_back() {
    let bpe = Bpe::train(&TEXT.repeat(5), 300).unwrap();
    assert!(bpe.len() > 256 && bpe.len() <= 300);
    for text in [TEXT, "  leading blanks\t\r\n", "日本語 ünbekannt 🦀", "x", "\0\u{7f}"] {
        assert_eq!(bpe.decode(&bpe.encode(text).unwrap()).unwrap(), text);
    }
    assert!(bpe.encode(TEXT).unwrap().numel() < TEXT.len() * 2 / 3);
    // Training has no chance in it.
    let again = Bpe::train(&TEXT.repeat(5), 300).unwrap();
    assert_eq!(again.encode(TEXT).unwrap().to_vec::<i64>(), bpe.encode(TEXT).unwrap().to_vec::<i64>());
}

#[test]
fn files_and_refusals() {
    let path = std::env::temp_dir().join(format!("tove-bpe-{}.json", std::process::id()));
    let bpe = Bpe::train(TEXT, 280).unwrap();
    bpe.save(&path, WriteOptions::overwriting()).unwrap();
    assert!(bpe.save(&path, WriteOptions::default()).is_err());
    let loaded = Bpe::load(&path).unwrap();
    assert_eq!(loaded.encode(TEXT).unwrap().to_vec::<i64>(), bpe.encode(TEXT).unwrap().to_vec::<i64>());
    assert_eq!(loaded.decode(&loaded.encode(TEXT).unwrap()).unwrap(), TEXT);
    // The same as text, which is what the file holds.
    assert_eq!(std::fs::read_to_string(&path).unwrap(), bpe.to_json().unwrap());
    let from_text = Bpe::from_json(&bpe.to_json().unwrap()).unwrap();
    assert_eq!(from_text.encode(TEXT).unwrap().to_vec::<i64>(), bpe.encode(TEXT).unwrap().to_vec::<i64>());
    for wrong in ["", "{}", "{\"model\": 3}", "low lower"] {
        assert!(matches!(Bpe::from_json(wrong), Err(DataError::Tokenizer { .. })), "{wrong}");
    }
    std::fs::write(&path, "{\"model\": 3}").unwrap();
    assert!(matches!(Bpe::load(&path), Err(DataError::Tokenizer { .. })));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(Bpe::train("", 300), Err(DataError::EmptyText(_))));
    assert!(matches!(bpe.encode(""), Err(DataError::EmptyText(_))));
    assert!(Bpe::train(TEXT, 255).is_err());
    for token in [-1i64, 1_000_000] {
        assert!(matches!(bpe.decode(&Tensor::from([0, token])), Err(DataError::Token { position: 1, .. })));
    }
}
