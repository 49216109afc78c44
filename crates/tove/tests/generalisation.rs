//! Over- and underfitting, regularisation and ensembles, with nets and estimators together.
#![allow(clippy::unwrap_used)]

use tove::prelude::*;
use tove_data::DataError;
use tove_data::sets::two_moons;
use tove_learn::Samples;
use tove_learn::diagnostics::{Fitness, RiskLoss, diagnose_fit};
use tove_learn::ensemble::{average_probabilities, vote};
use tove_learn::linear::LinearRegression;
use tove_learn::selection::{KFold, Scorer, Train, learning_curve};
use tove_nn::TrainingTask;

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

/// Share of wrong classes of a net on a set.
fn wrong(net: &Mlp, set: &TensorDataset) -> f64 {
    let answers = net.forward(set.x(), &Pass::eval()).unwrap().argmax(1);
    1.0 - tove_metrics::accuracy(set.y(), &answers, None).unwrap().value
}

/// Student's t of paired differences: their mean in standard errors.
fn paired_t(before: &[f64], after: &[f64]) -> f64 {
    let differences: Vec<f64> = before.iter().zip(after).map(|(before, after)| after - before).collect();
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    mean / (variance / n).sqrt()
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
    for seed in 0..20 {
        let label = |degree| {
            let train = Train::new(&cubic(30, degree, 100 + seed));
            diagnose_fit(&line, &train, &KFold::new(5).shuffled(seed), RiskLoss::Squared, None).unwrap()
        };
        let (stiff, wild) = (label(1), label(15));
        assert_eq!(stiff.fitness, Fitness::Underfitted, "{stiff}");
        assert_eq!(wild.fitness, Fitness::Overfitted, "{wild}");
        let right = label(3);
        assert_eq!(right.fitness, Fitness::Fitted, "{right}");
        assert!(wild.train < 0.5 * stiff.train && wild.left_out > 2.0 * wild.train); // low, then high
        assert!(stiff.train > 2.0 * right.train && stiff.left_out > 1.5 * right.left_out); // both high
        assert!(stiff.to_string().contains("underfitted") && wild.to_string().contains("overfitted"));
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
    // Eight seeds, each with data of its own.
    let mut overfit = [const { Vec::new() }; 4]; // errors of the small net on training and test samples, then of the large one
    for seed in 0..8 {
        let (train, test) = (clean(300, 100 + seed), clean(1000, 200 + seed));
        let [narrow, wide] = [2, 32].map(|width| fit(width, &train, 40, seed));
        let (low, high) = ([loss(&wide, &train), loss(&wide, &test)], [loss(&narrow, &train), loss(&narrow, &test)]);
        assert!(high[0] > 0.1 && high[1] > 0.1, "underfitted: both errors are high, {high:?}");
        assert!(low[0] < 0.5 * high[0] && low[1] < 0.5 * high[1], "{low:?} {high:?}");
        // They hurt one that overfits: few samples, a fifth of the labels wrong, 16 units, then 256.
        let (train, test) = (noisy(60, 10 + seed), noisy(1000, 300 + seed));
        let [small, large] = [16, 256].map(|width| fit(width, &train, 300, seed));
        let errors = [loss(&small, &train), loss(&small, &test), loss(&large, &train), loss(&large, &test)];
        overfit.iter_mut().zip(errors).for_each(|(list, error)| list.push(error));
    }
    // t of 7 degrees of freedom is above 3 by chance once in 100 times.
    let [own, others, wide_own, wide_others] = &overfit;
    let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
    assert!(mean(others) > 1.5 * mean(own) && mean(wide_others) > 1.2 * mean(others), "{overfit:?}");
    assert!(paired_t(own, others) > 3.0, "overfitted: {overfit:?}");
    assert!(paired_t(others, wide_others) > 3.0, "wider is worse on other samples: {overfit:?}");
    assert!(paired_t(own, wide_own) < -3.0, "and better on its own: {overfit:?}");
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
            let mut loss = TrainingTask::loss(&Classification::new(), net, batch, pass)?;
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
    // Twelve seeds, each with training data, validation data and initial weights of its own, all regularisers on the same.
    let test = noisy(2000, 3);
    let seeds: Vec<u64> = (0..12).collect();
    let measured = |name: &str| {
        let each = seeds.iter().map(|&seed| {
            let (train, valid) = (noisy(60, 20 + seed), noisy(200, 500 + seed));
            let net = regularised(name, &train, &valid, seed);
            [loss(&net, &train), wrong(&net, &train), loss(&net, &test), wrong(&net, &test)]
        });
        let each: Vec<[f64; 4]> = each.collect();
        [0, 1, 2, 3].map(|part| each.iter().map(|errors| errors[part]).collect::<Vec<f64>>())
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let plain = measured("none");
    assert!(mean(&plain[2]) > 3.0 * mean(&plain[0]), "the task must be overfitted without");
    assert!(mean(&plain[3]) > mean(&plain[1]) + 0.1, "in wrong answers too");
    for name in ["l2", "l1", "dropout", "augmentation", "smoothing", "early stopping"] {
        let with = measured(name);
        let t = [0, 1, 2, 3].map(|part| paired_t(&plain[part], &with[part]));
        println!(
            "{name:>15}: {:.3?} against {:.3?}, t {t:.1?}",
            with.clone().map(|v| mean(&v)),
            plain.clone().map(|v| mean(&v))
        );
        // Training error is not lower, neither in cross-entropy nor in wrong answers; test error is lower. t of 11 degrees of
        // freedom is above 3.5 by chance once in 400 times. Wrong answers are lower in the mean: smoothing mends how sure a net
        // is more than what it says.
        let pairs = |part: usize| plain[part].iter().zip(&with[part]);
        assert!(pairs(0).all(|(without, with)| with >= without), "{name}: training error {:?}", with[0]);
        assert!(mean(&with[1]) >= mean(&plain[1]), "{name}: wrong on training samples {:?}", with[1]);
        assert!(t[2] < -3.5, "{name}: test error {:?}", with[2]);
        assert!(mean(&with[3]) < mean(&plain[3]), "{name}: wrong on test samples {:?}", with[3]);
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
