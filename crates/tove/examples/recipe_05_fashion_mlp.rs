//! Fashion-MNIST with an MLP 784-512-256-10: at least 89 % of the test images right.
//! Needs the data set; the error says where to get it.

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
    let mut rng = Rng::new(1);
    let mut net = Sequential::new().add(Flatten::new()).add(Mlp::new(&[784, 512, 256, 10], &mut rng).dropout(0.2));
    let steps = 15 * 60_000 / 128;
    let mut trainer = Trainer::new(Adam::new(2e-3)).epochs(15).batch_size(128).schedule(Schedule::cosine(steps));
    let report = trainer.fit(&mut net, &Classification::new(), &sets.train, Some(&sets.test))?;
    println!("{report}");
    assert!(report.score("accuracy") >= Some(0.89));
    Ok(())
}
