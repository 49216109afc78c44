//! What a workload is, and the list of them.

use serde_json::Value;
use tove::prelude::{DType, Tensor};

/// One case of one workload, ready to run.
pub trait Workload {
    /// The work that is timed.
    fn step(&mut self);

    /// The figure that must agree with the peer's. Called once, before any step.
    fn quality(&mut self) -> f64;

    /// One training step on another batch: its loss; nothing if the workload has no curve.
    fn train_on(&mut self, _x: Tensor, _y: Tensor) -> Option<f64> {
        None
    }
}

/// Makes a workload from the case's parameters in `bench/cases.json`; nothing if tove does not have it.
///
/// One line per workload: its id and the function that makes it.
pub fn make(id: &str, parameters: &Value) -> Result<Option<Box<dyn Workload>>, String> {
    match id {
        "selftest" => crate::selftest::make(parameters).map(Some),
        "W1" | "W2" | "W3" => crate::nets::make_training(parameters).map(Some),
        "W4" => crate::cnn::make(parameters).map(Some),
        "W5" => crate::gpt::make_training(parameters).map(Some),
        "W6" => crate::nets::make_prediction(parameters).map(Some),
        "W7" => crate::derivatives::make(parameters).map(Some),
        "W8" => crate::gpt::make_generation(parameters).map(Some),
        "W9" => crate::vit::make(parameters).map(Some),
        "W10" => crate::attacks::make(parameters).map(Some),
        "W11" => crate::products::make_sum(parameters).map(Some),
        "W12" => crate::products::make_product(parameters).map(Some),
        "W13" => crate::w13::make(parameters).map(Some),
        "W20" | "W21" | "W22" => crate::learn_linear::make(parameters).map(Some),
        "W23" => crate::learn_logistic::make_fit(parameters).map(Some),
        "saga" => crate::learn_logistic::make_saga(parameters).map(Some),
        "W30" => crate::recommendation::make(parameters).map(Some),
        "W31" => crate::word_vectors::make(parameters).map(Some),
        "W32" => crate::learn_logistic::make_prediction(parameters).map(Some),
        "W46" => crate::w46::make(parameters).map(Some),
        "W33" => crate::tables::make_pipeline(parameters).map(Some),
        "W43" => crate::tables::make_flights(parameters).map(Some),
        "W34" => crate::tables::make_start(parameters).map(Some),
        "W24" => crate::learn_margins::make_linear(parameters).map(Some),
        "W25" => crate::learn_margins::make_rbf(parameters).map(Some),
        "W26" => crate::learn_unsupervised::make_votes(parameters).map(Some),
        "W27" => crate::learn_unsupervised::make_clusters(parameters).map(Some),
        "W28" => crate::learn_unsupervised::make_mixture(parameters).map(Some),
        "W29" => crate::learn_unsupervised::make_components(parameters).map(Some),
        "W39" => crate::learn_unsupervised::make_regions(parameters).map(Some),
        "W40" => crate::manifold::make(parameters).map(Some),
        "W41" => crate::learn_unsupervised::make_points(parameters).map(Some),
        "conv2d" => crate::convolution::make(parameters).map(Some),
        "attention" => crate::attention::make(parameters).map(Some),
        _ => Ok(None),
    }
}

/// The value of a loss, whatever its type.
pub fn value(loss: &Tensor) -> f64 {
    if loss.dtype() == DType::F64 { loss.item::<f64>() } else { f64::from(loss.item::<f32>()) }
}

/// A whole number among a case's parameters.
pub fn number(parameters: &Value, key: &str) -> Result<usize, String> {
    let number = parameters[key].as_u64().and_then(|number| usize::try_from(number).ok());
    number.ok_or_else(|| format!("the case has no number {key:?}: {parameters}"))
}
