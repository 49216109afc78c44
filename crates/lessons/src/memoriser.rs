//! A lookup table learns its samples by heart and nothing else: the risk on the training set is 0, on fresh samples that of
//! guessing. It shows why the training error alone says nothing: the gap |expected − empirical risk| is as large as it can be.
//!
//! ```
//! use tove_learn::{Fit, Predict};
//! use tove_lessons::memoriser::Memoriser;
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[0.1], [0.2], [0.3]]), Tensor::from([1i64, 0, 1]));
//! let table = Memoriser::default().fit(&x, &y)?;
//! assert_eq!(table.predict(&x)?.to_vec::<i64>(), [1, 0, 1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::collections::HashMap;

use tove_learn::{About, Algorithm, Capabilities, Fit, Labels, Model, Record, Restore, Result, Rows, Samples};
use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::{Key, Tensor};

/// Remembers every sample; guesses a class by the seed for rows it has not seen.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct Memoriser {
    /// Seed of the guesses.
    #[hyper(default = 0)]
    pub seed: u64,
}

// Not derived: its table is made from the samples, which are what the file holds.
/// A fitted [`Memoriser`].
#[derive(Clone, Debug)]
pub struct FittedMemoriser {
    about: About,
    settings: Memoriser,
    table: HashMap<Vec<u64>, i64>,
    samples: Samples,
}

/// The bits of each row.
fn rows(x: &Rows) -> Result<Vec<Vec<u64>>> {
    let x = x.dense(Memoriser::NAME)?;
    let width = x.dims()[1].max(1);
    Ok(x.to_f64_vec().chunks(width).map(|row| row.iter().map(|value| value.to_bits()).collect()).collect())
}

impl Algorithm for Memoriser {
    type Fitted = FittedMemoriser;
    const CAPABILITIES: Capabilities = Capabilities::CLASSIFIER;

    fn train(&self, samples: &Samples) -> Result<FittedMemoriser> {
        let labels = Labels::several(Self::NAME, samples.y()?)?;
        let classes = labels.classes().to_vec();
        let table = rows(samples.x())?.into_iter().zip(labels.codes().iter().map(|&code| classes[code])).collect();
        let about = About::of(self, samples).classes(&classes);
        Ok(FittedMemoriser { about, settings: self.clone(), table, samples: samples.clone() })
    }
}

impl Model for FittedMemoriser {
    fn about(&self) -> &About {
        &self.about
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let guess = |row: &[u64]| {
            let key = row.iter().fold(Key::new(self.settings.seed), |key, &bits| key.fold(bits));
            let place = key.integers(0, self.classes().len() as i64, [1]).item::<i64>();
            self.classes()[place as usize]
        };
        let answers =
            rows(x)?.iter().map(|row| self.table.get(row).copied().unwrap_or_else(|| guess(row))).collect::<Vec<i64>>();
        Ok(Tensor::from_slice(&answers))
    }

    fn record(&self) -> Record {
        let mut record = self.about.record();
        if let Rows::Dense(x) = self.samples.x() {
            record.put_tensor("x", x);
        }
        if let Some(y) = self.samples.targets() {
            record.put_tensor("y", y);
        }
        record
    }
}

impl Restore for FittedMemoriser {
    fn restore(record: &Record) -> Result<FittedMemoriser> {
        let settings: Memoriser = record.settings(Memoriser::NAME, 1)?;
        settings.fit_samples(&Samples::new(record.tensor("x")?, record.tensor("y")?)?)
    }
}
