//! A lower value next to the end of a run: the witness that a stationary point is a saddle or a maximum.
//!
//! A direction v with vᵀ∇²f v < 0 leads downhill from a stationary point on both sides. It is the eigenvector of the smallest
//! eigenvalue of the Hessian: of the matrix itself for few variables, of its projection onto a Krylov space (the Lanczos
//! method, from Hessian-vector products) for many. Where the gradient is exactly zero and no curvature is negative, points
//! of a small ball decide, since then even x³ has lower neighbors. A direction counts only if f is lower there.

use tove_tensor::linalg::eigh;
use tove_tensor::{DType, Key, Result, Tensor, TryOps};

use crate::fault;
use crate::objective::Objective;
use crate::sampling::Region;

/// Up to this many variables the whole Hessian is formed.
const FEW: usize = 48;
/// Hessian-vector products of the Lanczos method.
const PRODUCTS: usize = 24;

/// A lower value near a point at which a run came to rest.
#[derive(Clone, Debug)]
pub struct Escape {
    /// The unit direction in which it lies.
    pub direction: Tensor,
    /// The second derivative of f along the direction; 0 where only values tell.
    pub curvature: f64,
    /// How far away it lies.
    pub distance: f64,
    /// f there.
    pub value: f64,
}

/// Looks for a lower value near `x`. `None` also where second derivatives cannot be had.
pub(crate) fn find(objective: &dyn Objective, x: &Tensor, value: f64, gradient: &Tensor) -> Result<Option<Escape>> {
    let Some(spectrum) = least_eigenpair(objective, x) else { return Ok(None) };
    let unit = 1.0 + fault::norm(x);
    let rounding = 8.0 * x.dtype().epsilon() * value.abs();
    let tolerance = 64.0 * x.dtype().epsilon().sqrt();
    if spectrum.least < -tolerance * spectrum.size {
        for distance in (1..=6).rev().map(|power| unit * 10f64.powi(-power)) {
            for sign in [1.0, -1.0] {
                // Outside of the domain there is no value.
                let moved = fault::add_scaled(x, sign * distance, &spectrum.vector)?;
                let found = objective.value(&moved).unwrap_or(f64::NAN);
                if found < value - rounding {
                    let direction = &spectrum.vector * sign;
                    return Ok(Some(Escape { direction, curvature: spectrum.least, distance, value: found }));
                }
            }
        }
    } else if fault::square_norm(gradient) == 0.0 && spectrum.least <= tolerance * spectrum.size {
        for u in Region::around(x, 1e-3 * unit).ball(70, 0)? {
            let found = objective.value(&u).unwrap_or(f64::NAN);
            if found < value - rounding {
                let way = u.try_sub(&x.detach())?;
                let distance = fault::norm(&way);
                let direction = way / distance.max(f64::MIN_POSITIVE);
                return Ok(Some(Escape { direction, curvature: 0.0, distance, value: found }));
            }
        }
    }
    Ok(None)
}

/// The smallest eigenvalue of a Hessian with its unit vector, and the largest absolute one.
struct Spectrum {
    least: f64,
    size: f64,
    vector: Tensor,
}

fn least_eigenpair(objective: &dyn Objective, x: &Tensor) -> Option<Spectrum> {
    match x.numel() {
        0 => None,
        1..=FEW => of_matrix(&objective.hessian(x).ok()?, |vector| vector.try_reshape(x.shape().clone())),
        _ => lanczos(objective, x),
    }
}

fn of_matrix(matrix: &Tensor, vector: impl Fn(&Tensor) -> Result<Tensor>) -> Option<Spectrum> {
    if !fault::all_finite(matrix) {
        return None;
    }
    let found = eigh(matrix).ok()?;
    let values = found.values.to_f64_vec();
    let size = values.iter().fold(0.0f64, |size, value| size.max(value.abs()));
    let first = found.vectors.try_narrow(1, 0, 1).ok()?;
    Some(Spectrum { least: *values.first()?, size, vector: vector(&first).ok()? })
}

/// The same from Hessian-vector products, with every new vector made orthogonal to all before it.
fn lanczos(objective: &dyn Objective, x: &Tensor) -> Option<Spectrum> {
    let start = Key::new(0).try_normal(x.shape().clone(), x.dtype()).ok()?;
    let mut basis = vec![&start / fault::norm(&start)];
    let mut products: Vec<Tensor> = Vec::new();
    while products.len() < PRODUCTS.min(x.numel()) {
        let product = objective.hessian_vector(x, basis.last()?).ok()?;
        if !fault::all_finite(&product) {
            return None;
        }
        let mut rest = product.clone();
        products.push(product);
        // Twice, since the first pass leaves what rounding has mixed in.
        for _ in 0..2 {
            for v in &basis {
                rest = fault::add_scaled(&rest, -fault::dot(v, &rest).ok()?, v).ok()?;
            }
        }
        let length = fault::norm(&rest);
        if length <= 64.0 * x.dtype().epsilon() * fault::norm(products.last()?) {
            break;
        }
        basis.push(rest / length);
    }
    let m = products.len();
    let entry = |k: usize| fault::dot(&basis[k / m], &products[k % m]).ok();
    let entries: Vec<f64> = (0..m * m).map(entry).collect::<Option<_>>()?;
    let projected = Tensor::try_from_vec(entries, [m, m]).ok()?;
    of_matrix(&projected, |weights| {
        let mut sum = x.detach().zeros_like();
        for (weight, v) in weights.try_to_dtype(DType::F64)?.to_f64_vec().into_iter().zip(&basis) {
            sum = fault::add_scaled(&sum, weight, v)?;
        }
        Ok(sum)
    })
}
