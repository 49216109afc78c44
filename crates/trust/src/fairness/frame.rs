//! Any metric by group, with minimum, maximum, difference and ratio, as fairlearn's `MetricFrame`.

use tove_tensor::Tensor;

use super::outcomes::SensitiveGroups;
use crate::{Result, TrustError};

/// A metric of all rows and of every group.
///
/// ```
/// use tove_metrics::accuracy;
/// use tove_tensor::Tensor;
/// use tove_trust::fairness::{MetricFrame, SensitiveGroups};
/// let (truth, guess) = (Tensor::from([1i64, 0, 1, 1]), Tensor::from([1i64, 0, 0, 1]));
/// let groups = SensitiveGroups::from_column("sex", &Tensor::from([0i64, 0, 1, 1]))?;
/// let frame = MetricFrame::of_predictions(&groups, &truth, &guess, None, |truth, guess, weights| {
///     Ok(Some(accuracy(truth, guess, weights)?.value))
/// })?;
/// assert_eq!((frame.overall, frame.by_group()[1].1), (Some(0.75), Some(0.5)));
/// assert_eq!((frame.difference(), frame.ratio()), (Some(0.5), Some(0.5)));
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MetricFrame {
    /// The metric of all rows.
    pub overall: Option<f64>,
    groups: Vec<(String, Option<f64>)>,
}

impl MetricFrame {
    /// Computes a metric of sets of rows: all of them, then those of every group. The metric returns `None` where it is undefined.
    ///
    /// # Errors
    /// Those of the metric; a metric that is not a finite number.
    pub fn new(groups: &SensitiveGroups, metric: impl Fn(&[usize]) -> Result<Option<f64>>) -> Result<MetricFrame> {
        let checked = |rows: &[usize], name: &str| match metric(rows)? {
            Some(value) if !value.is_finite() => {
                let problem = format!("the metric of {name} is {value}");
                Err(TrustError::data("MetricFrame", problem, "return `None` where the metric is undefined"))
            }
            value => Ok(value),
        };
        let all: Vec<usize> = (0..groups.codes().len()).collect();
        let overall = checked(&all, "all rows")?;
        let one = |(index, name): (usize, &String)| Ok((name.clone(), checked(&groups.rows(index), name)?));
        let groups = groups.names().iter().enumerate().map(one).collect::<Result<_>>()?;
        Ok(MetricFrame { overall, groups })
    }

    /// Computes a metric of truth, prediction and weights, such as those of `tove_metrics`.
    ///
    /// # Errors
    /// As [`MetricFrame::new`]; different lengths.
    pub fn of_predictions(
        groups: &SensitiveGroups,
        truth: &Tensor,
        prediction: &Tensor,
        weights: Option<&Tensor>,
        metric: impl Fn(&Tensor, &Tensor, Option<&Tensor>) -> Result<Option<f64>>,
    ) -> Result<MetricFrame> {
        let n = groups.codes().len();
        for (name, tensor) in [("truth", Some(truth)), ("prediction", Some(prediction)), ("weights", weights)] {
            if let Some(tensor) = tensor.filter(|tensor| tensor.dims().first() != Some(&n)) {
                let problem = format!("{name} of shape {} for {n} rows", tensor.shape());
                return Err(TrustError::data("MetricFrame", problem, "give one entry per row"));
            }
        }
        MetricFrame::new(groups, |rows| {
            let rows = Tensor::from_slice(&rows.iter().map(|&row| row as i64).collect::<Vec<i64>>());
            let part = |tensor: &Tensor| tensor.detach().index_select(0, &rows);
            metric(&part(truth), &part(prediction), weights.map(part).as_ref())
        })
    }

    /// The metric of every group by name.
    pub fn by_group(&self) -> &[(String, Option<f64>)] {
        &self.groups
    }

    fn defined(&self) -> impl Iterator<Item = f64> + '_ {
        self.groups.iter().filter_map(|group| group.1)
    }

    /// The smallest value of a group.
    pub fn group_min(&self) -> Option<f64> {
        self.defined().reduce(f64::min)
    }

    /// The largest value of a group.
    pub fn group_max(&self) -> Option<f64> {
        self.defined().reduce(f64::max)
    }

    /// Largest minus smallest value.
    pub fn difference(&self) -> Option<f64> {
        Some(self.group_max()? - self.group_min()?)
    }

    /// The largest distance of a group from the value of all rows.
    pub fn difference_to_overall(&self) -> Option<f64> {
        let overall = self.overall?;
        self.defined().map(|value| (value - overall).abs()).reduce(f64::max)
    }

    /// Smallest divided by largest value; `None` if the largest is 0 or a value is negative.
    pub fn ratio(&self) -> Option<f64> {
        let (low, high) = (self.group_min()?, self.group_max()?);
        (high > 0.0 && low >= 0.0).then(|| low / high)
    }

    /// The smallest ratio, at most 1, of a group's value and that of all rows; `None` if a value is negative or the overall one is 0.
    pub fn ratio_to_overall(&self) -> Option<f64> {
        let overall = self.overall.filter(|&overall| overall > 0.0)?;
        if self.defined().any(|value| value < 0.0) {
            return None;
        }
        self.defined().map(|value| (value / overall).min(overall / value)).reduce(f64::min)
    }
}
