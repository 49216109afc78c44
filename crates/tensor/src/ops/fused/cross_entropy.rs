//! Softmax cross-entropy along the last axis: −Σ t ln softmax(x), from class numbers or from distributions t.
//!
//! With label smoothing s over C classes the target is (1 − s) t + s/C. Rows whose class is `ignore_index` count neither
//! in the sum nor in the mean; a mean over no rows is NaN, as in PyTorch.

use smallvec::smallvec;

use super::{Fused, Saved, fused, log_softmax, softmax};
use crate::autodiff::{Grads, Point, try_vjp};
use crate::dtype::match_float;
use crate::kernels::cross_entropy::{Rows, Target, backward, forward};
use crate::ops::{Aux, Reduction, binary, reduce, shape, unary};
use crate::tensor::Fresh;
use crate::{DType, Element, Error, Result, Tensor};

/// Settings of [`Tensor::cross_entropy`].
///
/// ```
/// use tove_tensor::{CrossEntropy, Reduction, Tensor};
/// let options = CrossEntropy { reduction: Reduction::Sum, ignore_index: Some(-100), ..CrossEntropy::default() };
/// let logits = Tensor::from([[0.0, 0.0], [3.0, 4.0]]);
/// assert_eq!(logits.cross_entropy(&Tensor::from([1i64, -100]), &options).item::<f64>(), 2f64.ln());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CrossEntropy {
    /// What becomes of the losses of the rows.
    pub reduction: Reduction,
    /// Share of every target that is spread evenly over the classes, from 0 to 1.
    pub label_smoothing: f64,
    /// A class number whose rows do not count.
    pub ignore_index: Option<i64>,
}

const NAME: &str = "cross_entropy";

/// Inputs logits (…, classes) and targets.
#[derive(Clone, Copy)]
struct Loss {
    options: CrossEntropy,
}

fn check(x: &Tensor, target: &Tensor, options: &CrossEntropy) -> Result<()> {
    if x.rank() == 0 || x.dims()[x.rank() - 1] == 0 {
        return Err(Error::shape(NAME, x.shape(), "the logits need a last axis of at least one class"));
    }
    if !x.dtype().is_float() {
        return Err(Error::DType { op: NAME, dtype: x.dtype(), expected: "the logits need f32 or f64" });
    }
    if !(0.0..=1.0).contains(&options.label_smoothing) {
        let problem = format!("must lie between 0 and 1; it is {}", options.label_smoothing);
        return Err(Error::parameter(NAME, "label_smoothing", problem));
    }
    if target.dtype() == DType::I64 {
        if target.dims() != &x.dims()[..x.rank() - 1] {
            let problem = "class numbers need the shape of the logits without the last axis";
            return Err(Error::shapes(NAME, x.shape(), target.shape(), problem));
        }
        return Ok(());
    }
    if target.dtype() != x.dtype() {
        return Err(Error::DTypePair { op: NAME, left: x.dtype(), right: target.dtype() });
    }
    if options.ignore_index.is_some() {
        return Err(Error::parameter(NAME, "ignore_index", "is for class numbers, not for distributions as targets"));
    }
    if target.shape() != x.shape() {
        return Err(Error::shapes(NAME, x.shape(), target.shape(), "distributions need the shape of the logits"));
    }
    Ok(())
}

/// All class numbers must exist, or be the ignored one.
fn check_classes(targets: &[i64], classes: usize, ignored: Option<i64>) -> Result<()> {
    let wrong = |&class: &i64| !(0..classes as i64).contains(&class) && Some(class) != ignored;
    match targets.iter().position(wrong) {
        None => Ok(()),
        Some(row) => Err(Error::parameter(
            NAME,
            "target",
            format!("has class {} in row {row}, but there are {classes} classes, 0 to {}", targets[row], classes - 1),
        )),
    }
}

macro_rules! rows {
    ($self:ident, $x:ident, $target:ident, $T:ident) => {
        Rows {
            x: $x.contiguous_slice::<$T>(),
            target: match $target.dtype() {
                DType::I64 => Target::Class($target.contiguous_slice::<i64>()),
                _ => Target::Soft($target.contiguous_slice::<$T>()),
            },
            classes: $x.dims()[$x.rank() - 1],
            smoothing: $self.options.label_smoothing,
            ignored: $self.options.ignore_index,
        }
    };
}

impl Loss {
    /// Rows that count.
    fn count(&self, target: &Tensor, rows: usize) -> f64 {
        match (target.dtype(), self.options.ignore_index) {
            (DType::I64, Some(ignored)) => {
                target.contiguous_slice::<i64>().iter().filter(|&&class| class != ignored).count() as f64
            }
            _ => rows as f64,
        }
    }

    /// The reduced loss from those of rows in the trailing axes from `from` on; `target` as in the inputs.
    fn reduced(&self, losses: &Tensor, target: &Tensor, from: usize) -> Result<Tensor> {
        let axes: Vec<isize> = (from as isize..losses.rank() as isize).collect();
        match (self.options.reduction, self.options.ignore_index) {
            (Reduction::None, _) => Ok(losses.clone()),
            (Reduction::Sum, _) => reduce::sum(losses, &axes, false),
            (Reduction::Mean, None) => reduce::mean(losses, &axes, false),
            (Reduction::Mean, Some(ignored)) => {
                let counts = shape::to_dtype(&binary::ne(target, &Tensor::scalar(ignored))?, losses.dtype())?;
                let count = reduce::sum(&counts, &axes, false)?;
                binary::div(&reduce::sum(losses, &axes, false)?, &count)
            }
        }
    }
}

impl Loss {
    /// The gradient softmax(x) − target of a sum or mean over rows with plain classes; other cases are left to the
    /// definition.
    fn slope(&self, at: &Point<'_>) -> Option<Result<Tensor>> {
        let CrossEntropy { reduction, label_smoothing, ignore_index } = self.options;
        let (x, target) = (at.input(0), at.input(1));
        let plain = target.dtype() == DType::I64 && label_smoothing == 0.0 && ignore_index.is_none();
        if !plain || reduction == Reduction::None {
            return None;
        }
        let (rank, classes) = (x.rank(), x.dims()[x.rank() - 1]);
        let rows: usize = x.dims()[..rank - 1].iter().product();
        let factor = if reduction == Reduction::Mean { 1.0 / rows as f64 } else { 1.0 };
        let difference = || {
            let chosen = binary::eq(&shape::unsqueeze(target, -1)?, &Tensor::arange(0, classes as i64))?;
            let difference = binary::sub(&softmax(x, -1)?, &shape::to_dtype(&chosen, x.dtype())?)?;
            unary::unary_owned(unary::MulScalar(factor), difference)
        };
        Some(difference())
    }
}

impl Fused for Loss {
    const NAME: &'static str = NAME;

    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        let (x, target) = (inputs[0].contiguous_data()?, inputs[1].contiguous_data()?);
        let classes = x.dims()[x.rank() - 1];
        let shape = x.shape().without(x.rank() - 1);
        if target.dtype() == DType::I64 {
            check_classes(target.contiguous_slice(), classes, self.options.ignore_index)?;
        }
        let mut losses = Fresh::new(shape.clone(), x.dtype())?;
        let mut log_sums = Fresh::new(shape.joined(&[2]), x.dtype())?;
        let value = match_float!(NAME, x.dtype(), T => {
            forward::<T>(rows!(self, x, target, T), losses.slice::<T>(), log_sums.slice::<T>());
            let mut total = || losses.slice::<T>().iter().map(|&loss| Element::to_f64(loss)).sum::<f64>();
            match self.options.reduction {
                Reduction::Mean => Some(total() / self.count(&target, shape.numel())),
                Reduction::Sum => Some(total()),
                Reduction::None => None,
            }
        });
        let value = value.map_or_else(|| losses.finish(), |value| Tensor::scalar_of(value, x.dtype()));
        Ok((value, smallvec![log_sums.finish()]))
    }

    fn backward(&self, at: &Saved<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let (x, target) = (at.inputs[0].contiguous_data()?, at.inputs[1].contiguous_data()?);
        let mut grads: Grads = smallvec![None, None];
        if needs[0] {
            let computed;
            let log_sums = match at.aux.first() {
                Some(log_sums) => log_sums,
                None => {
                    computed = self.forward(&at.inputs)?.1;
                    &computed[0]
                }
            };
            let grad = grad.contiguous_data()?;
            let mut out = Fresh::new(x.shape().clone(), x.dtype())?;
            match_float!(NAME, x.dtype(), T => {
                let (log_sums, g) = (log_sums.contiguous_slice::<T>(), grad.contiguous_slice::<T>());
                let mean = self.count(&target, log_sums.len() / 2) as T;
                let each: &(dyn Fn(usize) -> T + Sync) = match self.options.reduction {
                    Reduction::None => &|row| g[row],
                    Reduction::Sum => &|_| g[0],
                    Reduction::Mean => &|_| g[0] / mean,
                };
                backward::<T>(rows!(self, x, target, T), log_sums, each, out.slice::<T>());
            });
            grads[0] = Some(out.finish());
        }
        if needs[1] {
            let (_, pull) = try_vjp(|target: &Tensor| self.definition(&[&x, target]), at.inputs[1])?;
            grads[1] = Some(pull(grad));
        }
        Ok(grads)
    }

    fn tangent(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Option<Result<Option<Tensor>>> {
        let (Some(t), None) = (tangents[0], tangents[1]) else { return None };
        let slope = self.slope(at)?;
        Some(slope.and_then(|slope| reduce::sum_all(&binary::mul(&slope, t)?)).map(Some))
    }

    fn adjoint(&self, at: &Point<'_>, grad: &Tensor, needs: &[bool]) -> Option<Result<Grads>> {
        if needs[1] {
            return None;
        }
        let slope = self.slope(at)?;
        Some(slope.and_then(|slope| Ok(smallvec![Some(binary::mul(&slope, grad)?), None])))
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (x, target) = (inputs[0], inputs[1]);
        let zero = Tensor::scalar_of(0.0, x.dtype());
        let classes = x.dims()[x.rank() - 1];
        let log = log_softmax(x, -1)?;
        let hard = target.dtype() == DType::I64;
        // Selection, not multiplication: a class of probability 0 may have the logarithm −∞.
        let terms = if hard {
            let chosen = binary::eq(&shape::unsqueeze(target, -1)?, &Tensor::arange(0, classes as i64))?;
            binary::select(&chosen, &log, &zero)?
        } else {
            let chosen = binary::ne_scalar(target, 0.0)?;
            binary::mul(target, &binary::select(&chosen, &log, &zero)?)?
        };
        let smoothing = self.options.label_smoothing;
        let mut losses = unary::neg(&reduce::sum(&terms, &[-1], false)?)?;
        if smoothing != 0.0 {
            let spread = reduce::mean(&log, &[-1], false)?;
            let kept = unary::apply_unary(unary::MulScalar(1.0 - smoothing), &losses)?;
            losses = binary::sub(&kept, &unary::apply_unary(unary::MulScalar(smoothing), &spread)?)?;
        }
        if let (true, Some(ignored)) = (hard, self.options.ignore_index) {
            losses = binary::select(&binary::ne(target, &Tensor::scalar(ignored))?, &losses, &zero)?;
        }
        self.reduced(&losses, target, 0)
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], size: usize) -> Result<Option<Tensor>> {
        let whole = |i: usize| -> Result<Tensor> {
            let x = inputs[i];
            if batched[i] { Ok(x.clone()) } else { shape::broadcast_to(x, x.shape().inserted(0, size)) }
        };
        let (x, target) = (whole(0)?, whole(1)?);
        let options = CrossEntropy { reduction: Reduction::None, ..self.options };
        let losses = fused(Loss { options }, &[&x, &target])?;
        self.reduced(&losses, &target, 1).map(Some)
    }

    fn flops(&self, inputs: &[&Tensor], _output: &Tensor) -> u64 {
        4 * inputs[0].numel() as u64
    }

    fn attributes(&self) -> String {
        let CrossEntropy { reduction, label_smoothing, ignore_index } = self.options;
        format!("reduction={reduction:?}, label_smoothing={label_smoothing}, ignore_index={ignore_index:?}")
    }
}

/// Cross-entropy of softmax(x) along the last axis.
pub(crate) fn cross_entropy(x: &Tensor, target: &Tensor, options: &CrossEntropy) -> Result<Tensor> {
    check(x, target, options)?;
    fused(Loss { options: *options }, &[x, target])
}
