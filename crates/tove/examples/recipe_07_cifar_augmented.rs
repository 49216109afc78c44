//! 5,000 images of CIFAR-10: reflecting and shifting them at random teaches a convolutional net more than the images alone.

use tove::data::Augment;
use tove::nn::{Cnn, CnnConfig};
use tove::prelude::*;

fn accuracy(train: &dyn Dataset, test: &dyn Dataset) -> Result<f64, Box<dyn std::error::Error>> {
    let config =
        CnnConfig { widths: vec![32, 64, 96], batch_norm: true, dropout: 0.1, ..CnnConfig::new([3, 32, 32], 10) };
    let mut net = Cnn::new(&config, &mut Rng::new(1))?;
    let (epochs, batch) = (30, 100);
    let schedule = Schedule::one_cycle(epochs as u64 * 50);
    let mut trainer = Trainer::new(AdamW::new(3e-3)).epochs(epochs).batch_size(batch).schedule(schedule);
    let report = trainer.fit(&mut net, &Classification::new(), train, Some(test))?;
    Ok(report.score("accuracy").unwrap_or(0.0))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sets = match data::sets::cifar10_subset(None) {
        Ok(sets) => sets,
        Err(error @ data::DataError::Missing { .. }) => {
            println!("SKIPPED: data set absent: {error}");
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let (mean, std) = ([0.4913, 0.4814, 0.4445], [0.2476, 0.2445, 0.2627]);
    let plain = || Augment::new().normalize(&mean, &std);
    let test = sets.test.augmented(plain());
    let alone = accuracy(&sets.train.clone().augmented(plain()), &test)?;
    let changed = Augment::new().reflect_horizontal(0.5).random_crop(4).normalize(&mean, &std);
    let augmented = accuracy(&sets.train.augmented(changed), &test)?;
    println!("accuracy {alone:.3} without, {augmented:.3} with augmentation");
    assert!(augmented > 0.62 && augmented > alone);
    Ok(())
}
