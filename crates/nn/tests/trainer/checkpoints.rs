//! The file of a run: its layout, older layouts, where it can be written, and settings that change between two parts of a run.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use tove_data::TensorDataset;
use tove_nn::*;
use tove_optim::{Adam, AdamW, Group, Optimizer, RmsProp, Sgd};
use tove_tensor::Tensor;
use tove_tensor::io::{WriteOptions, read_safetensors, safetensors::SafeTensors, write_safetensors};

use crate::support::{Scratch, bits, moons, net, smooth, trainer};

const ENTRY: &str = "tove.training";

fn header(path: &Path) -> Value {
    serde_json::from_str(&SafeTensors::open(path).unwrap().metadata()[ENTRY]).unwrap()
}

fn rewrite(path: &Path, header: &Value, tensors: &[(String, Tensor)]) {
    let tensors: Vec<(&str, &Tensor)> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let metadata = BTreeMap::from([(ENTRY.to_owned(), header.to_string())]);
    write_safetensors(path, &tensors, &metadata, WriteOptions::overwriting()).unwrap();
}

/// The header of a long run is as small as that of a short one.
#[test]
fn the_header_does_not_grow_with_the_run() {
    let (train, valid, task, scratch) = (moons(64, 1), moons(32, 2), Classification::new(), Scratch::new("header"));
    let path = scratch.file("run");
    let mut sizes = Vec::new();
    for steps in [40, 400] {
        let trainer =
            Trainer::new(Sgd::new(0.01)).steps(steps).batch_size(16).evaluate_every(2).progress(Progress::Silent);
        let report = trainer.checkpoint(&path).fit(&mut smooth(1), &task, &train, Some(&valid)).unwrap();
        assert_eq!((report.losses.len() as u64, report.history.len() as u64), (steps, steps / 2));
        sizes.push(header(&path).to_string().len());
        let losses = read_safetensors(&path).unwrap().into_iter().find(|(name, _)| name == "history.losses").unwrap().1;
        assert_eq!(losses.to_vec::<f64>(), report.losses);
    }
    // A few digits more in the counters, and nothing else.
    assert!(sizes[1] < sizes[0] + 100, "{sizes:?}");
}

/// The layout of version 1, in which losses and evaluations were JSON: the same file as the first programs wrote it.
fn to_version_1(path: &Path) {
    let (mut header, mut tensors) = (header(path), read_safetensors(path).unwrap());
    let mut take = |wanted: &str| {
        let at = tensors.iter().position(|(name, _)| name == wanted).unwrap();
        tensors.remove(at).1.to_vec::<f64>()
    };
    let (losses, rows) = (take("history.losses"), take("history.evaluations"));
    let scores: Vec<String> = serde_json::from_value(header["scores"].take()).unwrap();
    let number = |value: f64| if value.is_nan() { json!("NaN") } else { json!(value) };
    let evaluation = |row: &[f64]| {
        let validation: Vec<(String, Value)> =
            scores.iter().zip(row[5..].chunks(2)).map(|(name, pair)| (name.clone(), number(pair[1]))).collect();
        json!({
            "epoch": row[0] as u64, "step": row[1] as u64, "train_loss": number(row[2]), "validation": validation,
            "learning_rate": row[3], "seconds": row[4],
        })
    };
    let history: Vec<Value> = rows.chunks(5 + 2 * scores.len()).map(evaluation).collect();
    header["version"] = json!(1);
    header["place"]["losses"] = json!(losses);
    header["place"]["history"] = json!(history);
    header["settings"].as_object_mut().unwrap().remove("data");
    header.as_object_mut().unwrap().remove("scores");
    rewrite(path, &header, &tensors);
}

#[test]
fn checkpoints_of_version_1_are_still_read() {
    let (train, valid, scratch) = (moons(150, 1), moons(60, 9), Scratch::new("version-1"));
    let mut nan = valid.x().to_vec::<f32>();
    nan[7] = f32::NAN;
    let broken = TensorDataset::new(Tensor::from_vec(nan, [60, 2]), valid.y().clone()).unwrap();
    for (name, valid) in [("finite", &valid), ("nan", &broken)] {
        let path = scratch.file(name);
        let fit = |epochs: usize, path: Option<&Path>| {
            let (mut net, mut trainer) = (net(), trainer().epochs(epochs));
            trainer = if let Some(path) = path { trainer.checkpoint(path) } else { trainer };
            let report = trainer.fit(&mut net, &Classification::new(), &train, Some(valid)).unwrap();
            let scores: Vec<String> = report.history.iter().map(|e| format!("{:?}", e.validation)).collect();
            (report.losses, scores, report.best, bits(&net))
        };
        let straight = fit(4, None);
        fit(2, Some(&path));
        to_version_1(&path);
        assert_eq!(fit(4, Some(&path)), straight, "{name}");
        assert_eq!(header(&path)["version"], 2);
    }
}

#[test]
fn damaged_histories_are_refused() {
    let (train, task, scratch) = (moons(64, 1), Classification::new(), Scratch::new("damaged"));
    let path = scratch.file("run");
    let make = || Trainer::new(Adam::new(0.01)).epochs(2).batch_size(16).progress(Progress::Silent).checkpoint(&path);
    let mut fitted = smooth(1);
    make().fit(&mut fitted, &task, &train, Some(&train)).unwrap();
    let (whole, tensors) = (header(&path), read_safetensors(&path).unwrap());
    let refused = |what: &str, header: &Value, tensors: &[(String, Tensor)]| {
        rewrite(&path, header, tensors);
        let (mut net, before) = (smooth(2), bits(&smooth(2)));
        let error = make().epochs(3).fit(&mut net, &task, &train, Some(&train)).unwrap_err().to_string();
        assert!(error.contains("checkpoint"), "{what}: {error}");
        assert_eq!(bits(&net), before, "{what}");
    };
    let without = |name: &str| tensors.iter().filter(|(other, _)| other != name).cloned().collect::<Vec<_>>();
    refused("no losses", &whole, &without("history.losses"));
    let mut short = without("history.losses");
    short.push(("history.losses".into(), Tensor::from([1.0f64, 2.0])));
    refused("two losses", &whole, &short);
    let mut uneven = without("history.evaluations");
    uneven.push(("history.evaluations".into(), Tensor::from([1.0f64; 7])));
    refused("seven numbers", &whole, &uneven);
    for (place, value) in
        [("evaluated", json!(1_000_000)), ("step", json!(9)), ("step", json!(-1)), ("epoch", json!("x"))]
    {
        let mut other = whole.clone();
        other["place"][place] = value;
        refused(place, &other, &tensors);
    }
    for version in [json!(0), json!(3), json!("2"), Value::Null] {
        let mut other = whole.clone();
        other["version"] = version;
        refused("version", &other, &tensors);
    }
}

/// That the file cannot be written is said before the first step.
#[test]
fn a_checkpoint_that_cannot_be_written_is_an_error_before_training() {
    let (train, task, scratch) = (moons(64, 1), Classification::new(), Scratch::new("nowhere"));
    std::fs::write(scratch.file("plain"), b"a file").unwrap();
    let cases = [
        (scratch.file("missing/run"), "there is no folder"),
        (scratch.file("plain/run"), "there is no folder"),
        (scratch.file(""), "is a folder"),
    ];
    for (path, words) in cases {
        let (mut net, before) = (smooth(1), bits(&smooth(1)));
        let mut steps = 0;
        struct Count<'a>(&'a mut usize);
        impl Callback for Count<'_> {
            fn step(&mut self, _: &Step) -> Flow {
                *self.0 += 1;
                Flow::Continue
            }
        }
        let trainer = Trainer::new(Adam::new(0.01)).epochs(2).progress(Progress::Silent).checkpoint(&path);
        let error = trainer.callback(Count(&mut steps)).fit(&mut net, &task, &train, None).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("checkpoint"), "{error}");
        assert_eq!((steps, bits(&net)), (0, before));
    }
}

/// A killed program leaves its temporary file; the next run removes it, and leaves those of the living alone.
#[cfg(target_os = "linux")]
#[test]
fn leftovers_of_killed_runs_are_removed() {
    let (train, task, scratch) = (moons(64, 1), Classification::new(), Scratch::new("leftovers"));
    let path = scratch.file("run");
    let dead = (1..).map(|n| 4_194_304 + n).find(|id| !Path::new(&format!("/proc/{id}")).exists()).unwrap();
    let left = [0, 1, 2].map(|n| scratch.file(&format!(".run.{dead}-{n}.tove.tmp")));
    let others = [scratch.file(&format!(".other.{}-999999.tove.tmp", std::process::id())), scratch.file("notes.tmp")];
    left.iter().chain(&others).for_each(|path| std::fs::write(path, b"half").unwrap());
    let mut trainer = Trainer::new(Adam::new(0.01)).epochs(1).progress(Progress::Silent).checkpoint(&path);
    trainer.fit(&mut smooth(1), &task, &train, None).unwrap();
    assert!(path.exists() && left.iter().all(|path| !path.exists()) && others.iter().all(|path| path.exists()));
    let hidden = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(hidden, 3, "the checkpoint and the two others");
}

/// The second half of a run with other settings is the second half of a run whose optimizer was changed in the middle.
#[test]
fn changed_settings_hold_from_the_resumption_on() {
    let (train, task, scratch) = (moons(64, 1), Classification::new(), Scratch::new("changed"));
    type Make = fn() -> Box<dyn Optimizer>;
    let cases: [(Make, Make); 5] = [
        (|| Box::new(Adam::new(0.02)), || Box::new(Adam::new(0.02).with(|s| s.beta1(0.5)))),
        (|| Box::new(Adam::new(0.02)), || Box::new(Adam::new(0.01).with(|s| s.beta2(0.9).weight_decay(0.1)))),
        (|| Box::new(AdamW::new(0.02)), || Box::new(AdamW::new(0.02).with(|s| s.weight_decay(0.5)))),
        (|| Box::new(Sgd::new(0.1)), || Box::new(Sgd::new(0.1).with(|s| s.momentum(0.9)))),
        (
            || Box::new(RmsProp::new(0.01).with(|s| s.centered(true))),
            || Box::new(RmsProp::new(0.01).with(|s| s.momentum(0.5))),
        ),
    ];
    // By hand: the batches of the trainer, eight steps, the settings changed after four.
    let by_hand = |first: Make, second: Make| {
        let (mut net, mut rule) = (smooth(3), first());
        let order: Vec<usize> = (0..64).collect();
        for step in 0..8 {
            if step == 4 {
                rule.set_hyperparameters(&second().hyperparameters().to_json()).unwrap();
            }
            let at = &order[16 * (step % 4)..16 * (step % 4 + 1)];
            let batch = tove_data::Dataset::batch(&train, at, tove_tensor::Key::new(0)).unwrap();
            task.loss(&net, &batch, &Pass::eval()).unwrap().backward();
            rule.step(&mut net.parameters_mut()).unwrap();
        }
        bits(&net)
    };
    for (index, (first, second)) in cases.into_iter().enumerate() {
        let path = scratch.file(&format!("{index}"));
        let fit = |rule: Make, epochs: usize| {
            let trainer = Trainer::new(crate::reuse::Boxed(rule())).epochs(epochs).batch_size(16).shuffle(false);
            let (mut net, mut trainer) = (smooth(3), trainer.progress(Progress::Silent).checkpoint(&path));
            trainer.fit(&mut net, &task, &train, None).unwrap();
            (bits(&net), trainer.optimizer().hyperparameters().to_json())
        };
        fit(first, 1);
        let (resumed, settings) = fit(second, 2);
        assert_eq!(resumed, by_hand(first, second), "case {index}");
        assert_ne!(resumed, by_hand(first, first), "case {index}");
        assert_eq!(settings, second().hyperparameters().to_json());
    }
}

/// Groups are the program's where it has any.
#[test]
fn changed_parameter_groups_hold_from_the_resumption_on() {
    let (train, task, scratch) = (moons(64, 1), Classification::new(), Scratch::new("changed-groups"));
    let group = |factor: f64| [Group::new([0, 1]).learning_rate_factor(factor)];
    let fit = |name: &str, groups: &[Group], epochs: usize| {
        let rule = Sgd::new(0.1).groups(groups).unwrap();
        let mut trainer = Trainer::new(rule).epochs(epochs).batch_size(16).progress(Progress::Silent);
        trainer = trainer.checkpoint(scratch.file(name));
        let mut net = smooth(3);
        trainer.fit(&mut net, &task, &train, None).unwrap();
        (bits(&net.layers[0]), bits(&net.layers[1]))
    };
    let first = fit("run", &group(1.0), 1);
    let frozen = fit("run", &group(0.0), 2);
    assert!(
        frozen.0 == first.0 && frozen.1 != first.1,
        "a factor of 0 freezes the first layer from the second epoch on"
    );
    // Without groups in the program the file's stay.
    let kept = fit("run", &[], 3);
    assert!(kept.0 == first.0 && kept.1 != frozen.1);
}
