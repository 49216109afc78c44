//! Removal of correlation with sensitive columns: every other column is replaced by its residual in a linear regression on them.
//!
//! With centered sensitive columns S and the others Z: Z′ = Z − S β with β = argmin ‖Z − S β‖, and the result is α Z′ + (1 − α) Z. On
//! the training rows α = 1 leaves no linear correlation; nonlinear dependence can remain, so a flexible model may still recover the
//! sensitive columns.

use serde_json::{Value, json};
use tove_tensor::{DType, Tensor, linalg};

use super::json::Reader;
use crate::{Result, TrustError, input};

const NAME: &str = "CorrelationRemover";
const VERSION: u64 = 1;
/// A column whose residual has less than this share of its norm lies in the span of the sensitive columns.
const SPANNED: f64 = 1e-12;

/// Removes the linear correlation with sensitive columns and then drops these. Equal to fairlearn's `CorrelationRemover`.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::fairness::CorrelationRemover;
/// let x = Tensor::from([[0.0, 1.0], [1.0, 3.0], [0.0, 2.0], [1.0, 6.0]]);
/// let fitted = CorrelationRemover { sensitive: vec![0], alpha: 1.0 }.fit(&x)?;
/// let z = fitted.transform(&x)?;
/// assert!((z.at::<f64>(&[0, 0]) - 2.5).abs() < 1e-12); // 1 − (0 − 0.5) · 3
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CorrelationRemover {
    /// The sensitive columns.
    pub sensitive: Vec<usize>,
    /// How much is removed, from 0 (nothing) to 1 (everything).
    pub alpha: f64,
}

/// A fitted [`CorrelationRemover`].
#[derive(Clone, Debug, PartialEq)]
pub struct FittedCorrelationRemover {
    settings: CorrelationRemover,
    width: usize,
    /// Means of the sensitive columns.
    means: Vec<f64>,
    /// Coefficients, one row per sensitive column.
    beta: Vec<f64>,
    /// The mean of a kept column that lies in the span of the sensitive ones, which is what remains of it.
    spanned: Vec<Option<f64>>,
}

impl CorrelationRemover {
    /// Fits the regressions to rows (n, d).
    ///
    /// # Errors
    /// Not a matrix; values that are not finite; a column that does not exist or is listed twice; all columns sensitive; `alpha` outside
    /// of [0, 1].
    pub fn fit(&self, x: &Tensor) -> Result<FittedCorrelationRemover> {
        let (values, n, d) = matrix(x, None)?;
        self.check(d)?;
        let kept = kept(&self.sensitive, d);
        let (s, k) = (self.sensitive.len(), kept.len());
        let mean = |column: usize| {
            // The second pass corrects the rounding of the first.
            let rough = (0..n).map(|row| values[row * d + column]).sum::<f64>() / n as f64;
            rough + (0..n).map(|row| values[row * d + column] - rough).sum::<f64>() / n as f64
        };
        let means: Vec<f64> = self.sensitive.iter().map(|&column| mean(column)).collect();
        let kept_means: Vec<f64> = kept.iter().map(|&column| mean(column)).collect();
        let part = |columns: &[usize], means: &[f64]| -> Vec<f64> {
            let entry = |row: usize| columns.iter().zip(means).map(move |(&column, mean)| (row * d + column, mean));
            (0..n).flat_map(entry).map(|(place, mean)| values[place] - mean).collect()
        };
        let sensitive = Tensor::from_vec(part(&self.sensitive, &means), [n, s]);
        let centered = Tensor::from_vec(part(&kept, &kept_means), [n, k]);
        let beta = linalg::lstsq(&sensitive, &centered, None)?.solution;
        // One step of refinement: the residuals' own regression on the sensitive columns.
        let residual = &centered - sensitive.matmul(&beta);
        let beta = &beta + linalg::lstsq(&sensitive, &residual, None)?.solution;
        let residual = &centered - sensitive.matmul(&beta);
        let norms = |x: &Tensor| x.square().sum_axes(&[0], false).to_f64_vec();
        let (before, after) = (norms(&centered), norms(&residual));
        let spanned = |index: usize| {
            let lost = before[index] > 0.0 && after[index] <= (SPANNED * SPANNED) * before[index];
            lost.then_some(kept_means[index])
        };
        let beta = beta.contiguous().to_f64_vec();
        if let Some(value) = beta.iter().find(|value| !value.is_finite()) {
            let fix = "scale the columns first, for example with `StandardScaler`";
            return Err(TrustError::data(NAME, format!("a regression coefficient is {value}"), fix));
        }
        Ok(FittedCorrelationRemover {
            settings: self.clone(),
            width: d,
            means,
            beta,
            spanned: (0..k).map(spanned).collect(),
        })
    }

    fn check(&self, width: usize) -> Result<()> {
        if !(0.0..=1.0).contains(&self.alpha) {
            return Err(TrustError::argument(NAME, format!("`alpha` is {}; give a number from 0 to 1", self.alpha)));
        }
        if let Some(column) = self.sensitive.iter().find(|&&column| column >= width) {
            let problem = format!("column {column} is sensitive, but the rows have {width} columns, counted from 0");
            return Err(TrustError::argument(NAME, problem));
        }
        if let Some((_, column)) =
            self.sensitive.iter().enumerate().find(|(place, column)| self.sensitive[..*place].contains(column))
        {
            return Err(TrustError::argument(
                NAME,
                format!("column {column} is listed twice among the sensitive ones"),
            ));
        }
        if self.sensitive.is_empty() || self.sensitive.len() >= width {
            let problem = format!("{} of {width} columns are sensitive", self.sensitive.len());
            return Err(TrustError::argument(NAME, problem + "; name at least one and leave at least one"));
        }
        Ok(())
    }
}

/// The columns that are not sensitive.
fn kept(sensitive: &[usize], width: usize) -> Vec<usize> {
    (0..width).filter(|column| !sensitive.contains(column)).collect()
}

/// The values of a matrix, row by row, with its sizes.
fn matrix(x: &Tensor, width: Option<usize>) -> Result<(Vec<f64>, usize, usize)> {
    let [n, d] = *x.dims() else {
        let problem = format!("rows of shape {}", x.shape());
        return Err(TrustError::data(NAME, problem, "give a matrix with a row per sample"));
    };
    if let Some(width) = width.filter(|&width| width != d) {
        let problem = format!("{d} columns, but it was fitted to {width}");
        return Err(TrustError::data(NAME, problem, "give the columns of the training rows, in their order"));
    }
    if n == 0 && width.is_some() {
        return Ok((Vec::new(), 0, d));
    }
    Ok((input::reals(NAME, "features", &x.to_dtype(DType::F64))?, n, d))
}

impl FittedCorrelationRemover {
    /// What was asked for.
    pub fn settings(&self) -> &CorrelationRemover {
        &self.settings
    }

    /// The columns of the result, as columns of the rows given.
    pub fn columns(&self) -> Vec<usize> {
        kept(&self.settings.sensitive, self.width)
    }

    /// Regression coefficients (sensitive columns, kept columns).
    pub fn coefficients(&self) -> Tensor {
        Tensor::from_vec(self.beta.clone(), [self.means.len(), self.spanned.len()])
    }

    /// The rows (n, d − s) without the sensitive columns, and without (or with less) correlation with them. A column that was a linear
    /// combination of sensitive columns in training loses everything: its removed part is the column's mean.
    ///
    /// # Errors
    /// Another number of columns; values that are not finite.
    pub fn transform(&self, x: &Tensor) -> Result<Tensor> {
        let (values, n, d) = matrix(x, Some(self.width))?;
        let (kept, alpha, k) = (self.columns(), self.settings.alpha, self.spanned.len());
        let mut result = Vec::with_capacity(n * k);
        let mut off = vec![0.0; self.means.len()];
        for row in values.chunks_exact(d) {
            let sensitive = self.settings.sensitive.iter().zip(&self.means);
            off.iter_mut().zip(sensitive).for_each(|(off, (&column, mean))| *off = row[column] - mean);
            for (index, &column) in kept.iter().enumerate() {
                let explained: f64 = off.iter().enumerate().map(|(s, off)| off * self.beta[s * k + index]).sum();
                let filtered = self.spanned[index].unwrap_or(row[column] - explained);
                result.push(alpha * filtered + (1.0 - alpha) * row[column]);
            }
        }
        Ok(Tensor::from_vec(result, [n, k]))
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "kind": NAME, "version": VERSION, "sensitive": self.settings.sensitive, "alpha": self.settings.alpha,
            "width": self.width, "means": self.means, "coefficients": self.beta, "spanned": self.spanned,
        })
    }

    /// Reads what [`FittedCorrelationRemover::to_json`] wrote.
    ///
    /// # Errors
    /// Another kind, a newer version, missing or invalid values.
    pub fn from_json(value: &Value) -> Result<FittedCorrelationRemover> {
        let reader = Reader::open(NAME, VERSION, value)?;
        let index = |value: &Value| value.as_u64().and_then(|value| usize::try_from(value).ok());
        let sensitive: Option<Vec<usize>> = reader.list("sensitive")?.iter().map(index).collect();
        let sensitive = sensitive.ok_or_else(|| reader.wrong("sensitive", "a list of columns"))?;
        let settings = CorrelationRemover { sensitive, alpha: reader.number("alpha")? };
        let width = usize::try_from(reader.integer("width")?);
        let width = width.map_err(|_| reader.wrong("width", "a number of columns"))?;
        settings.check(width)?;
        let (means, beta) = (reader.numbers("means")?, reader.numbers("coefficients")?);
        let kept = width - settings.sensitive.len();
        if means.len() != settings.sensitive.len() || means.len().checked_mul(kept) != Some(beta.len()) {
            return Err(reader.wrong("coefficients", "one number per sensitive and kept column"));
        }
        let spanned = |value: &Value| match value {
            Value::Null => Some(None),
            value => value.as_f64().map(Some),
        };
        let spanned: Option<Vec<Option<f64>>> = reader.list("spanned")?.iter().map(spanned).collect();
        let spanned = spanned.filter(|spanned| spanned.len() == kept);
        let spanned = spanned.ok_or_else(|| reader.wrong("spanned", "one entry per kept column"))?;
        Ok(FittedCorrelationRemover { settings, width, means, beta, spanned })
    }
}
