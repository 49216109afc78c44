//! Fashion-MNIST with a small convolutional net: 92.4 % of the test images right. 91.8 % is asserted, because processors
//! with other instructions round differently.

use tove::nn::{Cnn, CnnConfig};
use tove::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sets = match data::sets::fashion_mnist(None) {
        Ok(sets) => sets,
        Err(error @ data::DataError::Missing { .. }) => {
            println!("SKIPPED: data set absent: {error}");
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let config = CnnConfig { dropout: 0.25, ..CnnConfig::new([1, 28, 28], 10) };
    let mut net = Cnn::new(&config, &mut Rng::new(1))?;
    println!("{}", summary(&net, &Tensor::zeros([1, 1, 28, 28], DType::F32))?);
    let (epochs, batch) = (8, 128);
    let schedule = Schedule::one_cycle(epochs as u64 * 60_000 / batch as u64);
    let mut trainer =
        Trainer::new(Adam::new(3e-3)).epochs(epochs).batch_size(batch).schedule(schedule).interruptible()?;
    let report = trainer.fit(&mut net, &Classification::new(), &sets.train, Some(&sets.test))?;
    println!("{report}");
    assert!(report.score("accuracy") >= Some(0.918));
    Ok(())
}
