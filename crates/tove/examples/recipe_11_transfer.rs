//! Transfer: a net trained on the digits 0 to 6 serves for 7 to 9 with ten labels per class. A linear classifier of what
//! its convolutions see beats one of raw pixels over twenty draws of the labels, and so does training on with the
//! convolutions frozen, which stay as they were, bit for bit.

use tove::learn::{Fit, LogisticRegression, Predict};
use tove::nn::{Cnn, CnnConfig};
use tove::prelude::*;
use tove::tensor::random::permutation;

type Failure = Box<dyn std::error::Error>;

const DRAWS: u64 = 20;

/// The samples in some rows.
fn pick(x: &Tensor, y: &Tensor, rows: Vec<i64>) -> Result<TensorDataset, Failure> {
    let rows = Tensor::from(rows);
    Ok(TensorDataset::new(x.index_select(0, &rows), y.index_select(0, &rows))?)
}

/// The samples of some classes, renumbered from 0.
fn classes(x: &Tensor, y: &Tensor, wanted: std::ops::Range<i64>) -> Result<TensorDataset, Failure> {
    let rows = (0..).zip(y.to_vec::<i64>()).filter(|(_, c)| wanted.contains(c)).map(|(row, _)| row).collect();
    pick(x, &(y - wanted.start), rows)
}

/// Ten random rows of each of three classes, and all others.
fn draw(y: &Tensor, seed: u64) -> (Vec<i64>, Vec<i64>) {
    let (labels, mut taken) = (y.to_vec::<i64>(), [0; 3]);
    permutation(Key::new(seed), labels.len()).into_iter().partition(|&row| {
        let taken = &mut taken[labels[row as usize] as usize];
        *taken += 1;
        *taken <= 10
    })
}

/// What the convolutions make of images, (images, features). The hidden layer behind them keeps little but what tells its
/// own classes apart.
fn convolved(net: &Cnn, x: &Tensor) -> Result<Tensor, Failure> {
    let pass = Pass::eval().recording();
    no_grad(|| net.forward(x, &pass))?;
    Ok(pass.into_record().input(net, "fc1")?.clone())
}

/// Accuracy on `test` of a linear classifier trained on `train`.
fn linear(train: &TensorDataset, test: &TensorDataset) -> Result<f64, Failure> {
    let regression = LogisticRegression { max_iter: 1000, ..LogisticRegression::default() };
    let fitted = regression.fit(train.x().to_dtype(DType::F64), train.y())?;
    Ok(metrics::accuracy(test.y(), &fitted.predict(test.x().to_dtype(DType::F64))?, None)?.value)
}

/// Accuracy on `test` after training on with the convolutions frozen and a new last layer.
fn tune(net: &Cnn, train: &TensorDataset, test: &TensorDataset, seed: u64) -> Result<f64, Failure> {
    let mut net = net.clone();
    let before = net.state();
    net.freeze("convs")?;
    net.fc2 = Linear::new(128, 3, &mut Rng::new(seed));
    let mut trainer = Trainer::new(Adam::new(1e-3)).epochs(40).batch_size(10).seed(seed);
    trainer = trainer.evaluate_every(40).progress(Progress::Silent);
    let report = trainer.fit(&mut net, &Classification::new(), train, Some(test))?;
    for ((name, old), (_, new)) in before.iter().zip(net.state()).filter(|((name, _), _)| name.starts_with("convs")) {
        assert_eq!(old.to_vec::<f32>(), new.to_vec::<f32>(), "{name}");
    }
    Ok(report.score("accuracy").unwrap_or(0.0))
}

/// The mean of differences that belong together and its standard error.
fn paired(a: &[f64], b: &[f64]) -> (f64, f64) {
    let wins: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let n = wins.len() as f64;
    let mean = wins.iter().sum::<f64>() / n;
    (mean, (wins.iter().map(|win| (win - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt())
}

fn main() -> Result<(), Failure> {
    let digits = data::sets::digits()?;
    let (first, second) = (classes(digits.x(), digits.y(), 0..7)?, classes(digits.x(), digits.y(), 7..10)?);
    // One layer of convolutions: on images of 8 x 8 pixels, what a second one sees is no better than the pixels.
    let config = CnnConfig { widths: vec![64], ..CnnConfig::new([1, 8, 8], 7) };
    let mut net = Cnn::new(&config, &mut Rng::new(1))?;
    let moved = first.clone().augmented(data::Augment::new().shift(1, 1).rotate(10.0));
    Trainer::new(Adam::new(2e-3)).epochs(20).fit(&mut net, &Classification::new(), &moved, Some(&first))?;

    let (pixels, features) = (second.x().flatten(1), convolved(&net, second.x())?);
    let (mut raw, mut transferred, mut tuned) = (Vec::new(), Vec::new(), Vec::new());
    // Draws that had no part in the choice of the net.
    for seed in 200..200 + DRAWS {
        let (few, rest) = draw(second.y(), seed);
        let split = |x: &Tensor| -> Result<_, Failure> {
            Ok((pick(x, second.y(), few.clone())?, pick(x, second.y(), rest.clone())?))
        };
        let ((train, test), (images, others)) = (split(&pixels)?, split(second.x())?);
        raw.push(linear(&train, &test)?);
        let (train, test) = split(&features)?;
        transferred.push(linear(&train, &test)?);
        tuned.push(tune(&net, &images, &others, seed)?);
    }
    let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len() as f64;
    println!("ten labels per class, mean accuracy of {DRAWS} draws: {:.3} from pixels", mean(&raw));
    for (name, scores) in
        [("a linear classifier of the convolutions", &transferred), ("training on behind them", &tuned)]
    {
        let (win, error) = paired(scores, &raw);
        println!("{name}: {:.3}, ahead of pixels by {win:.3} ± {error:.3}", mean(scores));
    }
    let (win, error) = paired(&transferred, &raw);
    // The one-sided 1% point of Student's t with nineteen degrees of freedom.
    assert!(win > 2.54 * error, "{win} ± {error}");
    let (win, error) = paired(&tuned, &raw);
    assert!(win > 2.54 * error, "{win} ± {error}");
    Ok(())
}
