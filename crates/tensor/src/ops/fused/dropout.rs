//! Dropout: each element is zero with probability p, and divided by 1 − p otherwise, so that the mean stays (Srivastava et
//! al. 2014).
//!
//! The mask is a function of the key and of the element's index alone: computing the same step again, for instance under
//! checkpointing, drops the same elements. Inside `vmap` all samples share one mask; fold the key per sample for others.

use crate::dtype::match_float;
use crate::ops::binary;
use crate::random::{Key, fill_bernoulli};
use crate::tensor::{Fresh, try_vec};
use crate::{Error, Result, Tensor};

const NAME: &str = "dropout";

/// x · mask / (1 − p).
pub(crate) fn dropout(x: &Tensor, p: f64, key: Key) -> Result<Tensor> {
    if !(0.0..=1.0).contains(&p) {
        return Err(Error::parameter(NAME, "p", format!("must lie between 0 and 1; it is {p}")));
    }
    if p == 0.0 {
        return Ok(x.clone());
    }
    let mut kept = try_vec(NAME, x.numel(), false)?;
    fill_bernoulli(key, 1.0 - p, &mut kept).map_err(|error| Error::parameter(NAME, "p", error.to_string()))?;
    let factor = if p == 1.0 { 0.0 } else { 1.0 / (1.0 - p) };
    let mut mask = Fresh::new(x.shape().clone(), x.dtype())?;
    match_float!(NAME, x.dtype(), T => {
        let factors = [0.0, factor as T];
        mask.slice::<T>().iter_mut().zip(&kept).for_each(|(slot, &kept)| *slot = factors[usize::from(kept)]);
    });
    binary::mul(x, &mask.finish())
}
