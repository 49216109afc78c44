//! What a step is made of: several batches, rows that count differently, parameters that stay.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tove_data::TensorDataset;
use tove_nn::*;
use tove_optim::{Adam, NesterovLookAhead, Sgd};
use tove_tensor::{CrossEntropy, DType, Key, Tensor};

use crate::support::{After, Scratch, bits, moons, smooth};

fn quiet<'c>() -> Trainer<'c> {
    Trainer::new(Adam::new(0.02)).epochs(3).progress(Progress::Silent)
}

/// Three batches of eight a step are one batch of 24, also where the last step has fewer samples.
#[test]
fn gradients_of_several_batches_make_one_step() {
    let (train, task) = (moons(100, 1), Classification::new());
    let double = TensorDataset::new(train.x().to_dtype(DType::F64), train.y().clone()).unwrap();
    let make = || {
        let mut net = smooth(5);
        net.to_dtype(DType::F64).unwrap();
        net
    };
    let (mut whole, mut pieces) = (make(), make());
    let large = quiet().batch_size(24).clip_norm(0.5).fit(&mut whole, &task, &double, None).unwrap();
    let small = quiet().batch_size(8).accumulate(3).clip_norm(0.5).fit(&mut pieces, &task, &double, None).unwrap();
    assert_eq!((large.steps, small.steps, large.history.len()), (15, 15, small.history.len()));
    for (a, b) in large.losses.iter().zip(&small.losses) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }
    for ((name, a), (_, b)) in whole.state().iter().zip(pieces.state()) {
        assert!((a - &b).abs().max().item::<f64>() < 1e-10, "{name}");
    }
    // Steps are steps, not batches, in the length of a run and in its checkpoints.
    let scratch = Scratch::new("accumulate");
    let path = scratch.file("run");
    let run = |stop: u64| {
        let flag = Arc::new(AtomicBool::new(false));
        let trainer = quiet().batch_size(8).accumulate(3).steps(12).checkpoint(&path).stop_when(flag.clone());
        let mut net = crate::support::net();
        let report = trainer.callback(After(stop, flag)).fit(&mut net, &task, &train, None).unwrap();
        (report.steps, report.losses, bits(&net))
    };
    assert_eq!(run(7).0, 7);
    let resumed = run(100);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(resumed, run(100));
    let mut other = quiet().batch_size(8).checkpoint(&path);
    let error = other.fit(&mut crate::support::net(), &task, &train, None).unwrap_err().to_string();
    assert!(error.contains("accumulate"), "{error}");
}

/// Four rows of eight count; they come in batches of different share.
#[test]
fn rows_that_do_not_count_are_not_judged_either() {
    let x = Key::new(1).normal([8, 2], DType::F32);
    let net = Nonlinearity::Identity; // the numbers are the logits
    let logits = x.clone();
    let told = logits.argmax(-1).to_vec::<i64>();
    // Right, ignored, ignored, ignored, wrong, right, right, ignored.
    let y = vec![told[0], -100, -100, -100, 1 - told[4], told[5], told[6], -100];
    let set = TensorDataset::new(x.clone(), Tensor::from(y.clone())).unwrap();
    let options = CrossEntropy { ignore_index: Some(-100), ..CrossEntropy::default() };
    let task = Classification::with(options);
    let rows = Tensor::from([0i64, 4, 5, 6]);
    let kept = Tensor::from([0usize, 4, 5, 6].map(|row| y[row]));
    let loss = logits.index_select(0, &rows).cross_entropy(&kept, &CrossEntropy::default()).item::<f32>();
    for batch in [1, 2, 3, 8] {
        let scores = evaluate(&net, &task, &set, batch).unwrap();
        assert!((scores[0].value - f64::from(loss)).abs() < 1e-6, "{scores:?} {loss}");
        assert_eq!((scores[1].value, scores[1].count), (0.75, Some(4.0)), "batches of {batch}");
    }
    // An ignored class that exists is not counted as right, either.
    let zero = Classification::with(CrossEntropy { ignore_index: Some(0), ..CrossEntropy::default() });
    let all = TensorDataset::new(x.clone(), Tensor::from(told.clone())).unwrap();
    let ones = told.iter().filter(|&&class| class == 1).count() as f64;
    assert!(ones > 0.0 && ones < 8.0);
    assert_eq!(evaluate(&net, &zero, &all, 3).unwrap()[1].count, Some(ones));
    assert_eq!(evaluate(&net, &zero, &all, 3).unwrap()[1].value, 1.0);
    // The wrong class is the one that is named, not the ignored one; a batch without rows that count is told.
    let wrong = TensorDataset::new(x.clone(), Tensor::from([-100i64, 0, 7, 0, 0, 0, 0, 0])).unwrap();
    let error = evaluate(&net, &task, &wrong, 8).unwrap_err().to_string();
    assert!(error.contains("class 7 in row 2"), "{error}");
    let nothing = TensorDataset::new(x, Tensor::full([8], -100.0, DType::I64)).unwrap();
    let error = quiet().fit(&mut smooth(2), &task, &nothing, None).unwrap_err().to_string();
    assert!(error.contains("no row that counts"), "{error}");
}

#[test]
fn scores_do_not_depend_on_the_size_of_batches_with_class_weights() {
    let (set, net) = (moons(50, 3), smooth(1));
    let labels: Vec<i64> = (0..50).map(|row| i64::from(row % 7 == 0)).collect(); // batches differ in their classes
    let set = TensorDataset::new(set.x().clone(), Tensor::from(labels)).unwrap();
    let task = Classification::new().class_weights(&[1.0, 6.0]);
    let whole = evaluate(&net, &task, &set, 50).unwrap();
    for batch in [1, 7, 16] {
        let scores = evaluate(&net, &task, &set, batch).unwrap();
        for (a, b) in scores.iter().zip(&whole) {
            assert!((a.value - b.value).abs() < 1e-6, "{a:?} {b:?}");
        }
    }
    assert!((whole[0].value - evaluate(&net, &Classification::new(), &set, 50).unwrap()[0].value).abs() > 1e-3);
    for (weights, word) in [(&[1.0][..], "are 1, and the net tells 2"), (&[1.0, -1.0], "have -1 for class 1")] {
        let error = evaluate(&net, &Classification::new().class_weights(weights), &set, 50).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

/// Targets may be distributions: the accuracy asks for the likeliest class.
#[test]
fn targets_may_be_distributions() {
    let (set, net) = (moons(40, 3), smooth(1));
    let soft = set.y().one_hot(2, DType::F32) * 0.8 + 0.1;
    let soft = TensorDataset::new(set.x().clone(), soft).unwrap();
    let (soft, hard) = (
        evaluate(&net, &Classification::new(), &soft, 16).unwrap(),
        evaluate(&net, &Classification::with(CrossEntropy { label_smoothing: 0.2, ..Default::default() }), &set, 16),
    );
    let hard = hard.unwrap();
    assert!((soft[0].value - hard[0].value).abs() < 1e-6 && soft[1].value == hard[1].value, "{soft:?} {hard:?}");
}

/// A layer frozen after some steps, when it has a velocity, keeps its bits under every rule.
#[test]
fn frozen_layers_keep_their_bits_under_a_rule_that_looks_ahead() {
    let (train, task) = (moons(64, 1), Classification::new());
    let mut net = smooth(4);
    let trainer = Trainer::new(NesterovLookAhead::new(0.05)).epochs(2).progress(Progress::Silent);
    let mut trainer = trainer.warm_start(true); // the layer has a velocity when it is frozen
    trainer.fit(&mut net, &task, &train, None).unwrap();
    net.layers[0].freeze("").unwrap();
    let (frozen, free) = (bits(&net.layers[0]), bits(&net.layers[1]));
    trainer.fit(&mut net, &task, &train, None).unwrap();
    assert_eq!(bits(&net.layers[0]), frozen);
    assert_ne!(bits(&net.layers[1]), free);
    // And so does a layer that is not frozen and gets no gradient.
    let first_only = |net: &Mlp, batch: &tove_data::Batch, pass: &Pass| {
        Ok(net.layers[1].forward(&net.layers[0].forward(&batch.x, pass)?.detach(), pass)?.square().mean())
    };
    net.layers[0].unfreeze("").unwrap();
    trainer.fit(&mut net, &task, &train, None).unwrap();
    let before = bits(&net.layers[0]);
    trainer.fit(&mut net, &first_only, &train, None).unwrap();
    assert_eq!(bits(&net.layers[0]), before);
}

/// A step that fails leaves nothing behind: parameters, running statistics and gradients are those before it.
#[test]
fn a_step_that_fails_leaves_no_trace() {
    let (train, task) = (moons(64, 1), Classification::new());
    let mut x = train.x().to_vec::<f32>();
    x[3] = f32::NAN;
    let dirty = TensorDataset::new(Tensor::from_vec(x, [64, 2]), train.y().clone()).unwrap();
    let mut labels = train.y().to_vec::<i64>();
    labels[5] = 9;
    let wrong = TensorDataset::new(train.x().clone(), Tensor::from(labels)).unwrap();
    for accumulate in [1, 4] {
        let batch = 64 / accumulate;
        // The last of four batches is at fault: gradients of three are there already.
        let trainers: [Trainer<'_>; 2] = [Trainer::new(Sgd::new(0.1)), Trainer::new(NesterovLookAhead::new(0.1))];
        for trainer in trainers {
            let mut trainer = trainer.epochs(2).batch_size(batch).accumulate(accumulate).progress(Progress::Silent);
            let mut net = crate::support::net();
            trainer.fit(&mut net, &task, &train, None).unwrap();
            let before = bits(&net);
            for (set, word) in [(&dirty, "NaN or infinite inputs"), (&wrong, "class 9")] {
                let error = trainer.fit(&mut net, &task, set, None).unwrap_err().to_string();
                assert!(error.contains(word), "{error}");
                assert_eq!(bits(&net), before);
                assert!(net.parameters().iter().all(|parameter| parameter.grad().is_none()));
            }
            // And the trainer can be used again.
            trainer.fit(&mut net, &task, &train, None).unwrap();
        }
    }
}

/// Weights after every step.
struct Weights<'a>(&'a mut Vec<Vec<f64>>);

impl Callback for Weights<'_> {
    fn evaluation(&mut self, _: &TrainingPoint, net: &dyn Module) -> Flow {
        self.0.push(net.parameters().iter().flat_map(|parameter| parameter.to_f64_vec()).collect());
        Flow::Continue
    }
}

#[test]
fn the_mean_of_weights_is_kept_judged_given_back_and_resumed() {
    let (train, valid, task) = (moons(100, 1), moons(60, 2), Classification::new());
    let decay = 0.8;
    let base = || quiet().steps(30).batch_size(16).evaluate_every(1);
    let mut each = Vec::new();
    base().callback(Weights(&mut each)).fit(&mut smooth(3), &task, &train, None).unwrap();
    // By hand from the weights of every step.
    let mut mean = each[0].clone();
    for (index, weights) in each.iter().enumerate().skip(1) {
        let step = (index + 1) as f64;
        let decay = f64::min(decay, (1.0 + step) / (10.0 + step));
        mean.iter_mut().zip(weights).for_each(|(mean, weight)| *mean = decay * *mean + (1.0 - decay) * weight);
    }
    let mut net = smooth(3);
    let report = base().average_weights(decay).fit(&mut net, &task, &train, Some(&valid)).unwrap();
    let found: Vec<f64> = net.parameters().iter().flat_map(|parameter| parameter.to_f64_vec()).collect();
    let gap = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(gap(&found, &mean) < 1e-5 && gap(&found, &each[29]) > 1e-2, "{}", gap(&found, &mean));
    // The scores are the mean's, and the steps are those of the weights.
    assert_eq!(report.score("loss"), Some(evaluate(&net, &task, &valid, 256).unwrap()[0].value));
    assert!(net.parameters().iter().all(|parameter| parameter.is_leaf()));
    // The best of the means can be taken back.
    let mut best = smooth(3);
    let kept = base().average_weights(decay).keep_best().fit(&mut best, &task, &train, Some(&valid)).unwrap();
    assert_eq!(kept.best.map(|best| best.0), Some(evaluate(&best, &task, &valid, 256).unwrap()[0].value));
    // Interrupted between evaluations and resumed: the same bits, running statistics of norms included.
    let scratch = Scratch::new("average");
    let run = |name: &str, stops: &[u64]| {
        let mut last = None;
        for &stop in stops {
            let flag = Arc::new(AtomicBool::new(false));
            let trainer = base().evaluate_every(4).average_weights(decay).checkpoint(scratch.file(name));
            let mut net = crate::support::net();
            let mut trainer = trainer.stop_when(flag.clone()).callback(After(stop, flag));
            let report = trainer.fit(&mut net, &task, &train, Some(&valid)).unwrap();
            last = Some((report.losses, bits(&net)));
        }
        last
    };
    assert_eq!(run("pieces", &[7, 14, 100]), run("whole", &[100]));
    for wrong in [1.0, -0.1, f64::NAN] {
        let error = base().average_weights(wrong).fit(&mut smooth(3), &task, &train, None).unwrap_err().to_string();
        assert!(error.contains("decay outside"), "{error}");
    }
}
