//! Transfer: a net trained on the digits 0 to 6 serves for 7 to 9 with ten labels per class. Training on with its
//! convolutions frozen beats a linear classifier of raw pixels, and the frozen layers stay as they were, bit for bit.

use tove::nn::{Cnn, CnnConfig};
use tove::prelude::*;

type Failure = Box<dyn std::error::Error>;

/// The samples of some classes, renumbered from 0.
fn classes(x: &Tensor, y: &Tensor, wanted: std::ops::Range<i64>) -> Result<TensorDataset, Failure> {
    let rows: Vec<i64> = (0..).zip(y.to_vec::<i64>()).filter(|(_, c)| wanted.contains(c)).map(|(row, _)| row).collect();
    let rows = Tensor::from(rows);
    Ok(TensorDataset::new(x.index_select(0, &rows), y.index_select(0, &rows) - wanted.start)?)
}

/// A linear classifier on features: accuracy on `test` after training on `train`.
fn linear(train: &TensorDataset, test: &TensorDataset) -> Result<f64, Failure> {
    let mut net = Linear::new(train.x().dims()[1], 3, &mut Rng::new(0));
    let rule = AdamW::new(0.01).with(|settings| settings.weight_decay(0.1));
    let mut trainer = Trainer::new(rule).epochs(300).batch_size(50).evaluate_every(300).progress(Progress::Silent);
    let report = trainer.fit(&mut net, &Classification::new(), train, Some(test))?;
    Ok(report.score("accuracy").unwrap_or(0.0))
}

fn main() -> Result<(), Failure> {
    let digits = data::sets::digits()?;
    let (first, second) = (classes(digits.x(), digits.y(), 0..7)?, classes(digits.x(), digits.y(), 7..10)?);
    let config = CnnConfig { widths: vec![16, 32], hidden: 64, ..CnnConfig::new([1, 8, 8], 7) };
    let mut net = Cnn::new(&config, &mut Rng::new(1))?;
    let moved = first.clone().augmented(data::Augment::new().shift(1, 1).rotate(15.0));
    Trainer::new(Adam::new(2e-3)).epochs(40).fit(&mut net, &Classification::new(), &moved, Some(&first))?;

    // Ten labels of each of the other classes.
    let labels = second.y().to_vec::<i64>();
    let few: Vec<usize> =
        (0..3).flat_map(|c| (0..labels.len()).filter(|&i| labels[i] == c).take(10).collect::<Vec<_>>()).collect();
    let rest: Vec<usize> = (0..labels.len()).filter(|i| !few.contains(i)).collect();
    let pick = |x: &Tensor, rows: &[usize]| -> Result<TensorDataset, Failure> {
        let rows = Tensor::from(rows.iter().map(|&row| row as i64).collect::<Vec<_>>());
        Ok(TensorDataset::new(x.index_select(0, &rows), second.y().index_select(0, &rows))?)
    };
    let pixels = second.x().flatten(1);
    let features = no_grad(|| net.features(second.x(), &Pass::eval()))?;
    let raw = linear(&pick(&pixels, &few)?, &pick(&pixels, &rest)?)?;
    let transferred = linear(&pick(&features, &few)?, &pick(&features, &rest)?)?;
    println!("ten labels per class: {raw:.3} from pixels, {transferred:.3} from the net's features");

    // Or train on with the convolutions frozen and a new head.
    let before = net.state();
    net.freeze("convs")?;
    net.fc2 = Linear::new(64, 3, &mut Rng::new(2));
    let (few, rest) = (pick(second.x(), &few)?, pick(second.x(), &rest)?);
    let mut trainer = Trainer::new(Adam::new(2e-3)).epochs(40).batch_size(10).progress(Progress::Silent);
    let report = trainer.fit(&mut net, &Classification::new(), &few, Some(&rest))?;
    let tuned = report.score("accuracy").unwrap_or(0.0);
    println!("trained on with frozen convolutions: {tuned:.3}");
    for ((name, old), (_, new)) in before.iter().zip(net.state()).filter(|((name, _), _)| name.starts_with("convs")) {
        assert_eq!(old.to_vec::<f32>(), new.to_vec::<f32>(), "{name}");
    }
    assert!(tuned > raw + 0.02);
    Ok(())
}
