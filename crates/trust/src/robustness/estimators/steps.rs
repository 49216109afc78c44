//! The transformers of a pipeline as differentiable functions.

use tove_learn::{FittedPipeline, Model};
use tove_tensor::{DType, Tensor, TryIndex, TryOps, TryUnary};

use super::{WHAT, cast};
use crate::{Result, TrustError};

/// The smallest sum of squares that is told from 0, in either precision.
const SMALLEST: f64 = 1e-36;

/// All steps of a fitted pipeline but the last, differentiable: `StandardScaler`, `MinMaxScaler`, `MaxAbsScaler`,
/// `RobustScaler`, `Normalizer`, `PCA`, `TruncatedSVD`, `VarianceThreshold` and `SelectKBest`.
///
/// ```
/// use tove_learn::{Fit, Pipeline, Ridge, StandardScaler};
/// use tove_tensor::Tensor;
/// use tove_trust::robustness::DifferentiableSteps;
/// let (x, y) = (Tensor::from([[0.0], [2.0]]), Tensor::from([1.0, 2.0]));
/// let pipeline = Pipeline::of(StandardScaler::default()).then(Ridge::default()).fit(&x, &y)?;
/// assert_eq!(DifferentiableSteps::of(&pipeline)?.apply(&x)?.to_vec::<f64>(), [-1.0, 1.0]);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DifferentiableSteps {
    steps: Vec<Step>,
    dtype: DType,
}

#[derive(Clone, Debug)]
enum Step {
    /// (x − a) / b, perhaps cut off.
    Affine { shift: Tensor, scale: Tensor, clip: Option<(f64, f64)> },
    /// ((x − a) Vᵀ) / b.
    Project { mean: Option<Tensor>, components: Tensor, scale: Option<Tensor> },
    /// These columns.
    Columns(Tensor),
    /// x / ‖x‖.
    Norm(String),
}

impl DifferentiableSteps {
    pub(super) fn none(dtype: DType) -> DifferentiableSteps {
        DifferentiableSteps { steps: Vec::new(), dtype }
    }

    /// Reads the steps.
    ///
    /// # Errors
    /// A step without a known derivative.
    pub fn of(pipeline: &FittedPipeline) -> Result<DifferentiableSteps> {
        let names: Vec<&str> = pipeline.names().collect();
        let before = names[..names.len().saturating_sub(1)].iter().filter_map(|name| pipeline.step(name));
        Ok(DifferentiableSteps { steps: before.map(Step::of).collect::<Result<_>>()?, dtype: pipeline.dtype() })
    }

    /// The transformed batch.
    ///
    /// # Errors
    /// A batch of another width.
    pub fn apply(&self, x: &Tensor) -> Result<Tensor> {
        self.steps.iter().try_fold(cast(x, self.dtype)?, |x, step| step.apply(&x))
    }

    /// An input in the middle of the data, as far as the first step tells; zeros otherwise.
    pub(super) fn origin(&self, width: usize) -> Vec<f64> {
        let middle = match self.steps.first() {
            Some(Step::Affine { shift, .. }) => Some(shift.to_f64_vec()),
            Some(Step::Project { mean: Some(mean), .. }) => Some(mean.to_f64_vec()),
            _ => None,
        };
        middle.filter(|middle| middle.len() == width).unwrap_or_else(|| vec![0.0; width])
    }
}

impl Step {
    fn of(model: &dyn Model) -> Result<Step> {
        let (attributes, settings, dtype) = (model.attributes(), model.settings(), model.dtype());
        let found =
            |name: &str| attributes.iter().find(|(own, _)| *own == name).map(|(_, tensor)| tensor.to_dtype(dtype));
        let attribute = |name: &str| found(name).ok_or_else(|| unknown(model));
        let asked = |name: &str| settings.get(name).and_then(serde_json::Value::as_bool).unwrap_or(true);
        let either = |name: &str, asked: bool, other: f64| {
            let values = attribute(name)?;
            Ok::<Tensor, TrustError>(if asked { values } else { values.full_like(other) })
        };
        let clip = settings.get("clip").and_then(serde_json::Value::as_bool) == Some(true);
        Ok(match model.name() {
            "StandardScaler" => Step::Affine {
                shift: either("mean", asked("with_mean"), 0.0)?,
                scale: either("scale", asked("with_std"), 1.0)?,
                clip: None,
            },
            "RobustScaler" => Step::Affine {
                shift: either("center", asked("with_centering"), 0.0)?,
                scale: either("scale", asked("with_scaling"), 1.0)?,
                clip: None,
            },
            "MinMaxScaler" => {
                // x s + m is (x − (−m / s)) / (1 / s).
                let scale = attribute("scale")?.try_recip()?;
                let shift = -attribute("min")?.try_mul(&scale)?;
                let bound = |name: &str| {
                    settings.pointer(&format!("/feature_range/{name}")).and_then(serde_json::Value::as_f64)
                };
                let limits = (bound("low").unwrap_or(0.0), bound("high").unwrap_or(1.0));
                Step::Affine { shift, scale, clip: clip.then_some(limits) }
            }
            "MaxAbsScaler" => {
                let scale = attribute("scale")?;
                Step::Affine { shift: scale.zeros_like(), scale, clip: clip.then_some((-1.0, 1.0)) }
            }
            "PCA" => Step::Project {
                mean: Some(attribute("mean")?),
                components: attribute("components")?.try_t()?.try_contiguous()?,
                scale: found("scale"),
            },
            "TruncatedSVD" => Step::Project {
                mean: None,
                components: attribute("components")?.try_t()?.try_contiguous()?,
                scale: None,
            },
            "VarianceThreshold" | "SelectKBest" => Step::Columns(kept_columns(model)?),
            "Normalizer" => {
                Step::Norm(settings.get("norm").and_then(serde_json::Value::as_str).unwrap_or("l2").to_owned())
            }
            _ => return Err(unknown(model)),
        })
    }

    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        Ok(match self {
            Step::Affine { shift, scale, clip } => {
                let scaled = x.try_sub(shift)?.try_div(scale)?;
                match clip {
                    Some((low, high)) => scaled.try_clamp(*low, *high)?,
                    None => scaled,
                }
            }
            Step::Project { mean, components, scale } => {
                let centered = match mean {
                    Some(mean) => x.try_sub(mean)?,
                    None => x.clone(),
                };
                let projected = centered.try_matmul(components)?;
                match scale {
                    Some(scale) => projected.try_div(scale)?,
                    None => projected,
                }
            }
            Step::Columns(columns) => x.try_index_select(1, columns)?,
            Step::Norm(kind) => {
                let norms = match kind.as_str() {
                    "l1" => x.try_abs()?.try_sum_axes(&[1], true)?,
                    "max" => x.try_abs()?.try_max_axes(&[1], true)?,
                    // The root has no slope at 0.
                    _ => x.try_square()?.try_sum_axes(&[1], true)?.try_clamp(SMALLEST, f64::INFINITY)?.try_sqrt()?,
                };
                // A row of zeros stays zero.
                let norms = norms.try_clamp(SMALLEST.sqrt(), f64::INFINITY)?;
                x.try_div(&norms)?
            }
        })
    }
}

/// The columns that a selection keeps, found by sending the numbers of the columns through it.
fn kept_columns(model: &dyn Model) -> Result<Tensor> {
    use tove_learn::Transform;
    let numbers: Vec<f64> = (0..model.width()).map(|column| column as f64).collect();
    let row = Tensor::try_from_vec(numbers, [1, model.width()])?.to_dtype(model.dtype());
    let kept: Vec<i64> = model.transform(&row)?.to_f64_vec().into_iter().map(|column| column as i64).collect();
    Ok(Tensor::from_slice(&kept))
}

#[cold]
fn unknown(model: &dyn Model) -> TrustError {
    let fix = "attack the transformed features (the pipeline without this step), or use an attack that needs queries only \
               with `ModelQueries`";
    TrustError::unsupported(WHAT, format!("the step {} has no derivative that is known here", model.name()), fix)
}
