//! Distances between all rows of two matrices, (Σ |a − b|^p)^(1/p), from the differences themselves: the shorter way over
//! a² − 2ab + b² loses all digits where rows are close.

use crate::ops::reduce::{norm, require_float};
use crate::ops::{binary, shape};
use crate::{Error, Result, Shape, Tensor};

/// Differences held at a time, so that a large result does not need as many times its memory as there are columns.
const PIECE: usize = 1 << 22;

/// The p-norms of all differences of rows of a (…, m, width) and b (…, n, width), as (…, m, n).
pub(crate) fn cdist(a: &Tensor, b: &Tensor, p: f64) -> Result<Tensor> {
    require_float("cdist", a)?;
    if a.dtype() != b.dtype() {
        return Err(Error::DTypePair { op: "cdist", left: a.dtype(), right: b.dtype() });
    }
    if p.is_nan() || p < 0.0 {
        return Err(Error::parameter("cdist", "p", format!("is {p}; give a number from 0 on, or infinity")));
    }
    let misfit = |problem: &str| Error::shapes("cdist", a.shape(), b.shape(), problem);
    let (&[ref lead_a @ .., rows, width], &[ref lead_b @ .., others, width_b]) = (a.dims(), b.dims()) else {
        return Err(misfit("both need rows of numbers: two axes or more"));
    };
    let leading = Shape::new(lead_a).broadcast(&Shape::new(lead_b));
    let Some(leading) = leading.filter(|_| width == width_b) else {
        return Err(misfit("rows must have one length, and the axes before the last two must broadcast"));
    };
    let b = shape::unsqueeze(b, -3)?; // (…, 1, n, width)
    let distances = |a: &Tensor| norm(&binary::sub(&shape::unsqueeze(a, -2)?, &b)?, p, &[-1], false);
    let at_a_time = (PIECE / (leading.numel() * others * width).max(1)).max(1);
    if rows <= at_a_time {
        return distances(a);
    }
    let piece = |start: usize| distances(&shape::narrow(a, -2, start, at_a_time.min(rows - start))?);
    let pieces: Vec<Tensor> = (0..rows).step_by(at_a_time).map(piece).collect::<Result<_>>()?;
    shape::concat(&pieces.iter().collect::<Vec<_>>(), -2)
}
