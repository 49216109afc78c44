//! Checked arguments: probabilities, labels, groups and weights, read once into plain vectors.

use tove_learn::Labels;
use tove_tensor::Tensor;

use crate::{Result, TrustError};

/// How far the sum of a row of probabilities may be from 1: rounding of 32-bit numbers.
const SUM_TOLERANCE: f64 = 1e-4;

/// Class probabilities: a checked matrix with a row per sample and a column per class.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::Probabilities;
/// let p = Probabilities::new("Example", &Tensor::from([[0.2, 0.8], [0.5, 0.5]]))?;
/// assert_eq!((p.len(), p.classes(), p.row(0)), (2, 2, &[0.2, 0.8][..]));
/// assert_eq!(p.top(1), (0, 0.5)); // ties go to the first class
/// // A vector holds the probability of the second of two classes.
/// assert_eq!(Probabilities::new("Example", &Tensor::from([0.75]))?.row(0), [0.25, 0.75]);
/// assert!(Probabilities::new("Example", &Tensor::from([[0.2, 0.7]])).is_err());
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Probabilities {
    values: Vec<f64>,
    classes: usize,
}

impl Probabilities {
    /// Checks probabilities (n, m), or (n) of the second of two classes. `what` names the caller in messages.
    ///
    /// # Errors
    /// No samples; fewer than two classes; a value outside of [0, 1]; a row that does not sum to 1 (to 1e-4).
    pub fn new(what: &'static str, probabilities: &Tensor) -> Result<Probabilities> {
        let given = reals(what, "probabilities", probabilities)?;
        let outside = |value: &f64| !(0.0..=1.0).contains(value);
        if let Some(place) = given.iter().position(outside) {
            let columns = probabilities.dims().get(1).copied().unwrap_or(1);
            let problem = format!("the probability in row {} is {}, outside of [0, 1]", place / columns, given[place]);
            return Err(TrustError::data(what, problem, "give probabilities; apply the softmax or sigmoid to scores"));
        }
        let (values, classes) = match *probabilities.dims() {
            [_] => (given.iter().flat_map(|&p| [1.0 - p, p]).collect(), 2),
            [_, classes] if classes >= 2 => (given, classes),
            _ => {
                let problem = format!("probabilities of shape {}", probabilities.shape());
                let fix =
                    "give a matrix with a column per class, or a vector with the probability of the second of two";
                return Err(TrustError::data(what, problem, fix));
            }
        };
        if values.is_empty() {
            return Err(empty(what));
        }
        let total = |row: &[f64]| row.iter().sum::<f64>();
        if let Some(row) = values.chunks_exact(classes).position(|row| (total(row) - 1.0).abs() > SUM_TOLERANCE) {
            let sum = total(&values[row * classes..(row + 1) * classes]);
            let problem = format!("the probabilities of row {row} sum to {sum:.6}, not to 1");
            return Err(TrustError::data(what, problem, "give one probability per class, in the order of the classes"));
        }
        Ok(Probabilities { values, classes })
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.values.len() / self.classes
    }

    /// Whether there are no samples; never true.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The probabilities of one sample.
    pub fn row(&self, sample: usize) -> &[f64] {
        &self.values[sample * self.classes..(sample + 1) * self.classes]
    }

    /// The probabilities of all samples, one after the other.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, f64> {
        self.values.chunks_exact(self.classes)
    }

    /// The most probable class of a sample and its probability; ties go to the first class.
    pub fn top(&self, sample: usize) -> (usize, f64) {
        let row = self.row(sample);
        let best = row.iter().enumerate().fold(0, |best, (class, p)| if *p > row[best] { class } else { best });
        (best, row[best])
    }

    /// As a tensor (n, m).
    pub fn tensor(&self) -> Tensor {
        Tensor::from_vec(self.values.clone(), [self.len(), self.classes])
    }
}

#[cold]
fn empty(what: &'static str) -> TrustError {
    TrustError::data(what, "there are no samples", "give at least one")
}

/// The numbers of a tensor of any shape, all finite, at least one.
pub(crate) fn reals(what: &'static str, argument: &str, tensor: &Tensor) -> Result<Vec<f64>> {
    if tensor.numel() == 0 {
        return Err(empty(what));
    }
    let values = tensor.detach().contiguous().to_f64_vec();
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(values),
        Some(place) => {
            let row = place / (values.len() / tensor.dims().first().copied().unwrap_or(1).max(1));
            let problem = format!("the {argument} in row {row} are {}", values[place]);
            Err(TrustError::data(what, problem, "remove or impute such rows"))
        }
    }
}

/// The numbers of a vector of `n` elements, all finite.
pub(crate) fn numbers(what: &'static str, argument: &str, tensor: &Tensor, n: usize) -> Result<Vec<f64>> {
    if !matches!(tensor.dims(), [_] | [_, 1]) || tensor.numel() != n {
        let problem = format!("{argument} of shape {} for {n} samples", tensor.shape());
        return Err(TrustError::data(what, problem, "give one number per sample"));
    }
    reals(what, argument, tensor)
}

/// Weights of `n` samples, not negative and not all 0; ones if none are given.
pub(crate) fn weights(what: &'static str, tensor: Option<&Tensor>, n: usize) -> Result<Vec<f64>> {
    let Some(tensor) = tensor else { return Ok(vec![1.0; n]) };
    let values = numbers(what, "weights", tensor, n)?;
    if let Some(row) = values.iter().position(|&weight| weight < 0.0) {
        let problem = format!("the weight of row {row} is {}", values[row]);
        return Err(TrustError::data(what, problem, "weights must not be negative"));
    }
    if values.iter().all(|&weight| weight == 0.0) {
        return Err(TrustError::data(what, "all weights are 0", "give a positive weight to at least one sample"));
    }
    Ok(values)
}

/// Class codes 0 … `classes` − 1 of `n` samples.
pub(crate) fn codes(
    what: &'static str,
    argument: &str,
    tensor: &Tensor,
    n: usize,
    classes: usize,
) -> Result<Vec<usize>> {
    let values = numbers(what, argument, tensor, n)?;
    let code = |(row, &value): (usize, &f64)| {
        if value.fract() == 0.0 && value >= 0.0 && value < classes as f64 {
            return Ok(value as usize);
        }
        let problem = format!("{argument} in row {row}: {value} is not a class index");
        let fix = format!("give the column of the class among the probabilities, 0 to {}", classes - 1);
        Err(TrustError::data(what, problem, fix))
    };
    values.iter().enumerate().map(code).collect()
}

/// Groups of `n` samples: any whole numbers, as labels and codes.
pub(crate) fn groups(what: &'static str, tensor: &Tensor, n: usize) -> Result<Labels> {
    if !matches!(tensor.dims(), [_] | [_, 1]) || tensor.numel() != n {
        let problem = format!("groups of shape {} for {n} samples", tensor.shape());
        return Err(TrustError::data(what, problem, "give one group per sample"));
    }
    Ok(Labels::of(what, &tensor.detach())?)
}

/// A fraction strictly between 0 and 1, such as a significance level.
pub(crate) fn fraction(what: &'static str, argument: &str, value: f64) -> Result<f64> {
    if value > 0.0 && value < 1.0 {
        return Ok(value);
    }
    Err(TrustError::argument(what, format!("`{argument}` is {value}; give a number between 0 and 1, such as 0.1")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_arguments_are_named() {
        let text = |error: TrustError| error.to_string();
        let p = |t: Tensor| Probabilities::new("ece", &t).map(|_| ()).unwrap_err();
        assert!(text(p(Tensor::from([[0.5, 0.5], [0.5, f64::NAN]]))).contains("row 1 are NaN"));
        assert!(text(p(Tensor::from([[0.5, 0.5], [-0.5, 1.5]]))).contains("row 1 is -0.5"));
        assert!(text(p(Tensor::from([[1.0]]))).contains("shape"));
        assert!(text(p(Tensor::zeros([0, 2], tove_tensor::DType::F64))).contains("no samples"));
        let labels = Tensor::from([0i64, 2]);
        assert!(text(codes("ece", "labels", &labels, 2, 2).unwrap_err()).contains("row 1: 2 is not a class index"));
        assert!(codes("ece", "labels", &labels, 3, 2).is_err());
        assert!(weights("ece", Some(&Tensor::from([0.0, 0.0])), 2).is_err());
        assert!(weights("ece", Some(&Tensor::from([1.0, -1.0])), 2).is_err());
        assert!(fraction("conformal", "alpha", f64::NAN).is_err());
    }

    #[test]
    fn views_and_single_precision_are_read() {
        let p = Tensor::from([[0.1f32, 0.4], [0.9, 0.6]]).t();
        let p = Probabilities::new("ece", &p).expect("valid");
        assert_eq!(p.top(0).0, 1);
        assert_eq!((p.len(), p.classes()), (2, 2));
    }
}
