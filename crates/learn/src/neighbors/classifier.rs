//! Classification by the classes of the nearest samples.
//!
//! ```
//! use tove_learn::{Fit, Predict, neighbors::KNeighborsClassifier};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[0.0], [1.0], [8.0], [9.0]]), Tensor::from([0i64, 0, 1, 1]));
//! let model = KNeighborsClassifier::default().n_neighbors(3).fit(&x, &y)?;
//! assert_eq!(model.predict(&Tensor::from([[2.0], [7.0]]))?.to_vec::<i64>(), [0, 1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::random::fill_uniform;
use tove_tensor::{Key, Tensor};

use super::metric::{Metric, NeighborAlgorithm, NeighborSettings, neighbor_settings_setters};
use super::{Index, NeighborWeights, Neighbors, RadiusNeighbors};
use crate::{About, Algorithm, Capabilities, Labels, LearnError, Model, Record, Restore, Result, Rows, Samples};

/// Which class wins where several have the same share of the votes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Ties {
    /// The smallest label, as in scikit-learn.
    #[default]
    First,
    /// One of them, drawn with `seed`; the draw depends on the features of the row, not on the rows beside it.
    Random,
}

/// The k nearest samples vote on the class, as scikit-learn's `KNeighborsClassifier`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct KNeighborsClassifier {
    /// Number of neighbors that vote.
    #[hyper(default = 5, range = "[1, inf)", alias = "k")]
    pub n_neighbors: usize,
    /// Weights of the votes: uniform, or distance for one over the distance.
    #[hyper(default = NeighborWeights::Uniform)]
    pub weights: NeighborWeights,
    /// Distance and algorithm.
    #[hyper(flatten)]
    pub search: NeighborSettings,
    /// Which class wins a tie: first or random.
    #[hyper(default = Ties::First)]
    pub ties: Ties,
    /// Seed of random ties.
    #[hyper(default = 0, alias = "random_state")]
    pub seed: u64,
}

// Not derived: the metric among the settings decides which tensors a file has, and the search structure is rebuilt from them.
/// A fitted [`KNeighborsClassifier`].
#[derive(Clone, Debug)]
pub struct FittedKNeighborsClassifier {
    about: About,
    settings: KNeighborsClassifier,
    index: Index,
    /// The place of each sample's class among the classes.
    codes: Vec<usize>,
}

impl Algorithm for KNeighborsClassifier {
    type Fitted = FittedKNeighborsClassifier;
    const CAPABILITIES: Capabilities =
        Capabilities { probabilities: true, neighbors: true, ..Capabilities::CLASSIFIER };

    fn train(&self, samples: &Samples) -> Result<FittedKNeighborsClassifier> {
        let labels = Labels::several(Self::NAME, samples.y()?)?;
        enough(Self::NAME, self.n_neighbors, samples.len())?;
        let index = Index::new(Self::NAME, &self.search, samples)?;
        let about = About::of(self, samples).classes(labels.classes());
        Ok(FittedKNeighborsClassifier { about, settings: self.clone(), index, codes: labels.codes().to_vec() })
    }
}

/// That there are as many samples as neighbors.
pub(super) fn enough(who: &'static str, k: usize, n: usize) -> Result<()> {
    if k <= n {
        return Ok(());
    }
    let fix = format!("give more, or set `n_neighbors` to at most {n}");
    Err(LearnError::TooFew { who, found: n, needed: k, fix })
}

impl FittedKNeighborsClassifier {
    /// Shares of the classes in the votes, (n, m), row by row.
    fn shares(&self, x: &Rows) -> Result<Vec<f64>> {
        let (k, m) = (self.settings.n_neighbors, self.classes().len());
        let mut shares = vec![0.0; x.len() * m];
        let found = self.index.nearest(x, k)?;
        for (neighbors, shares) in found.chunks_exact(k).zip(shares.chunks_exact_mut(m)) {
            for (weight, (_, sample)) in self.settings.weights.of(neighbors).iter().zip(neighbors) {
                shares[self.codes[*sample as usize]] += weight;
            }
        }
        Ok(shares)
    }

    /// A class drawn among those with the largest share.
    fn draw(&self, shares: &[f64], bits: impl Iterator<Item = u64>) -> usize {
        let most = shares.iter().fold(0.0f64, |most, share| most.max(*share));
        let best: Vec<usize> = (0..shares.len()).filter(|&class| shares[class] == most).collect();
        if let [only] = best[..] {
            return only;
        }
        let key = bits.fold(Key::new(self.settings.seed), Key::fold);
        let mut share = [0.0f64];
        fill_uniform(key, &mut share);
        best[((share[0] * best.len() as f64) as usize).min(best.len() - 1)]
    }
}

impl Model for FittedKNeighborsClassifier {
    fn about(&self) -> &About {
        &self.about
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let m = self.classes().len();
        // Of the shares as they are returned, so that predictions agree with them in any precision.
        let shares = self.proba_rows(x)?.to_f64_vec();
        if self.settings.ties == Ties::First {
            let first = |row: &[f64]| crate::logistic::linear::first_largest(row);
            return Ok(Labels::decode(self.classes(), shares.chunks_exact(m).map(first)));
        }
        let rows = x.dense(self.name())?.to_f64_vec();
        let rows = rows.chunks_exact(self.width()).map(|row| row.iter().map(|x| x.to_bits()));
        let drawn = shares.chunks_exact(m).zip(rows).map(|(shares, bits)| self.draw(shares, bits));
        Ok(Labels::decode(self.classes(), drawn.collect::<Vec<_>>()))
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        let (shares, m) = (self.shares(x)?, self.classes().len());
        Ok(Tensor::try_from_vec(shares, [x.len(), m])?.to_dtype(self.dtype()))
    }

    fn neighbor_rows(&self, x: &Rows, k: usize) -> Result<Neighbors> {
        self.index.kneighbors(x, k)
    }

    fn radius_rows(&self, x: &Rows, radius: f64) -> Result<RadiusNeighbors> {
        self.index.within(x, radius)
    }

    fn record(&self) -> Record {
        let mut record = self.about.record();
        self.index.write(&mut record);
        let codes: Vec<i64> = self.codes.iter().map(|&code| code as i64).collect();
        record.put_tensor("codes", &Tensor::from_slice(&codes));
        record
    }
}

impl Restore for FittedKNeighborsClassifier {
    fn restore(record: &Record) -> Result<FittedKNeighborsClassifier> {
        let settings: KNeighborsClassifier = record.settings(KNeighborsClassifier::NAME, 1)?;
        let index = Index::read(KNeighborsClassifier::NAME, &settings.search, record)?;
        let about = About::read(&settings, record, index.width(), index.dtype())?;
        let classes = about.classes.len();
        let code = |code: i64| usize::try_from(code).ok().filter(|&code| code < classes);
        let codes: Option<Vec<usize>> = record.integers("codes")?.into_iter().map(code).collect();
        let codes = codes.filter(|codes| codes.len() == index.len());
        let codes = codes.ok_or_else(|| record.wrong("codes", "the class of each sample"))?;
        if settings.n_neighbors > index.len() {
            return Err(record.wrong("fit_x", "as many samples as `n_neighbors`"));
        }
        Ok(FittedKNeighborsClassifier { about, settings, index, codes })
    }
}
