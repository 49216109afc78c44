//! Univariate feature selection: keeps the k features with the highest score, each scored separately.
//!
//! | score | targets | formula |
//! |---|---|---|
//! | `f_classif` | classes | the F statistic of the analysis of variance, (Σₖ nₖ(x̄ₖ − x̄)²/(m − 1)) / (Σₖ Σ(x − x̄ₖ)²/(n − m)) |
//! | `chi2` | classes | Σₖ (oₖ − eₖ)²/eₖ of the observed and expected sums of a non-negative feature in each class |
//! | `mutual_info_classif` | classes | the mutual information by nearest neighbors (Ross 2014) |
//! | `f_regression` | numbers | r²/(1 − r²) · (n − 2) with the correlation r |
//! | `mutual_info_regression` | numbers | the mutual information by nearest neighbors (Kraskov 2004) |
//!
//! Because it uses the targets, this belongs inside the folds of cross-validation, as a step of a
//! [`Pipeline`](crate::Pipeline); outside of them scores are too optimistic.
//!
//! ```
//! use tove_learn::{Fit, SelectKBest};
//! use tove_tensor::{Key, Tensor};
//! let (x, y) = (Tensor::from([[5.0, 0.1], [1.0, 0.2], [4.0, 0.9], [2.0, 1.0]]), Tensor::from([0i64, 0, 1, 1]));
//! let select = SelectKBest::default().k(Some(1)).fit(&x, &y)?;
//! assert_eq!(select.columns(), [1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::{Key, Tensor};

use super::columns::{column, each, extremes};
use super::mutual_information;
use crate::rows::vector;
use crate::selection::in_parallel;
use crate::{
    About, Algorithm, Capabilities, Csr, Fitted, Labels, LearnError, Model, Result, Rows, Samples, Targets, with_real,
};

/// The score of a feature with respect to the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum FeatureScore {
    /// ANOVA F statistic of the classes.
    #[default]
    FClassif,
    /// F statistic of a univariate linear regression.
    FRegression,
    /// Chi-squared statistic of non-negative features, such as counts, and the classes.
    Chi2,
    /// Mutual information with the classes.
    MutualInfoClassif,
    /// Mutual information with a numeric target.
    MutualInfoRegression,
}

impl FeatureScore {
    fn targets(self) -> Targets {
        match self {
            FeatureScore::FClassif | FeatureScore::Chi2 | FeatureScore::MutualInfoClassif => Targets::Classes,
            FeatureScore::FRegression | FeatureScore::MutualInfoRegression => Targets::Numbers,
        }
    }

    /// Whether it uses nearest neighbors, which need dense rows.
    fn counts_neighbors(self) -> bool {
        matches!(self, FeatureScore::MutualInfoClassif | FeatureScore::MutualInfoRegression)
    }
}

/// Keeps the k features with the highest score, like scikit-learn's `SelectKBest`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct SelectKBest {
    /// The score: f_classif, f_regression, chi2, mutual_info_classif or mutual_info_regression.
    #[hyper(default = FeatureScore::FClassif)]
    pub score_func: FeatureScore,
    /// Number of features to keep; all if not set.
    #[hyper(default = Some(10), range = "[1, inf)")]
    pub k: Option<usize>,
}

/// A fitted [`SelectKBest`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = SelectKBest)]
pub struct FittedSelectKBest {
    about: About,
    /// The score of every feature; NaN for a constant one, infinite for one that determines the targets.
    #[fitted(shape = "features", nonfinite)]
    scores: Vec<f64>,
    /// The features that are kept, in ascending order.
    #[fitted(shape = "outputs")]
    columns: Vec<usize>,
}

impl Algorithm for SelectKBest {
    type Fitted = FittedSelectKBest;
    const CAPABILITIES: Capabilities =
        Capabilities { sparse: true, targets: Targets::Classes, ..Capabilities::TRANSFORMER };

    fn capabilities_of(settings: &SelectKBest) -> Capabilities {
        let score = settings.score_func;
        Capabilities { targets: score.targets(), sparse: !score.counts_neighbors(), ..Self::CAPABILITIES }
    }

    fn train(&self, samples: &Samples) -> Result<FittedSelectKBest> {
        let (x, y) = (samples.x(), samples.y()?);
        let mut scores = match self.score_func {
            FeatureScore::FClassif => f_classif(x, &Labels::several(Self::NAME, y)?)?,
            FeatureScore::FRegression => f_regression(x, &vector("targets", y)?)?,
            FeatureScore::Chi2 => chi2(x, &Labels::several(Self::NAME, y)?)?,
            FeatureScore::MutualInfoClassif => {
                let labels = Labels::several(Self::NAME, y)?;
                mutual_info(x, |feature| Ok(mutual_information::with_classes(feature, &labels)))?
            }
            FeatureScore::MutualInfoRegression => {
                let y = mutual_information::scaled(&vector("targets", y)?, Key::new(1))?;
                mutual_info(x, |feature| mutual_information::with_numbers(Self::NAME, feature, &y))?
            }
        };
        // Rounding can give a constant column a non-zero variance, and then any score.
        let (low, high) = extremes(x)?;
        for (score, (low, high)) in scores.iter_mut().zip(low.iter().zip(&high)) {
            if low == high && !self.score_func.counts_neighbors() && self.score_func != FeatureScore::Chi2 {
                *score = f64::NAN;
            }
        }
        let k = self.k.unwrap_or(scores.len()).min(scores.len());
        let mut order: Vec<usize> = (0..scores.len()).collect();
        let score = |column: usize| if scores[column].is_nan() { f64::NEG_INFINITY } else { scores[column] };
        order.sort_by(|&a, &b| score(a).total_cmp(&score(b)));
        let mut columns = order.split_off(order.len() - k);
        columns.sort_unstable();
        let about = About::of(self, samples).outputs(columns.len());
        Ok(FittedSelectKBest { about, scores, columns })
    }
}

fn f_classif(x: &Rows, labels: &Labels) -> Result<Vec<f64>> {
    let (n, d, m) = (x.len(), x.width(), labels.classes().len());
    if n <= m {
        let fix = "give more samples than classes".to_owned();
        return Err(LearnError::TooFew { who: SelectKBest::NAME, found: n, needed: m + 1, fix });
    }
    let mut counts = vec![0.0f64; m];
    labels.codes().iter().for_each(|&code| counts[code] += 1.0);
    let mut sums = vec![0.0; m * d];
    each(x, |row, column, value| sums[labels.codes()[row] * d + column] += value)?;
    let mean = |class: usize, column: usize| sums[class * d + column] / counts[class];
    let (mut within, mut stored) = (vec![0.0; d], vec![0.0; m * d]);
    each(x, |row, column, value| {
        let class = labels.codes()[row];
        within[column] += (value - mean(class, column)).powi(2);
        stored[class * d + column] += 1.0;
    })?;
    let score = |column: usize| {
        let grand_mean = (0..m).map(|class| sums[class * d + column]).sum::<f64>() / n as f64;
        let between: f64 = (0..m).map(|class| counts[class] * (mean(class, column) - grand_mean).powi(2)).sum();
        let absent: f64 = // zeros that are not stored
            (0..m).map(|class| (counts[class] - stored[class * d + column]) * mean(class, column).powi(2)).sum();
        (between / (m as f64 - 1.0)) / ((within[column] + absent) / (n as f64 - m as f64))
    };
    Ok((0..d).map(score).collect())
}

/// Chi-squared statistics of the sums of each feature in each class.
fn chi2(x: &Rows, labels: &Labels) -> Result<Vec<f64>> {
    let (n, d, m) = (x.len() as f64, x.width(), labels.classes().len());
    let (mut observed, mut negative) = (vec![0.0; m * d], None);
    each(x, |row, column, value| {
        observed[labels.codes()[row] * d + column] += value;
        if value < 0.0 && negative.is_none() {
            negative = Some((row, column, value));
        }
    })?;
    if let Some((row, column, value)) = negative {
        let problem = format!("chi2 needs non-negative features, but row {row}, column {column}, is {value}");
        return Err(LearnError::data(SelectKBest::NAME, problem, "set `score_func` to f_classif"));
    }
    let mut shares = vec![0.0; m];
    labels.codes().iter().for_each(|&code| shares[code] += 1.0 / n);
    let score = |column: usize| -> f64 {
        let total: f64 = (0..m).map(|class| observed[class * d + column]).sum();
        let term = |class: usize| {
            let expected = shares[class] * total;
            (observed[class * d + column] - expected) / expected * (observed[class * d + column] - expected)
        };
        (0..m).map(term).sum()
    };
    let scores: Vec<f64> = (0..d).map(score).collect();
    if scores.iter().any(|score| score.is_infinite()) {
        let fix = "scale the features, for example with `MaxAbsScaler`";
        return Err(LearnError::data(SelectKBest::NAME, "sums of the features overflow", fix));
    }
    Ok(scores)
}

/// The mutual information of each feature.
fn mutual_info(x: &Rows, of: impl Fn(&[f64]) -> Result<f64> + Sync) -> Result<Vec<f64>> {
    let (values, d) = (x.dense(SelectKBest::NAME)?.to_f64_vec(), x.width());
    let one = |feature: usize| {
        of(&mutual_information::scaled(&column(&values, d, feature), Key::new(2).fold(feature as u64))?)
    };
    in_parallel(d, one).into_iter().collect()
}

fn f_regression(x: &Rows, y: &[f64]) -> Result<Vec<f64>> {
    let (n, d) = (x.len() as f64, x.width());
    if x.len() < 3 {
        let fix = "give more samples".to_owned();
        return Err(LearnError::TooFew { who: SelectKBest::NAME, found: x.len(), needed: 3, fix });
    }
    if y.iter().all(|value| *value == y[0]) {
        let fix = "check how the samples were selected";
        return Err(LearnError::data(SelectKBest::NAME, "all targets are equal, so correlations are undefined", fix));
    }
    let center = y.iter().sum::<f64>() / n;
    let spread: f64 = y.iter().map(|y| (y - center).powi(2)).sum();
    let mut sums = vec![0.0; d];
    each(x, |_, column, value| sums[column] += value)?;
    let (mut squares, mut products, mut stored) = (vec![0.0; d], vec![0.0; d], vec![0.0; d]);
    let mut pushes = vec![0.0; d]; // Σ(y − ȳ) over the stored rows
    each(x, |row, column, value| {
        let off = value - sums[column] / n;
        squares[column] += off * off;
        products[column] += off * (y[row] - center);
        pushes[column] += y[row] - center;
        stored[column] += 1.0;
    })?;
    let score = |column: usize| {
        let (absent, mean) = (n - stored[column], sums[column] / n);
        let square = squares[column] + absent * mean * mean;
        // Zeros that are not stored: −x̄ Σ(y − ȳ) over them, and Σ(y − ȳ) over all rows is 0.
        let product = products[column] + if absent > 0.0 { mean * pushes[column] } else { 0.0 };
        let r = product / square.sqrt() / spread.sqrt();
        match r * r {
            r2 if r2 >= 1.0 => f64::INFINITY, // perfectly linear; rounding may exceed 1
            r2 => r2 / (1.0 - r2) * (n - 2.0),
        }
    };
    Ok((0..d).map(score).collect())
}

/// Returns the rows with these columns only, in this order.
pub(crate) fn take_columns(x: &Rows, columns: &[usize]) -> Result<Rows> {
    let width = x.width();
    if let Some(&column) = columns.iter().find(|&&column| column >= width) {
        let problem = format!("column {column} of rows with {width} columns; give numbers below {width}");
        return Err(LearnError::parameter("columns", problem));
    }
    match x {
        Rows::Dense(x) => with_real!(x.dtype(), T => {
            let mut out = Vec::with_capacity(x.dims()[0] * columns.len());
            for row in x.as_slice::<T>()?.chunks(width.max(1)) {
                out.extend(columns.iter().map(|&column| row[column]));
            }
            Ok(Rows::Dense(Tensor::try_from_vec(out, [x.dims()[0], columns.len()])?))
        }),
        Rows::Sparse(x) => with_real!(x.dtype(), T => {
            let mut positions = vec![Vec::new(); width]; // a column may be selected more than once
            columns.iter().enumerate().for_each(|(position, &column)| positions[column].push(position as u32));
            let old = x.values().as_slice::<T>()?;
            let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
            for two in x.indptr().windows(2) {
                let mut row: Vec<(u32, T)> = (two[0]..two[1])
                    .flat_map(|entry| positions[x.indices()[entry] as usize].iter().map(move |&position| (position, old[entry])))
                    .collect();
                row.sort_unstable_by_key(|entry| entry.0);
                indices.extend(row.iter().map(|entry| entry.0));
                values.extend(row.iter().map(|entry| entry.1));
                indptr.push(indices.len());
            }
            let entries = values.len();
            Ok(Rows::Sparse(Csr::new(indptr, indices, Tensor::try_from_vec(values, [entries])?, columns.len())?))
        }),
    }
}

impl Model for FittedSelectKBest {
    crate::fitted_methods!();

    fn output_names(&self, inputs: &[String]) -> Vec<String> {
        self.columns.iter().map(|&c| inputs.get(c).cloned().unwrap_or_else(|| format!("x{c}"))).collect()
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        take_columns(x, &self.columns)
    }
}
