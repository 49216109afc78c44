//! The affine steps of fitted pipelines.

use tove_learn::{FittedPipeline, Model};
use tove_tensor::Tensor;

use super::affine::Affine;
use super::network::Network;
use crate::{Result, TrustError};

const WHAT: &str = "Network";

/// The affine map of the steps before the last one.
#[derive(Clone, Debug)]
pub(super) struct Front(Option<Affine>, usize);

impl Front {
    pub fn identity(width: usize) -> Front {
        Front(None, width)
    }

    /// w·c for the map's constants c.
    pub fn constant(&self, w: &[f64]) -> f64 {
        self.0.as_ref().map_or(0.0, |map| w.iter().zip(map.bias()).map(|(w, c)| w * c).sum())
    }

    /// Mᵀ w.
    pub fn pull_back(&self, w: &[f64]) -> Vec<f64> {
        let Some(map) = &self.0 else { return w.to_vec() };
        let mut before = vec![0.0; map.inputs()];
        map.add_transposed(w, &mut before);
        before
    }

    fn then(self, step: Affine) -> Front {
        let width = self.1;
        Front(Some(self.0.map_or_else(|| step.clone(), |map| step.after(&map))), width)
    }
}

/// The steps of a pipeline before its last one as one affine map.
pub(super) fn front(pipeline: &FittedPipeline) -> Result<Front> {
    let names: Vec<&str> = pipeline.names().collect();
    let mut front = Front::identity(pipeline.width());
    for name in &names[..names.len() - 1] {
        let Some(step) = pipeline.step(name) else { continue };
        front = front.then(affine_step(step)?);
    }
    Ok(front)
}

/// A fitted scaler or projection as an affine map.
fn affine_step(step: &dyn Model) -> Result<Affine> {
    let attributes = step.attributes();
    let get = |name: &str| -> Result<Vec<f64>> {
        let found = attributes.iter().find(|(own, _)| *own == name).map(|(_, tensor)| tensor);
        let tensor = found.ok_or_else(|| unsupported(step, &format!("it tells no `{name}`")))?;
        crate::input::reals(WHAT, "parameters of the preprocessing", tensor)
    };
    let settings = step.settings();
    let on = |name: &str| settings.get(name).and_then(serde_json::Value::as_bool).unwrap_or(true);
    let centered = |center: Vec<f64>, scale: Vec<f64>| {
        let scale: Vec<f64> = scale.iter().map(|scale| 1.0 / scale).collect();
        let shift: Vec<f64> = center.iter().zip(&scale).map(|(center, scale)| -center * scale).collect();
        Affine::diagonal(&scale, &shift)
    };
    let width = step.width();
    let or = |switch: &str, name: &str, otherwise: f64| if on(switch) { get(name) } else { Ok(vec![otherwise; width]) };
    match step.name() {
        "StandardScaler" => Ok(centered(or("with_mean", "mean", 0.0)?, or("with_std", "scale", 1.0)?)),
        "RobustScaler" => Ok(centered(or("with_centering", "center", 0.0)?, or("with_scaling", "scale", 1.0)?)),
        "MinMaxScaler" | "MaxAbsScaler" if on("clip") => Err(unsupported(step, "it clips")),
        "MinMaxScaler" => Ok(Affine::diagonal(&get("scale")?, &get("min")?)),
        "MaxAbsScaler" => Ok(centered(vec![0.0; width], get("scale")?)),
        "PCA" | "Pca" => {
            let (components, mean, scale) = (get("components")?, get("mean")?, get("scale")?);
            let mut affine = Affine::new(width);
            for (row, scale) in components.chunks_exact(width).zip(scale) {
                let constant: f64 = row.iter().zip(&mean).map(|(w, mean)| w * mean).sum();
                affine.push(row.iter().map(|w| w / scale).enumerate(), -constant / scale);
            }
            Ok(affine)
        }
        _ => Err(unsupported(step, "it is not known to be an affine map")),
    }
}

#[cold]
fn unsupported(step: &dyn Model, problem: &str) -> TrustError {
    let problem = format!("the certificate does not reach through {}: {problem}", step.name());
    let fix = "give rows and limits behind this step, and the model without it";
    TrustError::unsupported(WHAT, problem, fix)
}

impl Network {
    /// The preprocessing of a fitted pipeline, all steps of which are affine (scalers, PCA), as the first layer of a net.
    /// Certificates then hold for the features before it.
    ///
    /// # Errors
    /// A step that is not affine, or clips.
    pub fn through(pipeline: &FittedPipeline) -> Result<Network> {
        let Front(before, width) = front(pipeline)?;
        let last = affine_step(pipeline.last())?;
        let net = Network::new(width)?;
        net.step(match before {
            Some(before) => last.after(&before),
            None => last,
        })
    }

    /// A fitted scaler as the first layer of a net.
    ///
    /// # Errors
    /// A transformer that is not affine, or clips.
    pub fn scaler(step: &dyn Model) -> Result<Network> {
        let any: &dyn std::any::Any = step;
        match any.downcast_ref::<FittedPipeline>() {
            Some(pipeline) => Network::through(pipeline),
            None => Network::new(step.width())?.step(affine_step(step)?),
        }
    }

    /// Outputs for rows (n, d) as a tensor (n, outputs), in double precision.
    ///
    /// # Errors
    /// As [`Network::evaluate`].
    pub fn outputs_of(&self, rows: &Tensor) -> Result<Tensor> {
        let values = super::curve::rows_of(WHAT, rows, self.inputs())?;
        let outputs: Result<Vec<Vec<f64>>> = values.iter().map(|row| self.evaluate(row)).collect();
        Ok(Tensor::try_from_vec(outputs?.concat(), [values.len(), self.outputs()])?)
    }
}
