//! Penalties on parameters: the objective becomes L + α Ω(θ), α ≥ 0, with gradient ∇L + α ∇Ω.
//!
//! | penalty | Ω | draws |
//! |---|---|---|
//! | [`Norm::L2`] | ½ Σ w², gradient w | towards 0, all weights a little |
//! | [`Norm::L1`] | Σ ∣w∣ | towards 0, many weights wholly |
//! | [`Norm::Elastic`] | r Σ∣w∣ + (1 − r) ½ Σ w² | both |
//! | [`Norm::Toward`] | ‖w − b‖² | towards a reference b |
//! | [`Norm::Tied`] | ‖w⁽ⁱ⁾ − w⁽ʲ⁾‖² | two tensors together |
//!
//! Parameters come with names. Biases are left out by default, as shifting a prediction is not what makes a model complex;
//! [`Mask`] says which names count. [`SparseActivations`] penalises hidden activations instead of weights.
//!
//! ```
//! use tove_optim::{Norm, NormPenalty};
//! use tove_tensor::Tensor;
//! let (w, b) = (Tensor::from([3.0, -4.0]), Tensor::from([100.0]));
//! let penalty = NormPenalty::new(0.1, Norm::L2)?;
//! let value = penalty.of(&[("layer.weight", &w), ("layer.bias", &b)])?;
//! assert_eq!(value.item::<f64>(), 1.25); // 0.1 · ½ · 25, without the bias
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use tove_tensor::{DType, Result, Tensor, TryOps, TryUnary};

use crate::fault;

/// What is penalised.
#[derive(Clone, Debug)]
pub enum Norm {
    /// ½ Σ w².
    L2,
    /// Σ |w|.
    L1,
    /// r Σ|w| + (1 − r) ½ Σ w², with r the `l1_ratio` of scikit-learn.
    Elastic {
        /// r, from 0 to 1.
        l1_ratio: f64,
    },
    /// ‖w − b‖² for each parameter that counts; b has the parameter's shape.
    Toward(Tensor),
    /// ‖w⁽ⁱ⁾ − w⁽ʲ⁾‖² for the parameters of these two names, whatever the mask.
    Tied(String, String),
}

/// Which parameters count, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Mask {
    /// All but biases: names whose last part is `b` or `intercept`, or begins or ends with `bias`.
    #[default]
    Weights,
    /// All.
    All,
    /// Those named.
    Only(Vec<String>),
    /// All but those named.
    Except(Vec<String>),
}

impl Mask {
    /// Whether the parameter of this name counts.
    ///
    /// ```
    /// use tove_optim::Mask;
    /// assert!(Mask::Weights.counts("layers.0.weight") && !Mask::Weights.counts("layers.0.bias"));
    /// ```
    pub fn counts(&self, name: &str) -> bool {
        match self {
            Mask::Weights => {
                let last = name.rsplit('.').next().unwrap_or(name);
                !(matches!(last, "b" | "intercept") || last.starts_with("bias") || last.ends_with("bias"))
            }
            Mask::All => true,
            Mask::Only(names) => names.iter().any(|own| own == name),
            Mask::Except(names) => names.iter().all(|own| own != name),
        }
    }
}

/// α Ω(θ) over named parameters.
#[derive(Clone, Debug)]
pub struct NormPenalty {
    alpha: f64,
    norm: Norm,
    mask: Mask,
}

impl NormPenalty {
    /// α times a norm, of all parameters but biases.
    pub fn new(alpha: f64, norm: Norm) -> Result<NormPenalty> {
        fault::not_negative("penalty", "alpha", alpha)?;
        if let Norm::Elastic { l1_ratio } = norm
            && !(0.0..=1.0).contains(&l1_ratio)
        {
            return Err(fault::parameter("penalty", "l1_ratio", format!("is {l1_ratio}; it must lie between 0 and 1")));
        }
        Ok(NormPenalty { alpha, norm, mask: Mask::default() })
    }

    /// The same for other parameters.
    pub fn on(mut self, mask: Mask) -> NormPenalty {
        self.mask = mask;
        self
    }

    /// α Ω of these parameters, rank 0. Names that a mask or a tie asks for must be there.
    pub fn of(&self, parameters: &[(&str, &Tensor)]) -> Result<Tensor> {
        if let Norm::Tied(first, second) = &self.norm {
            let (first, second) = (find(parameters, first)?, find(parameters, second)?);
            return fault::scaled(&tying(first, second)?, self.alpha);
        }
        if let Mask::Only(names) | Mask::Except(names) = &self.mask {
            names.iter().try_for_each(|name| find(parameters, name).map(|_| ()))?;
        }
        let dtype = parameters.first().map_or(DType::F64, |(_, parameter)| parameter.dtype());
        let mut total = Tensor::zeros((), dtype);
        for (_, w) in parameters.iter().filter(|(name, _)| self.mask.counts(name)) {
            let term = match &self.norm {
                Norm::L1 => l1(w)?,
                Norm::Elastic { l1_ratio: r } => {
                    fault::scaled(&l1(w)?, *r)?.try_add(&fault::scaled(&l2(w)?, 1.0 - r)?)?
                }
                Norm::Toward(reference) => toward(w, reference)?,
                Norm::L2 | Norm::Tied(..) => l2(w)?,
            };
            total = total.try_add(&term)?;
        }
        fault::scaled(&total, self.alpha)
    }
}

fn find<'a>(parameters: &[(&str, &'a Tensor)], name: &str) -> Result<&'a Tensor> {
    let found = parameters.iter().find(|(own, _)| *own == name);
    found.map(|(_, parameter)| *parameter).ok_or_else(|| {
        let names: Vec<&str> = parameters.iter().map(|(name, _)| *name).collect();
        fault::parameter("penalty", "name", format!("`{name}` is none of the parameters: {}", names.join(", ")))
    })
}

/// ½ Σ w², with gradient w.
pub fn l2(w: &Tensor) -> Result<Tensor> {
    fault::float("l2", w)?;
    fault::scaled(&w.try_square()?.try_sum()?, 0.5)
}

/// Σ |w|, with subgradient sign(w), 0 at 0.
pub fn l1(w: &Tensor) -> Result<Tensor> {
    w.try_abs()?.try_sum()
}

/// ‖w − b‖², with gradient 2(w − b).
pub fn toward(w: &Tensor, reference: &Tensor) -> Result<Tensor> {
    fault::alike("toward", w, reference, "the reference needs the shape of the parameter")?;
    w.try_sub(reference)?.try_square()?.try_sum()
}

/// ‖a − b‖² between two parameters, with gradient for both.
pub fn tying(first: &Tensor, second: &Tensor) -> Result<Tensor> {
    fault::alike("tying", first, second, "parameters that are tied need one shape")?;
    first.try_sub(second)?.try_square()?.try_sum()
}

/// The l1 norm of hidden activations, averaged over samples: Σ_layers λ_layer (1/n) Σ |h|. Only layers that are named with a weight
/// count.
///
/// ```
/// use tove_optim::SparseActivations;
/// use tove_tensor::Tensor;
/// let sparse = SparseActivations::new().layer("hidden", 0.5)?;
/// let h = Tensor::from([[1.0, -2.0], [0.0, 1.0]]); // (samples, units)
/// assert_eq!(sparse.of(&[("hidden", &h), ("output", &h)])?.item::<f64>(), 0.5 * 4.0 / 2.0);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SparseActivations {
    layers: Vec<(String, f64)>,
}

impl SparseActivations {
    /// No layer yet.
    pub fn new() -> SparseActivations {
        SparseActivations::default()
    }

    /// Adds a layer with its weight λ ≥ 0.
    pub fn layer(mut self, name: impl Into<String>, weight: f64) -> Result<SparseActivations> {
        fault::not_negative("sparse_activations", "weight", weight)?;
        self.layers.push((name.into(), weight));
        Ok(self)
    }

    /// The penalty of these activations (samples, …), rank 0. Every layer that was added must be there.
    pub fn of(&self, activations: &[(&str, &Tensor)]) -> Result<Tensor> {
        let dtype = activations.first().map_or(DType::F64, |(_, activation)| activation.dtype());
        let mut total = Tensor::zeros((), dtype);
        for (name, weight) in &self.layers {
            let h = find(activations, name)?;
            let samples = h.dims().first().copied().unwrap_or(1).max(1);
            total = total.try_add(&fault::scaled(&l1(h)?, weight / samples as f64)?)?;
        }
        Ok(total)
    }
}
