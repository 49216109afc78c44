//! Batch normalisation per channel of a row-major tensor seen as (outer, channels, inner).
//!
//! Moments are taken block by block, as sums of distances and of squared distances from a number near the mean (see
//! [`near_part`](super::rows::near_part)), and blocks are merged in double precision in a fixed order (Chan, Golub and
//! LeVeque 1983): mean = Σ nₖ meanₖ / n, M₂ = Σ (M₂ₖ + nₖ (meanₖ − mean)²). Each channel is then an affine map of its
//! elements, forward and backward, of the form a (x − m₀) + c.

mod columns;
mod planes;

use super::lanes::Lanes;
use super::math::Float;
use super::rows::{Shared, TASK, for_runs};
use super::simd::{Kernel, dispatch};

/// Elements that fill a page of memory.
const PAGE: usize = 1024;

/// Sizes of the tensor.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) outer: usize,
    pub(crate) channels: usize,
    pub(crate) inner: usize,
}

impl Layout {
    /// Elements of a channel.
    pub(crate) fn count(&self) -> usize {
        self.outer * self.inner
    }

    /// Channels that make a task when each is contiguous by planes: enough for a fork, and neighbours that fill a page as
    /// long as there are tasks for several threads.
    fn channels_per_task(&self) -> usize {
        let page = PAGE.div_ceil(self.inner.max(1)).min(self.channels / 8).max(1);
        (TASK / 2).div_ceil(self.count().max(1)).next_multiple_of(page)
    }

    /// Rows that make a task when a channel is a column.
    fn rows_per_task(&self) -> usize {
        (4 * TASK / self.channels.max(1)).clamp(64, 512)
    }
}

/// Mean and variance of each channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moments {
    pub(crate) mean: Vec<f64>,
    pub(crate) variance: Vec<f64>,
}

/// Two sums over the elements of a channel.
trait Sums<T: Float>: Copy + Send + Sync {
    fn lanes(x: Lanes<T>, g: Lanes<T>, centre: Lanes<T>, sums: [Lanes<T>; 2]) -> [Lanes<T>; 2];
    fn one(x: T, g: T, centre: T, sums: [T; 2]) -> [T; 2];
}

/// Σ d and Σ d² for d = x − centre.
#[derive(Clone, Copy)]
struct Spread;

impl<T: Float> Sums<T> for Spread {
    #[inline(always)]
    fn lanes(x: Lanes<T>, _g: Lanes<T>, centre: Lanes<T>, sums: [Lanes<T>; 2]) -> [Lanes<T>; 2] {
        let d = x.sub(centre);
        [sums[0].add(d), d.mul_add(d, sums[1])]
    }

    #[inline(always)]
    fn one(x: T, _g: T, centre: T, sums: [T; 2]) -> [T; 2] {
        let d = x - centre;
        [sums[0] + d, d.mul_add(d, sums[1])]
    }
}

/// Σ g and Σ g (x − centre).
#[derive(Clone, Copy)]
struct Along;

impl<T: Float> Sums<T> for Along {
    #[inline(always)]
    fn lanes(x: Lanes<T>, g: Lanes<T>, centre: Lanes<T>, sums: [Lanes<T>; 2]) -> [Lanes<T>; 2] {
        [sums[0].add(g), g.mul_add(x.sub(centre), sums[1])]
    }

    #[inline(always)]
    fn one(x: T, g: T, centre: T, sums: [T; 2]) -> [T; 2] {
        [sums[0] + g, g.mul_add(x - centre, sums[1])]
    }
}

/// The map a (x − m) + b g + c of one channel, given the mean in full and the constant that belongs to x − mean.
#[inline(always)]
fn map_of<T: Float>([mean, a, b, c]: [f64; 4]) -> [T; 4] {
    let m = T::from_f64(mean);
    // The part of the mean that its rounding loses goes into the constant.
    [m, T::from_f64(a), T::from_f64(b), T::from_f64(c - a * (mean - m.to_f64()))]
}

/// One affine map per channel: a (x − m) + c, or a (x − m) + b g + c with a second operand.
struct Maps<T> {
    m: Vec<T>,
    a: Vec<T>,
    b: Vec<T>,
    c: Vec<T>,
}

impl<T: Float> Maps<T> {
    /// `map(channel)` gives the mean in full, a, b and the constant that belongs to x − mean.
    fn new(channels: usize, map: impl Fn(usize) -> [f64; 4]) -> Self {
        let mut maps = Maps { m: vec![T::ZERO; channels], a: vec![], b: vec![], c: vec![] };
        (maps.a, maps.b, maps.c) = (maps.m.clone(), maps.m.clone(), maps.m.clone());
        for channel in 0..channels {
            [maps.m[channel], maps.a[channel], maps.b[channel], maps.c[channel]] = map_of(map(channel));
        }
        maps
    }
}

/// The mean and variance of each channel of row-major `x`.
///
/// # Safety
/// `x` has the layout's size.
pub(crate) unsafe fn moments<T: Float>(x: *const T, layout: Layout) -> Moments {
    let x = Shared::new(x.cast_mut());
    // SAFETY: by the caller's promise; columns are channels with one element in each row.
    unsafe { if layout.inner == 1 { columns::moments(x, layout) } else { planes::moments(x, layout) } }
}

/// Writes (x − mean) / √(var + ε) · weight + bias.
///
/// # Safety
/// `x` and `out` have the layout's size and do not overlap; weight and bias have one number per channel.
pub(crate) unsafe fn normalise<T: Float>(
    x: *const T,
    layout: Layout,
    moments: &Moments,
    eps: f64,
    weight: &[T],
    bias: &[T],
    out: *mut T,
) {
    let maps = Maps::<T>::new(layout.channels, |channel| {
        let a = weight[channel].to_f64() / (moments.variance[channel] + eps).sqrt();
        [moments.mean[channel], a, 0.0, bias[channel].to_f64()]
    });
    let (x, out) = (Shared::new(x.cast_mut()), Shared::new(out));
    // SAFETY: by the caller's promise.
    unsafe {
        if layout.inner == 1 {
            columns::apply(x, None, out, layout, &maps);
        } else {
            planes::normalise(x, out, layout, |c| [maps.m[c], maps.a[c], maps.b[c], maps.c[c]]);
        }
    }
}

/// What the backward pass needs to know.
pub(crate) struct Backward<'a, T> {
    pub(crate) moments: &'a Moments,
    pub(crate) eps: f64,
    pub(crate) weight: &'a [T],
    /// Whether mean and variance depend on x too.
    pub(crate) training: bool,
}

impl<T: Float> Backward<'_, T> {
    /// Σ g, Σ g ŷ and the factor 1/√(var + ε) of a channel, given Σ g and Σ g (x − centre).
    #[inline(always)]
    fn sums(&self, channel: usize, centre: T, plain: f64, along: f64) -> [f64; 3] {
        let factor = 1.0 / (self.moments.variance[channel] + self.eps).sqrt();
        [plain, (along - (self.moments.mean[channel] - centre.to_f64()) * plain) * factor, factor]
    }

    /// The map of x and g that gives the gradient by x.
    #[inline(always)]
    fn map(&self, channel: usize, [plain, along, factor]: [f64; 3], count: usize) -> [f64; 4] {
        let b = self.weight[channel].to_f64() * factor;
        if !self.training {
            return [self.moments.mean[channel], 0.0, b, 0.0];
        }
        let count = count as f64;
        [self.moments.mean[channel], -b * factor * along / count, b, -b * plain / count]
    }
}

/// Gradients by x, weight and bias.
///
/// # Safety
/// As for [`normalise`], with `g` and `dx` of the layout's size.
pub(crate) unsafe fn backward<T: Float>(
    x: *const T,
    g: *const T,
    layout: Layout,
    pass: &Backward<'_, T>,
    dx: *mut T,
) -> ChannelSums {
    let (x, g, dx) = (Shared::new(x.cast_mut()), Shared::new(g.cast_mut()), Shared::new(dx));
    let channels = layout.channels;
    let mut found = ChannelSums { plain: vec![0.0; channels], along: vec![0.0; channels], factor: vec![0.0; channels] };
    // SAFETY: by the caller's promise.
    unsafe {
        if layout.inner == 1 {
            columns::backward(x, g, layout, pass, dx, &mut found);
        } else {
            planes::backward(x, g, layout, pass, dx, &mut found);
        }
    }
    found
}

/// Per channel: Σ g, Σ g ŷ and the factor 1/√(var + ε).
pub(crate) struct ChannelSums {
    pub(crate) plain: Vec<f64>,
    pub(crate) along: Vec<f64>,
    pub(crate) factor: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plain loop over each channel, in double precision.
    fn check(layout: Layout, offset: f64) {
        let Layout { outer, channels, inner } = layout;
        let size = outer * channels * inner;
        let x: Vec<f32> = (0..size).map(|i| (offset + (i * 7919 % 1009) as f64 / 256.0) as f32).collect();
        let g: Vec<f32> = (0..size).map(|i| (i * 104_729 % 997) as f32 / 500.0 - 1.0).collect();
        let weight: Vec<f32> = (0..channels).map(|c| 1.0 + c as f32 / 64.0).collect();
        let (mut y, mut dx) = (vec![0.0f32; size], vec![0.0f32; size]);
        // SAFETY: everything has the layout's size.
        let (moments, sums) = unsafe {
            let moments = moments(x.as_ptr(), layout);
            normalise(x.as_ptr(), layout, &moments, 1e-5, &weight, &weight, y.as_mut_ptr());
            let pass = Backward { moments: &moments, eps: 1e-5, weight: &weight, training: true };
            let sums = backward(x.as_ptr(), g.as_ptr(), layout, &pass, dx.as_mut_ptr());
            (moments, sums)
        };
        for c in 0..channels {
            let places: Vec<usize> =
                (0..outer).flat_map(|o| (0..inner).map(move |i| (o * channels + c) * inner + i)).collect();
            let n = places.len() as f64;
            let over = |f: &dyn Fn(usize) -> f64| places.iter().map(|&i| f(i)).sum::<f64>();
            let mean = over(&|i| f64::from(x[i])) / n;
            let variance = over(&|i| (f64::from(x[i]) - mean).powi(2)) / n;
            let (r, w) = (1.0 / (variance + 1e-5).sqrt(), f64::from(weight[c]));
            let (plain, along) =
                (over(&|i| f64::from(g[i])), over(&|i| f64::from(g[i]) * (f64::from(x[i]) - mean) * r));
            assert!((moments.mean[c] - mean).abs() < 1e-6, "{outer} {channels} {inner}: mean");
            assert!((moments.variance[c] - variance).abs() <= 3e-6 * variance, "{outer} {channels} {inner}: variance");
            assert!((sums.plain[c] - plain).abs() < 1e-5 * n && (sums.along[c] - along).abs() < 1e-5 * n);
            for &i in &places {
                let normal = (f64::from(x[i]) - mean) * r;
                assert!((f64::from(y[i]) - (normal * w + w)).abs() < 2e-5, "{outer} {channels} {inner}: value");
                let slope = w * r * (f64::from(g[i]) - plain / n - normal * along / n);
                assert!((f64::from(dx[i]) - slope).abs() < 2e-5 * (1.0 + r), "{outer} {channels} {inner}: gradient");
            }
        }
    }

    #[test]
    fn agrees_with_plain_loops_for_any_shape() {
        for offset in [0.0, 1e4] {
            for (outer, channels) in [(2, 1), (7, 3), (9, 16), (100, 37), (1030, 33)] {
                check(Layout { outer, channels, inner: 1 }, offset);
            }
            for (outer, channels, inner) in [(1, 2, 5), (5, 3, 49), (9, 2, 300), (2, 2, 9000)] {
                check(Layout { outer, channels, inner }, offset);
            }
        }
    }
}
