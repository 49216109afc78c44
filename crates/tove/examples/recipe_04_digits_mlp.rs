//! Handwritten digits (bundled, 8 × 8) with a small MLP: above 95 % of unseen digits right.

use tove::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let digits = data::sets::digits()?;
    let labels = digits.y().clone();
    let (train, test) = digits.split_stratified(&labels, 0.8, Key::new(0))?;
    let mut rng = Rng::new(1);
    let mut net = Sequential::new().add(Flatten::new()).add(Mlp::new(&[64, 64, 10], &mut rng));
    println!("{}", summary(&net, &Tensor::zeros([1, 1, 8, 8], DType::F32))?);
    let report = Trainer::new(Adam::new(3e-3)).epochs(20).fit(&mut net, &Classification::new(), &train, Some(&test))?;
    println!("{report}");
    assert!(report.score("accuracy") > Some(0.95));
    Ok(())
}
