//! The confusion matrix.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use tove_tensor::Tensor;

use crate::read::{View, Weights, check_pair, dense};
use crate::{MetricError, Result};

/// More classes than this make no table that anybody reads, and a square of them no small memory.
const MOST: usize = 4096;

/// Counts (or weights) by true class (rows) and predicted class (columns).
///
/// ```
/// use tove_metrics::ConfusionMatrix;
/// use tove_tensor::Tensor;
/// let matrix = ConfusionMatrix::new(&Tensor::from([0i64, 0, 1, 1]), &Tensor::from([0i64, 1, 1, 1]), None)?;
/// assert_eq!(matrix.count(0, 1), Some(1.0));
/// assert_eq!(matrix.to_string(), "\
/// true \\ predicted  0  1
///                0  1  1
///                1  0  2
/// ");
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ConfusionMatrix {
    labels: Vec<i64>,
    names: Vec<String>,
    /// Row-major, (classes, classes).
    counts: Vec<f64>,
}

impl ConfusionMatrix {
    /// Counts over the classes that occur in truth or prediction, in their order.
    ///
    /// # Errors
    /// If there are no samples, lengths differ, classes are not whole numbers, or there are more than 4096 of them.
    pub fn new(truth: &Tensor, prediction: &Tensor, weights: Option<&Tensor>) -> Result<Self> {
        const WHAT: &str = "ConfusionMatrix";
        let n = check_pair(WHAT, truth, prediction)?;
        let weights = Weights::new(WHAT, weights, n)?;
        let weight = weights.get()?;
        let (truth, prediction) = (dense(truth), dense(prediction));
        let (truth, prediction) = (View::of(&truth)?, View::of(&prediction)?);
        let labels: BTreeSet<i64> = (0..n).flat_map(|i| [truth.whole(i), prediction.whole(i)]).collect();
        if labels.len() > MOST {
            let problem = format!("{} classes; a confusion matrix has at most {MOST}", labels.len());
            return Err(MetricError::parameter(WHAT, problem));
        }
        let place: BTreeMap<i64, usize> = labels.iter().enumerate().map(|(place, &label)| (label, place)).collect();
        let mut counts = vec![0.0; labels.len() * labels.len()];
        for i in 0..n {
            counts[place[&truth.whole(i)] * labels.len() + place[&prediction.whole(i)]] += weight(i);
        }
        let names = labels.iter().map(i64::to_string).collect();
        Ok(Self { labels: labels.into_iter().collect(), names, counts })
    }

    /// The same counts, printed with names instead of numbers; class k is called `names[k]`.
    #[must_use]
    pub fn named(mut self, names: &[&str]) -> Self {
        for (name, &label) in self.names.iter_mut().zip(&self.labels) {
            if let Some(given) = usize::try_from(label).ok().and_then(|label| names.get(label)) {
                *name = (*given).to_owned();
            }
        }
        self
    }

    /// The classes, in the order of rows and columns.
    pub fn labels(&self) -> &[i64] {
        &self.labels
    }

    /// All counts, row by row.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// How much of class `truth` was taken for class `prediction`; none for a class that does not occur.
    pub fn count(&self, truth: i64, prediction: i64) -> Option<f64> {
        let (row, column) = (self.labels.binary_search(&truth).ok()?, self.labels.binary_search(&prediction).ok()?);
        Some(self.counts[row * self.labels.len() + column])
    }

    /// The fraction on the diagonal.
    pub fn accuracy(&self) -> f64 {
        let diagonal: f64 = self.counts.iter().step_by(self.labels.len() + 1).sum();
        diagonal / self.counts.iter().sum::<f64>()
    }
}

impl fmt::Display for ConfusionMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CORNER: &str = "true \\ predicted";
        let whole = self.counts.iter().all(|count| count.fract() == 0.0);
        let text = |count: f64| if whole { format!("{count}") } else { format!("{count:.3}") };
        let length = |text: &str| text.chars().count();
        let longest = self.names.iter().map(|name| length(name)).max().unwrap_or(0);
        let widest = self.counts.iter().map(|&count| text(count).len()).max().unwrap_or(0).max(longest);
        let first = longest.max(CORNER.len());
        write!(f, "{CORNER:>first$}")?;
        self.names.iter().try_for_each(|name| write!(f, "  {name:>widest$}"))?;
        writeln!(f)?;
        for (name, row) in self.names.iter().zip(self.counts.chunks_exact(self.labels.len().max(1))) {
            write!(f, "{name:>first$}")?;
            row.iter().try_for_each(|&count| write!(f, "  {:>widest$}", text(count)))?;
            writeln!(f)?;
        }
        Ok(())
    }
}
