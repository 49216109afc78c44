//! Determinants by LU: `det`, and for large matrices its sign and logarithm.
//!
//! `det' = Σ C ∘ A'` with the cofactors C, which exist for singular matrices too (see `cofactor`; Jacobi's formula
//! `det · tr(A⁻¹ A')` does not). `(ln |det A|)' = tr(A⁻¹ A')` with adjoint `g A⁻ᵀ`; at a singular matrix, where the
//! logarithm is -inf, asking for it is an error of the data.

use super::cofactor::cofactor_matrix;
use super::inverse::inverse;
use super::kernel::{Job, Scalar, columns, finite, square};
use super::lu::Lu;
use super::tools::t;
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_float;
use crate::ops::constant::{Constant, constant_op};
use crate::ops::{Op, binary, one, reduce, shape};
use crate::{Error, Result, Tensor};

/// Which number of the factors is asked for.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Determinant,
    /// ln |det A|.
    Logarithm,
    /// ln det A; an error where the determinant is negative.
    PositiveLogarithm,
}

#[derive(Clone, Copy)]
struct Det(Part);

impl Det {
    fn one<T: Scalar>(self, a: &[T], n: usize) -> Result<f64> {
        finite(self.name(), a)?;
        let lu = Lu::new(columns(a, n, n));
        if self.0 == Part::Determinant {
            return Ok(lu.determinant());
        }
        let (sign, log) = lu.sign_and_log();
        if sign < 0.0 && self.0 == Part::PositiveLogarithm {
            return Err(Error::data("logdet", "the determinant is negative; use `slogdet` for its sign and size"));
        }
        Ok(log)
    }

    /// C for the determinant, A⁻ᵀ for its logarithm.
    fn gradient(self, a: &Tensor) -> Result<Tensor> {
        if self.0 == Part::Determinant { cofactor_matrix(a) } else { t(&inverse(a)?) }
    }
}

impl Op for Det {
    fn name(&self) -> &'static str {
        match self.0 {
            Part::Determinant => "det",
            Part::Logarithm => "slogdet",
            Part::PositiveLogarithm => "logdet",
        }
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (_, n) = square(self.name(), inputs[0])?;
        let job = Job { op: self.name(), inputs, item: &[], work: n * n * n };
        match_float!(self.name(), inputs[0].dtype(), T => job.run::<T>(|a, out| {
            out[0] = crate::Element::from_f64(self.one(a[0], n)?);
            Ok(())
        }))
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::all_inputs()
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        let Some(da) = tangents[0] else { return Ok(None) };
        reduce::sum(&binary::mul(&self.gradient(at.input(0))?, da)?, &[-2, -1], false).map(Some)
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        let factor = shape::unsqueeze(&shape::unsqueeze(grad, -1)?, -1)?;
        one(binary::mul(&factor, &self.gradient(at.input(0))?)?)
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        apply(*self, inputs).map(Some)
    }
}

/// The sign of the determinant, which carries no derivative.
#[derive(Clone, Copy)]
struct Sign;

impl Constant for Sign {
    const NAME: &'static str = "slogdet";

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (_, n) = square("slogdet", inputs[0])?;
        let job = Job { op: "slogdet", inputs, item: &[], work: n * n * n };
        match_float!("slogdet", inputs[0].dtype(), T => job.run::<T>(|a, out| {
            finite("slogdet", a[0])?;
            out[0] = crate::Element::from_f64(Lu::new(columns(a[0], n, n)).sign_and_log().0);
            Ok(())
        }))
    }
}

/// A determinant as `sign · e^logdet`, for those too large or small for a number.
#[derive(Clone)]
pub struct SlogDet {
    /// -1, 0 or 1.
    pub sign: Tensor,
    /// Logarithm of the absolute value; -inf for singular matrices.
    pub logdet: Tensor,
}

/// Sign and logarithm of the determinant.
///
/// ```
/// use tove_tensor::{DType, Tensor, linalg};
/// let d = linalg::slogdet(&(Tensor::eye(400, DType::F64) * -10.0)).unwrap();
/// assert_eq!(d.sign.item::<f64>(), 1.0);
/// assert!((d.logdet.item::<f64>() - 400.0 * 10f64.ln()).abs() < 1e-9);
/// ```
pub fn slogdet(a: &Tensor) -> Result<SlogDet> {
    square("slogdet", a)?;
    Ok(SlogDet { sign: apply(constant_op(Sign), &[a])?, logdet: apply(Det(Part::Logarithm), &[a])? })
}

/// The determinant of square matrices.
pub(crate) fn det(a: &Tensor) -> Result<Tensor> {
    square("det", a)?;
    apply(Det(Part::Determinant), &[a])
}

/// The logarithm of a determinant that is not negative.
pub(crate) fn logdet(a: &Tensor) -> Result<Tensor> {
    square("logdet", a)?;
    apply(Det(Part::PositiveLogarithm), &[a])
}
