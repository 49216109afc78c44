//! Attributes: scikit-learn's names without the trailing underscore, shapes as documented by scikit-learn.

use tove_tensor::Tensor;

use super::Outcome;
use super::checks::require;
use crate::{Estimator, Fit, Model, Result, Samples};

/// Names with their valid shapes as dimension names; `*` means any size, an empty text a scalar.
const SHAPES: &[(&str, &[&str])] = &[
    ("best_index", &[""]),
    ("best_score", &[""]),
    ("center", &["features"]),
    ("class_count", &["classes"]),
    ("class_prior", &["classes"]),
    ("classes", &["classes"]),
    ("cluster_centers", &["*, features"]),
    ("coef", &["features", "*, features"]),
    ("components", &["*, features"]),
    ("core_sample_indices", &["*"]),
    ("data_max", &["features"]),
    ("data_min", &["features"]),
    ("explained_variance", &["outputs"]),
    ("explained_variance_ratio", &["outputs"]),
    ("inertia", &[""]),
    ("intercept", &["", "*"]),
    ("knots", &["*, features"]),
    ("labels", &["*"]),
    ("lambdas", &["features"]),
    ("max_abs", &["features"]),
    ("mean", &["features"]),
    ("means", &["*, features"]),
    ("min", &["features"]),
    ("n_bins", &["features"]),
    ("n_iter", &["", "*"]),
    ("oob_score", &[""]),
    ("powers", &["outputs, features"]),
    ("quantiles", &["*, features"]),
    ("references", &["*"]),
    ("scale", &["", "features", "outputs"]),
    ("scores", &["*", "*, *, *"]),
    ("singular_values", &["outputs"]),
    ("statistics", &["features"]),
    ("support_vectors", &["*, features"]),
    ("theta", &["classes, features"]),
    ("var", &["features", "classes, features"]),
    ("variances", &["features"]),
    ("weights", &["*"]),
];

/// Whether a tensor has a shape given by dimension names.
fn fits(model: &dyn Model, tensor: &Tensor, words: &str) -> bool {
    let words: Vec<&str> = words.split(", ").filter(|word| !word.is_empty()).collect();
    let size = |word: &str| match word {
        "features" => Some(model.width()),
        "classes" => Some(model.classes().len()),
        "outputs" => Some(model.outputs()),
        _ => None,
    };
    words.len() == tensor.rank()
        && words.iter().zip(tensor.dims()).all(|(word, n)| size(word).is_none_or(|size| size == *n))
}

pub(super) fn named_once(estimator: &dyn Estimator, samples: &Samples) -> Result<Outcome> {
    let model = estimator.fit_samples(samples)?;
    let attributes = model.attributes();
    let mut names: Vec<&str> = attributes.iter().map(|(name, _)| *name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    require(names.len() == count, || format!("an attribute is duplicated in {names:?}"))
}

pub(super) fn named_and_shaped(estimator: &dyn Estimator, samples: &Samples) -> Result<Outcome> {
    let model = estimator.fit_samples(samples)?;
    for (name, tensor) in model.attributes() {
        let letters = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
        // LogisticRegressionCV has `C_` and `Cs_` in scikit-learn, KernelRidge `X_fit_`.
        let known = matches!(name, "C" | "Cs" | "X_fit");
        if name.is_empty() || name.ends_with('_') || !(known || name.chars().all(letters)) {
            return Ok(Outcome::Failed(format!("`{name}` is not a name such as `coef` or `n_iter`")));
        }
        // Composite estimators pass on the attributes of a part, which may have other features.
        let shapes = SHAPES.iter().find(|known| known.0 == name && !model.capabilities().delegates);
        if let Some((_, shapes)) = shapes
            && !shapes.iter().any(|words| fits(&*model, &tensor, words))
        {
            let problem = format!("`{name}` has shape {}, and should have ({})", tensor.shape(), shapes.join(") or ("));
            return Ok(Outcome::Failed(problem));
        }
    }
    Ok(Outcome::Passed)
}
