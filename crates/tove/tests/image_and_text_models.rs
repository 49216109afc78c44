//! Image and text models as a library: train, save, load, predict, evaluate, and refuse what is wrong.
#![cfg(all(feature = "images", feature = "bpe"))]
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use tove::data::TensorDataset;
use tove::language::{TextFit, TextModel, TokenKind};
use tove::learn::selection::Scorer;
use tove::nn::Sampling;
use tove::tensor::io::WriteOptions;
use tove::tensor::{DType, Key, Tensor};
use tove::vision::{ImageFit, ImageModel, ImageOptions, Images, ModelError, NetKind, Transfer};

fn digits(classes: &[&str]) -> Images {
    let classes = classes.iter().map(|&name| name.to_owned()).collect();
    Images::read("digits", &ImageOptions { classes, ..ImageOptions::default() }).unwrap()
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tove-{name}-{}.tove", std::process::id()))
}

#[test]
fn an_image_model_is_the_same_after_loading_and_evaluates_by_names_of_classes() {
    let images = digits(&["3", "1", "0"]);
    let fit = ImageFit { kind: NetKind::Cnn, epochs: 15, filters: vec![4], hidden: vec![8], ..ImageFit::default() };
    let outcome = fit.fit(&images).unwrap();
    assert!(outcome.test_score.value > 0.8, "{:?}", outcome.test_score);
    let path = temporary("image");
    outcome.model.save(&path, WriteOptions::overwriting()).unwrap();
    let model = ImageModel::load(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let bits = |x: &Tensor| x.to_vec::<f64>().iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let again = model.predict_proba(outcome.test.x()).unwrap();
    assert_eq!(bits(&again), bits(&outcome.probabilities));
    // The labels of other images are numbered in another order; what counts are their names.
    let evaluation = model.evaluate(&digits(&["0", "1", "3"]), None).unwrap();
    let labels = model.predict(digits(&["0", "1", "3"]).all.x()).unwrap();
    let truth = digits(&["0", "1", "3"]).all.y().to_vec::<i64>();
    let hits = labels.iter().zip(truth).filter(|(label, class)| **label == ["0", "1", "3"][*class as usize]).count();
    assert_eq!(evaluation.scores[0].scorer, Scorer::Accuracy);
    assert!((evaluation.scores[0].score.value - hits as f64 / labels.len() as f64).abs() < 1e-12);
    let first = model.evaluate(&images, Some(Scorer::NegLogLoss)).unwrap().scores.remove(0);
    assert!(first.scorer == Scorer::NegLogLoss && first.score.value > 0.0);
    assert!(model.evaluate(&digits(&["0", "7"]), None).unwrap_err().to_string().contains("no class \"7\""));
    assert!(model.evaluate(&images, Some(Scorer::R2)).is_err());
    let moved = Transfer { labels: 5, epochs: 1, ..Transfer::default() }.fit(model, &digits(&["7", "8"])).unwrap();
    assert_eq!((moved.outcome.train_images, moved.frozen_tensors), (10, 2));
}

#[test]
fn wrong_settings_and_images_are_named() {
    let images = digits(&["0", "1"]);
    let refused = |fit: ImageFit| match fit.fit(&images) {
        Err(ModelError::Setting { name, .. }) => name,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("nothing is wrong with {fit:?}"),
    };
    let plain = ImageFit::default;
    assert_eq!(refused(ImageFit { epochs: 0, ..plain() }), "epochs");
    assert_eq!(refused(ImageFit { test_size: f64::NAN, ..plain() }), "test_size");
    assert_eq!(refused(ImageFit { learning_rate: Some(f64::INFINITY), ..plain() }), "learning_rate");
    assert_eq!(refused(ImageFit { filters: vec![3], ..plain() }), "filters");
    assert_eq!(refused(ImageFit { kind: NetKind::Cnn, filters: vec![3; 4], ..plain() }), "kind");
    let x = Key::new(0).uniform([2, 1, 4, 4], DType::F32);
    let set = TensorDataset::new(x.clone(), Tensor::from([0i64, 2])).unwrap();
    let error = Images::new(set, vec!["a".to_owned(), "b".to_owned()]).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("label 2 has no name"), "{error}");
    let model = ImageFit { epochs: 1, ..plain() }.fit(&images).unwrap().model;
    assert!(model.predict_proba(&x).unwrap_err().to_string().contains("(n, 1, 8, 8)"));
    assert!(model.decode("upload", b"\x89PNG\r\n\x1a\nno more").unwrap_err().to_string().contains("upload"));
}

#[test]
fn a_text_model_is_the_same_after_loading_and_refuses_what_it_does_not_know() {
    let text = "the quick brown fox jumps over the lazy dog. ".repeat(30);
    let small = TextFit { layers: 1, heads: 2, width: 16, context: 8, steps: 40, ..TextFit::default() };
    for tokens in [TokenKind::Characters, TokenKind::Bpe] {
        let outcome = TextFit { tokens, vocabulary: 270, ..small.clone() }.fit(&text).unwrap();
        let path = temporary(tokens.name());
        outcome.model.save(&path, WriteOptions::overwriting()).unwrap();
        let model = TextModel::load(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let rule = Sampling::random(Key::new(3));
        let written = model.generate("the ", 30, &rule).unwrap();
        assert_eq!(written, outcome.model.generate("the ", 30, &rule).unwrap());
        let (a, b) = (model.evaluate(&text).unwrap(), outcome.model.evaluate(&text).unwrap());
        assert_eq!(a, b);
        assert!(a.loss < (model.tokens().len() as f64).ln() && (a.perplexity().ln() - a.loss).abs() < 1e-12);
        assert!(model.evaluate("t").is_err() && model.evaluate("").is_err());
        // A text shorter than the context is one window.
        assert_eq!(model.evaluate("the fo").unwrap().windows, 1);
        assert!(matches!(model.generate("", 3, &rule), Err(ModelError::Setting { name: "prompt", .. })));
        assert!(matches!(model.generate("the", 2_000_000, &rule), Err(ModelError::Setting { name: "length", .. })));
    }
    let model = small.fit(&text).unwrap().model;
    assert!(matches!(model.generate("Ω", 3, &Sampling::greedy()), Err(ModelError::Unsuited { name: "prompt", .. })));
    assert!(model.evaluate("the Ω").unwrap_err().to_string().contains("'Ω'"));
    let short = TextFit { context: 5000, ..small }.fit(&text).map(|_| ()).unwrap_err();
    assert!(matches!(short, ModelError::Unsuited { name: "context", .. }), "{short}");
}
