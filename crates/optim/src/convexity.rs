//! Is a function convex? Three kinds of evidence, of different strength.
//!
//! - **By chords:** f(a x₁ + (1−a) x₂) ≤ a f(x₁) + (1−a) f(x₂); **by tangents**, for differentiable f:
//!   f(u) ≥ f(w) + ∇f(w)ᵀ(u − w). [`check_chords`] and [`check_tangents`] sample these. One violation, returned with its points,
//!   refutes convexity; that none was found proves nothing.
//! - **By the Hessian:** positive semidefinite everywhere. [`least_curvature`] takes the smallest eigenvalue over given points.
//! - **By construction:** [`Convex`] builds functions from known convex ones with rules that keep convexity (sums, non-negative
//!   multiples, maxima, convex-of-affine). It carries its proof, and a modulus of strong convexity where there is one.
//!
//! A strictly convex function has *at most* one minimiser; that it has one at all is a further condition (eˣ has none).
//!
//! ```
//! use tove_optim::{Region, check_chords};
//! use tove_tensor::Tensor;
//! let region = Region::around(&Tensor::from([0.0]), 3.0);
//! assert!(check_chords(&|x: &Tensor| x.square().sum(), &region, 500, 0)?.is_none());
//! let chord = check_chords(&|x: &Tensor| x.sin().sum(), &region, 500, 0)?.unwrap();
//! assert!(chord.value > chord.chord);
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use tove_tensor::{Key, Result, Tensor, TryLinalg, TryOps};

use crate::fault;
use crate::objective::Objective;
use crate::sampling::Region;

/// Two points and a weight between which f lies above its chord.
#[derive(Clone, Debug)]
pub struct ChordViolation {
    /// x₁.
    pub first: Tensor,
    /// x₂.
    pub second: Tensor,
    /// a.
    pub weight: f64,
    /// f(a x₁ + (1−a) x₂).
    pub value: f64,
    /// a f(x₁) + (1−a) f(x₂), which is less.
    pub chord: f64,
}

/// Two points where f lies below its tangent.
#[derive(Clone, Debug)]
pub struct TangentViolation {
    /// Where the tangent touches, w.
    pub touching: Tensor,
    /// u.
    pub at: Tensor,
    /// f(u).
    pub value: f64,
    /// f(w) + ∇f(w)ᵀ(u − w), which is more.
    pub tangent: f64,
}

/// What rounding may do to sums of these sizes.
fn rounding(x: &Tensor, sizes: &[f64]) -> f64 {
    32.0 * x.dtype().epsilon() * sizes.iter().map(|size| size.abs()).sum::<f64>()
}

/// Looks for a chord below the function among `samples` random pairs of the region.
pub fn check_chords(
    objective: &dyn Objective,
    region: &Region,
    samples: usize,
    seed: u64,
) -> Result<Option<ChordViolation>> {
    let firsts = region.points(samples, seed.wrapping_mul(2))?;
    let seconds = region.points(samples, seed.wrapping_mul(2).wrapping_add(1))?;
    let weights = Key::new(seed).fold(3).try_uniform([samples], tove_tensor::DType::F64)?.to_f64_vec();
    for ((first, second), weight) in firsts.into_iter().zip(seconds).zip(weights) {
        let between = fault::add_scaled(&fault::scaled(&first, weight)?, 1.0 - weight, &second)?;
        let (one, two, value) = (objective.value(&first)?, objective.value(&second)?, objective.value(&between)?);
        let chord = weight * one + (1.0 - weight) * two;
        if value > chord + rounding(&first, &[one, two, value]) {
            return Ok(Some(ChordViolation { first, second, weight, value, chord }));
        }
    }
    Ok(None)
}

/// Looks for a tangent above the function among `samples` random pairs of the region.
pub fn check_tangents(
    objective: &dyn Objective,
    region: &Region,
    samples: usize,
    seed: u64,
) -> Result<Option<TangentViolation>> {
    let touching = region.points(samples, seed.wrapping_mul(2))?;
    let others = region.points(samples, seed.wrapping_mul(2).wrapping_add(1))?;
    for (w, u) in touching.into_iter().zip(others) {
        let (here, gradient) = objective.value_and_gradient(&w)?;
        let rise = fault::dot(&gradient, &u.try_sub(&w)?)?;
        let (value, tangent) = (objective.value(&u)?, here + rise);
        if value < tangent - rounding(&w, &[here, rise, value]) {
            return Ok(Some(TangentViolation { touching: w, at: u, value, tangent }));
        }
    }
    Ok(None)
}

/// The smallest eigenvalue of the Hessian over some points.
#[derive(Clone, Debug)]
pub struct LeastCurvature {
    /// The eigenvalue.
    pub value: f64,
    /// Where.
    pub at: Tensor,
}

/// The smallest eigenvalue of ∇²f over these points; negative means not convex.
pub fn least_curvature(objective: &dyn Objective, points: &[Tensor]) -> Result<LeastCurvature> {
    let mut least: Option<LeastCurvature> = None;
    for x in points {
        let value = objective.hessian(x)?.try_eigvalsh()?.to_f64_vec().first().copied().unwrap_or(0.0);
        if least.as_ref().is_none_or(|least| value < least.value) {
            least = Some(LeastCurvature { value, at: x.clone() });
        }
    }
    least.ok_or_else(|| fault::parameter("least_curvature", "points", "is empty; give at least one point"))
}

type Function<'a> = Box<dyn Fn(&Tensor) -> Result<Tensor> + 'a>;

/// A function that is convex by construction, with the proof in words.
///
/// ```
/// use tove_optim::{Convex, Objective};
/// use tove_tensor::Tensor;
/// let (x, y) = (Tensor::from([[1.0, 2.0], [0.0, 1.0]]), Tensor::from([1.0, -1.0]));
/// let ridge = Convex::half_square().after_affine(&x, &-&y)?.plus(Convex::half_square().times(0.1)?);
/// assert_eq!(ridge.value(&Tensor::from([0.0, 0.0]))?, 1.0);
/// assert!(ridge.strong_convexity() >= 0.1);
/// assert!(ridge.proof().contains("sum"));
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub struct Convex<'a> {
    function: Function<'a>,
    proof: String,
    modulus: f64,
}

/// Declares convex functions of a vector: the name, the proof, the modulus, and the function.
macro_rules! atoms {
    ($($(#[$doc:meta])* $name:ident $proof:literal $modulus:literal |$x:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name() -> Convex<'a> {
            Convex { function: Box::new(|$x| $body), proof: $proof.to_string(), modulus: $modulus }
        }
    )*};
}

impl<'a> Convex<'a> {
    atoms! {
        /// ½ Σ x²; strongly convex with modulus 1.
        half_square "½‖x‖² has Hessian I" 1.0 |x| fault::scaled(&x.try_mul(x)?.try_sum()?, 0.5);
        /// Σ |x|.
        absolute "Σ|x| is a norm" 0.0 |x| tove_tensor::TryUnary::try_abs(x)?.try_sum();
        /// Σ eˣ.
        exponential "Σeˣ has the positive Hessian diag(eˣ)" 0.0 |x| tove_tensor::TryUnary::try_exp(x)?.try_sum();
        /// ln Σ eˣ.
        log_sum_exp "ln Σeˣ has the Hessian diag(p) − ppᵀ of a covariance, p = softmax(x)" 0.0
            |x| tove_tensor::TryReduce::try_logsumexp(&x.try_flatten(0)?, &[0], false);
        /// Σ max(0, 1 − x).
        hinge "Σmax(0, 1 − x) is a maximum of affine functions" 0.0
            |x| tove_tensor::TryUnary::try_relu(&(1.0 - x))?.try_sum();
        /// Σ ln(1 + e⁻ˣ).
        logistic "Σln(1 + e⁻ˣ) has the positive second derivative σ(x)σ(−x)" 0.0
            |x| tove_tensor::TryUnary::try_softplus(&-x)?.try_sum();
        /// Σ x.
        linear "Σx is linear" 0.0 |x| x.try_sum();
    }

    /// f + g.
    pub fn plus(self, other: Convex<'a>) -> Convex<'a> {
        let (proof, modulus) = (format!("sum of ({}) and ({})", self.proof, other.proof), self.modulus + other.modulus);
        let (f, g) = (self.function, other.function);
        Convex { function: Box::new(move |x| f(x)?.try_add(&g(x)?)), proof, modulus }
    }

    /// c f for c ≥ 0; a negative factor is an error, since it would turn convex into concave.
    pub fn times(self, factor: f64) -> Result<Convex<'a>> {
        fault::not_negative("convex", "factor", factor)?;
        let (proof, modulus) = (format!("{factor} times ({})", self.proof), self.modulus * factor);
        let f = self.function;
        Ok(Convex { function: Box::new(move |x| fault::scaled(&f(x)?, factor)), proof, modulus })
    }

    /// max(f, g).
    pub fn max(self, other: Convex<'a>) -> Convex<'a> {
        let proof = format!("maximum of ({}) and ({})", self.proof, other.proof);
        let (f, g, modulus) = (self.function, other.function, self.modulus.min(other.modulus));
        Convex { function: Box::new(move |x| f(x)?.try_maximum(&g(x)?)), proof, modulus }
    }

    /// x ↦ f(Ax + b). The modulus is multiplied by the smallest eigenvalue of AᵀA.
    pub fn after_affine(self, a: &Tensor, b: &Tensor) -> Result<Convex<'a>> {
        let (a, b) = (a.detach(), b.detach());
        let gram = a.try_t()?.try_matmul(&a)?.try_eigvalsh()?.to_f64_vec();
        // An eigenvalue within rounding of 0 counts as 0: a modulus must never be promised too large.
        let noise = a.dtype().epsilon() * a.numel() as f64 * gram.last().copied().unwrap_or(0.0);
        let least = gram.first().copied().unwrap_or(0.0) - noise;
        let modulus = self.modulus * least.max(0.0);
        let (f, proof) = (self.function, format!("({}) after an affine map", self.proof));
        Ok(Convex { function: Box::new(move |x| f(&a.try_matmul(x)?.try_add(&b)?)), proof, modulus })
    }

    /// The proof in words.
    pub fn proof(&self) -> &str {
        &self.proof
    }

    /// An m with ∇²f ⪰ m I; 0 if none is known.
    pub fn strong_convexity(&self) -> f64 {
        self.modulus
    }
}

impl Objective for Convex<'_> {
    fn evaluate(&self, x: &Tensor) -> Result<Tensor> {
        (self.function)(x)
    }
}
