//! Over- and underfitting, regularisation and ensembles, with nets and estimators together.
#![allow(clippy::unwrap_used)]

use tove::prelude::*;
use tove_data::DataError;
use tove_data::sets::two_moons;
use tove_learn::Samples;
use tove_learn::diagnostics::{Fitness, Loss, diagnose_fit};
use tove_learn::ensemble::{average_probabilities, vote};
use tove_learn::linear::LinearRegression;
use tove_learn::selection::{KFold, Scorer, Train, learning_curve};
use tove_nn::Task;

/// Two moons with a fifth of the labels wrong.
fn noisy(count: usize, seed: u64) -> TensorDataset {
    let clean = two_moons(count, 0.1, Key::new(seed)).unwrap().to_dtype(DType::F32).unwrap();
    let flip = Key::new(seed).fold(7).bernoulli(0.2, [count]).to_dtype(DType::I64);
    TensorDataset::new(clean.x().clone(), (clean.y() + flip).rem(&Tensor::from(2i64))).unwrap()
}

/// Cross-entropy of a net on a set.
fn loss(net: &Mlp, set: &TensorDataset) -> f64 {
    evaluate(net, &Classification::new(), set, 1000).unwrap()[0].value
}

fn trainer(epochs: usize, seed: u64) -> Trainer<'static> {
    Trainer::new(Adam::new(0.01)).epochs(epochs).batch_size(20).seed(seed).progress(Progress::Silent)
}

/// Noisy points of a cubic, as Chebyshev polynomials up to a degree.
fn cubic(n: usize, degree: usize, seed: u64) -> Samples {
    let key = Key::new(seed);
    let x: Vec<f64> = key.fold(0).uniform([n], DType::F64).to_f64_vec().iter().map(|u| 2.0 * u - 1.0).collect();
    let noise = key.fold(1).normal([n], DType::F64).to_f64_vec();
    let y: Vec<f64> = x.iter().zip(&noise).map(|(x, e)| 4.0 * x * x * x - 2.0 * x + 0.5 + 0.3 * e).collect();
    let rows = x.iter().flat_map(|x| (1..=degree).map(move |k| (k as f64 * x.acos()).cos())).collect();
    Samples::new(Tensor::from_vec(rows, [n, degree]), &Tensor::from_slice(&y)).unwrap()
}

#[test]
fn g4_reports_label_over_and_underfitting_and_width_helps_or_hurts() {
    let line = LinearRegression::default();
    for seed in 0..5 {
        let label = |degree| {
            let train = Train::new(&cubic(30, degree, 100 + seed));
            diagnose_fit(&line, &train, &KFold::new(5).shuffled(seed), Loss::Squared, None).unwrap()
        };
        let (stiff, wild) = (label(1), label(15));
        assert_eq!(stiff.fitness, Fitness::Underfitted, "{stiff}");
        assert_eq!(wild.fitness, Fitness::Overfitted, "{wild}");
        let right = label(3);
        assert_eq!(right.fitness, Fitness::Fitted, "{right}");
        assert!(wild.train < 0.5 * stiff.train && wild.left_out > 2.0 * wild.train); // low, then high
        assert!(stiff.train > 2.0 * right.train && stiff.left_out > 2.0 * right.left_out); // both high
    }
    // More data shrinks the gap of the overfit.
    let train = Train::new(&cubic(1250, 15, 7));
    let curve =
        learning_curve(&line, &train, &[30, 100, 300, 1000], &KFold::new(5), Scorer::NegMeanSquaredError).unwrap();
    assert!(curve.windows(2).all(|two| two[1].gap() < 0.75 * two[0].gap()), "{curve:?}");
    // Wider layers help a net that underfits: clean moons and 2, then 32 units.
    let fit = |width: usize, train: &TensorDataset, epochs: usize, seed: u64| {
        let mut net = Mlp::new(&[2, width, 2], &mut Rng::new(seed));
        trainer(epochs, seed).fit(&mut net, &Classification::new(), train, None).unwrap();
        net
    };
    let clean = |count, seed| two_moons(count, 0.1, Key::new(seed)).unwrap().to_dtype(DType::F32).unwrap();
    let (train, test) = (clean(300, 1), clean(1000, 2));
    let mean = |width: usize, on: &TensorDataset| {
        (0..3).map(|seed| loss(&fit(width, &train, 40, seed), on)).sum::<f64>() / 3.0
    };
    let (narrow, wide) = ([mean(2, &train), mean(2, &test)], [mean(32, &train), mean(32, &test)]);
    assert!(narrow[0] > 0.15 && narrow[1] > 0.15, "underfitted: both errors are high, {narrow:?}");
    assert!(wide[0] < 0.5 * narrow[0] && wide[1] < 0.5 * narrow[1], "{wide:?} {narrow:?}");
    // They hurt one that overfits: few samples, a fifth of the labels wrong, 16 units, then 256.
    let test = noisy(1000, 50);
    let (mut small, mut large) = ([0.0; 2], [0.0; 2]);
    for seed in 0..3 {
        let train = noisy(60, 10 + seed);
        for (width, sums) in [(16, &mut small), (256, &mut large)] {
            let net = fit(width, &train, 300, seed);
            sums[0] += loss(&net, &train) / 3.0;
            sums[1] += loss(&net, &test) / 3.0;
        }
    }
    assert!(small[1] > 1.5 * small[0], "overfitted: {small:?}");
    assert!(large[1] > 1.2 * small[1] && large[0] < small[0], "{small:?} {large:?}");
}

/// The set with noise on its inputs, new in every batch.
struct Jittered(TensorDataset, f64);

impl Dataset for Jittered {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn batch(&self, indices: &[usize], key: Key) -> std::result::Result<Batch, DataError> {
        let batch = self.0.batch(indices, key)?;
        let noise = key.fold(1).normal([indices.len(), 2], DType::F32) * self.1;
        Ok(Batch { x: batch.x + noise, y: batch.y })
    }
}

/// The net after training with a regulariser.
fn regularised(name: &str, train: &TensorDataset, valid: &TensorDataset, seed: u64) -> Mlp {
    let mut net = Mlp::new(&[2, 64, 64, 2], &mut Rng::new(seed));
    let plain = Classification::new();
    let penalised = |strength: f64, power: i32| {
        move |net: &Mlp, batch: &Batch, pass: &Pass| -> tove_nn::Result<Tensor> {
            let mut loss = Task::loss(&Classification::new(), net, batch, pass)?;
            for layer in net.layers.iter().filter(|_| pass.is_training()) {
                let size = if power == 2 { &layer.weight * &layer.weight } else { layer.weight.abs() };
                loss += size.sum() * strength;
            }
            Ok(loss)
        }
    };
    let mut run = trainer(150, seed);
    let done = match name {
        "none" => run.fit(&mut net, &plain, train, None),
        "l2" => run.fit(&mut net, &penalised(0.003, 2), train, None),
        "l1" => run.fit(&mut net, &penalised(0.001, 1), train, None),
        "dropout" => {
            net = net.dropout(0.5);
            run.fit(&mut net, &plain, train, None)
        }
        "augmentation" => run.fit(&mut net, &plain, &Jittered(train.clone(), 0.3), None),
        "smoothing" => {
            let options = CrossEntropy { label_smoothing: 0.2, ..CrossEntropy::default() };
            run.fit(&mut net, &Classification::with(options), train, None)
        }
        _ => run.early_stopping(15, 0.0).fit(&mut net, &plain, train, Some(valid)),
    };
    done.unwrap();
    net
}

#[test]
fn g14_regularisers_raise_the_training_error_and_lower_the_test_error() {
    let (valid, test) = (noisy(200, 2), noisy(1000, 3));
    let seeds = 3;
    let table = ["none", "l2", "l1", "dropout", "augmentation", "smoothing", "early stopping"].map(|name| {
        let (mut own, mut other) = (0.0, 0.0);
        for seed in 0..seeds {
            let train = noisy(60, 20 + seed);
            let net = regularised(name, &train, &valid, seed);
            own += loss(&net, &train) / seeds as f64;
            other += loss(&net, &test) / seeds as f64;
        }
        println!("{name:>15}: training error {own:.3}, test error {other:.3}");
        (name, own, other)
    });
    let (_, own, other) = table[0];
    assert!(other > 3.0 * own, "the task must be overfitted without");
    for (name, train, test) in &table[1..] {
        assert!(*train >= own, "{name}: {train} < {own}");
        assert!(*test < 0.9 * other, "{name}: {test} against {other}");
    }
}

#[test]
fn averages_of_nets_beat_their_members_in_the_mean() {
    let test = noisy(1000, 3);
    let nets: Vec<Mlp> = (0..7).map(|seed| regularised("none", &noisy(60, 20), &test, seed)).collect();
    // Bootstrap sets make nets differ more than seeds alone.
    let draw = |seed: u64| Key::new(9).fold(seed).integers(0, 60, [60]);
    let train = noisy(60, 20);
    let bagged: Vec<Mlp> = (0..7)
        .map(|seed| {
            let places = draw(seed);
            let set =
                TensorDataset::new(train.x().index_select(0, &places), train.y().index_select(0, &places)).unwrap();
            regularised("none", &set, &test, seed)
        })
        .collect();
    for family in [&nets, &bagged] {
        let answers: Vec<Tensor> =
            family.iter().map(|net| net.forward(test.x(), &Pass::eval()).unwrap().softmax(1)).collect();
        let joint = average_probabilities(&answers, None).unwrap();
        let log_loss = |p: &Tensor| {
            tove_metrics::log_loss(
                test.y(),
                &p.to_dtype(DType::F64).div(&p.to_dtype(DType::F64).sum_axes(&[1], true)),
                None,
            )
            .unwrap()
            .value
        };
        let alone = answers.iter().map(log_loss).sum::<f64>() / answers.len() as f64;
        assert!(log_loss(&joint) < 0.9 * alone, "{} {alone}", log_loss(&joint)); // convexity of the loss
        let labels: Vec<Tensor> = answers.iter().map(|p| p.argmax(1)).collect();
        let right = |labels: &Tensor| tove_metrics::accuracy(test.y(), labels, None).unwrap().value;
        let each = labels.iter().map(right).sum::<f64>() / labels.len() as f64;
        assert!(right(&vote(&labels, None).unwrap()) >= each);
    }
}
