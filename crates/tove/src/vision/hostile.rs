//! Files of image nets: the same bits after loading, and no harm from files that were tampered with.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::json;
use tove_nn::Rng;
use tove_tensor::io::WriteOptions;
use tove_tensor::{DType, Key, Tensor};

use super::model::ImageModel;
use super::net::{NetConfig, NetKind};
use crate::meter::peak_bytes;
use crate::mutate::{Random, mutate, unsealed};

const ROUNDS: usize = 20_000;

fn model(kind: NetKind, hidden: &[usize], filters: &[usize], border: usize) -> ImageModel {
    let size = 8 + 2 * border;
    let config =
        NetConfig { kind, input: [1, size, size], hidden: hidden.to_vec(), filters: filters.to_vec(), classes: 3 };
    let net = config.build(&mut Rng::new(5)).unwrap();
    let classes = ["a", "b", "c"].map(str::to_owned).to_vec();
    ImageModel { net, config, classes, border, facts: json!({"seed": 5}) }
}

fn pictures(model: &ImageModel, count: usize) -> Tensor {
    let [channels, height, width] = model.input();
    Key::new(1).uniform([count, channels, height, width], DType::F32)
}

#[test]
fn predictions_are_the_same_after_loading() {
    let path = std::env::temp_dir().join(format!("tove-image-files-{}.tove", std::process::id()));
    let models =
        [model(NetKind::Mlp, &[5, 4], &[], 0), model(NetKind::Cnn, &[6], &[2, 3], 1), model(NetKind::Vit, &[], &[], 0)];
    for model in models {
        model.save(&path, WriteOptions::overwriting()).unwrap();
        let back = ImageModel::load(&path).unwrap();
        let x = pictures(&model, 7);
        let (before, after) = (model.predict_proba(&x).unwrap(), back.predict_proba(&x).unwrap());
        let bits = |x: &Tensor| x.to_vec::<f64>().iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&before), bits(&after), "{:?}", model.config);
        assert_eq!((back.config, back.classes, back.facts), (model.config, model.classes, model.facts));
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn files_that_were_tampered_with_do_no_harm() {
    let path = std::env::temp_dir().join(format!("tove-image-tampered-{}.tove", std::process::id()));
    let bytes = |model: ImageModel| {
        model.save(&path, WriteOptions::overwriting()).unwrap();
        unsealed(&std::fs::read(&path).unwrap())
    };
    let files = [bytes(model(NetKind::Mlp, &[5], &[], 1)), bytes(model(NetKind::Cnn, &[4], &[2, 2], 0))];
    let mut random = Random(2);
    let mut loaded = 0;
    for round in 0..ROUNDS {
        let file = mutate(&mut random, &files);
        // A new file each time: replacing the content of one waits for the disk.
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, &file).unwrap();
        let work = || {
            let model = ImageModel::load(&path).ok()?;
            let [channels, height, width] = model.input();
            // A net that loads answers, or says why not; what is as large as its file says may take its time.
            (channels * height * width < 1 << 12).then(|| model.predict_proba(&pictures(&model, 1)).is_ok())
        };
        let (outcome, peak) = peak_bytes(|| catch_unwind(AssertUnwindSafe(work)));
        let outcome = outcome.unwrap_or_else(|_| panic!("round {round} panics; the file is {}", path.display()));
        assert!(peak <= (8 << 20) + 64 * file.len(), "round {round}: {peak} bytes for a file of {}", file.len());
        loaded += usize::from(outcome.is_some());
    }
    std::fs::remove_file(path).unwrap();
    assert!(loaded > ROUNDS / 50 && loaded < ROUNDS, "{loaded} loaded: the mutations are too wild or too tame");
}
