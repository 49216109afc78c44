//! Files of image and text models: the same bits after loading, and no harm from files that were tampered with.
#![cfg(feature = "images")]
#![allow(clippy::unwrap_used)]

#[path = "../../tensor/tests/io/meter.rs"]
mod meter;
#[path = "common/mutate.rs"]
mod mutate;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use meter::peak_bytes;
use mutate::{Random, mutate, unsealed};
use tove::data::TensorDataset;
use tove::language::{TextFit, TextModel};
use tove::nn::Sampling;
use tove::tensor::io::WriteOptions;
use tove::tensor::{DType, Key, Tensor};
use tove::vision::{ImageFit, ImageModel, Images, NetKind};

const ROUNDS: usize = 20_000;

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tove-net-files-{name}-{}.tove", std::process::id()))
}

/// A model of images of 8 × 8 pixels, hardly trained.
fn image_model(kind: NetKind, hidden: &[usize], filters: &[usize], shift: usize) -> ImageModel {
    let labels: Vec<i64> = (0..30).map(|row| row % 3).collect();
    let set = TensorDataset::new(Key::new(1).uniform([30, 1, 8, 8], DType::F32), Tensor::from(labels)).unwrap();
    let images = Images::new(set, ["a", "b", "c"].map(str::to_owned).to_vec()).unwrap();
    let (hidden, filters) = (hidden.to_vec(), filters.to_vec());
    let fit = ImageFit { kind, hidden, filters, shift, epochs: 1, validation: 0.0, seed: 5, ..ImageFit::default() };
    fit.fit(&images).unwrap().model
}

fn pictures(model: &ImageModel, count: usize) -> Tensor {
    let [channels, height, width] = model.input();
    Key::new(1).uniform([count, channels, height, width], DType::F32)
}

fn text_model(heads: usize, layers: usize) -> TextModel {
    let fit = TextFit { layers, heads, width: 8, context: 5, steps: 1, seed: 3, ..TextFit::default() };
    fit.fit(&"abcdef \n".repeat(20)).unwrap().model
}

fn written(model: &TextModel, count: usize) -> Option<String> {
    model.generate("a", count, &Sampling::random(Key::new(4))).ok()
}

#[test]
fn image_models_are_the_same_after_loading() {
    let path = temporary("images");
    let models = [
        image_model(NetKind::Mlp, &[5, 4], &[], 0),
        image_model(NetKind::Cnn, &[6], &[2, 3], 1),
        image_model(NetKind::Vit, &[], &[], 0),
    ];
    for model in models {
        model.save(&path, WriteOptions::overwriting()).unwrap();
        let back = ImageModel::load(&path).unwrap();
        let x = pictures(&model, 7);
        let bits = |x: &Tensor| x.to_vec::<f64>().iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let (before, after) = (model.predict_proba(&x).unwrap(), back.predict_proba(&x).unwrap());
        assert_eq!(bits(&before), bits(&after), "{:?}", model.config());
        assert_eq!((back.config(), back.classes(), back.facts()), (model.config(), model.classes(), model.facts()));
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn text_models_are_the_same_after_loading() {
    let path = temporary("texts");
    for model in [text_model(1, 1), text_model(2, 3)] {
        model.save(&path, WriteOptions::overwriting()).unwrap();
        let back = TextModel::load(&path).unwrap();
        let text = written(&model, 40).unwrap();
        assert_eq!(text.chars().count(), 41);
        assert_eq!(written(&back, 40).unwrap(), text);
        assert_eq!(back.facts(), model.facts());
    }
    std::fs::remove_file(path).unwrap();
}

/// Loads mutations of files and uses what loads: no panic, and memory in proportion to the file.
fn tampered(path: &Path, seed: u64, files: &[Vec<u8>], work: impl Fn() -> Option<bool>) {
    let mut random = Random(seed);
    let mut loaded = 0;
    for round in 0..ROUNDS {
        let file = mutate(&mut random, files);
        // A new file each time: replacing the content of one waits for the disk.
        std::fs::remove_file(path).unwrap();
        std::fs::write(path, &file).unwrap();
        let (outcome, peak) = peak_bytes(|| catch_unwind(AssertUnwindSafe(&work)));
        let outcome = outcome.unwrap_or_else(|_| panic!("round {round} panics; the file is {}", path.display()));
        assert!(peak <= (8 << 20) + 64 * file.len(), "round {round}: {peak} bytes for a file of {}", file.len());
        loaded += usize::from(outcome.is_some());
    }
    std::fs::remove_file(path).unwrap();
    assert!(loaded > ROUNDS / 50 && loaded < ROUNDS, "{loaded} loaded: the mutations are too wild or too tame");
}

#[test]
fn image_files_that_were_tampered_with_do_no_harm() {
    let path = temporary("tampered-images");
    let bytes = |model: ImageModel| {
        model.save(&path, WriteOptions::overwriting()).unwrap();
        unsealed(&std::fs::read(&path).unwrap())
    };
    let files = [bytes(image_model(NetKind::Mlp, &[5], &[], 1)), bytes(image_model(NetKind::Cnn, &[4], &[2, 2], 0))];
    tampered(&path, 2, &files, || {
        let model = ImageModel::load(&path).ok()?;
        // A net that loads answers, or says why not; what is as large as its file says may take its time.
        (model.input().iter().product::<usize>() < 1 << 12).then(|| model.predict_proba(&pictures(&model, 1)).is_ok())
    });
}

#[test]
fn text_files_that_were_tampered_with_do_no_harm() {
    let path = temporary("tampered-texts");
    let bytes = |model: TextModel| {
        model.save(&path, WriteOptions::overwriting()).unwrap();
        unsealed(&std::fs::read(&path).unwrap())
    };
    let files = [bytes(text_model(1, 1)), bytes(text_model(2, 2))];
    tampered(&path, 3, &files, || Some(written(&TextModel::load(&path).ok()?, 2).is_some()));
}
