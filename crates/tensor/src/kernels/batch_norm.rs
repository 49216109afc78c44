//! Batch normalisation per channel of a row-major tensor seen as (outer, channels, inner).
//!
//! Moments are taken block by block in two passes while a block is in cache, and blocks are merged in double precision
//! in a fixed order (Chan, Golub and LeVeque 1983): mean = Σ nₖ meanₖ / n, M₂ = Σ (M₂ₖ + nₖ (meanₖ − mean)²). Each
//! channel is then an affine map of its elements, forward and backward, of the form a (x − m₀) + c.

use super::math::Float;
use super::rows::{Shared, TASK, add_halves, for_runs, get, sum, sums};
use super::simd::{Kernel, dispatch};

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

    /// Channels that make a task when each is contiguous by planes.
    fn channels_per_task(&self) -> usize {
        (TASK / 2).div_ceil(self.count().max(1))
    }

    /// Rows that make a task when a channel is a column.
    fn rows_per_task(&self) -> usize {
        (TASK / self.channels.max(1)).clamp(16, 512)
    }
}

/// Mean and variance of each channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moments {
    pub(crate) mean: Vec<f64>,
    pub(crate) variance: Vec<f64>,
}

/// Columns whose sums are kept at once.
const STRIP: usize = 64;

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
            let [mean, a, b, c] = map(channel);
            let m = T::from_f64(mean);
            maps.m[channel] = m;
            maps.a[channel] = T::from_f64(a);
            maps.b[channel] = T::from_f64(b);
            // The part of the mean that its rounding loses goes into the constant.
            maps.c[channel] = T::from_f64(c - a * (mean - m.to_f64()));
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
    let Layout { outer, channels, inner } = layout;
    let mut result = Moments { mean: vec![0.0; channels], variance: vec![0.0; channels] };
    let (mean, variance) = (Shared::new(result.mean.as_mut_ptr()), Shared::new(result.variance.as_mut_ptr()));
    if inner > 1 {
        for_runs(channels, layout.channels_per_task(), |first, count| {
            for channel in first..first + count {
                let found = dispatch(PlaneMoments { x, layout, channel });
                // SAFETY: each channel belongs to one task.
                unsafe { (*mean.at(channel), *variance.at(channel)) = found };
            }
        });
        return result;
    }
    let per_task = layout.rows_per_task();
    let tasks = outer.div_ceil(per_task).max(1);
    let mut partial = vec![0.0f64; tasks * 2 * channels];
    let target = Shared::new(partial.as_mut_ptr());
    for_runs(outer, per_task, |first, count| {
        let out = Shared::new(target.at(first / per_task * 2 * channels));
        dispatch(ColumnMoments { x, channels, first, count, out });
    });
    merge(&partial, channels, outer, per_task, &mut result);
    result
}

/// Merges blocks of rows, each with its means and then its sums of squared distances.
fn merge(partial: &[f64], channels: usize, rows: usize, per_task: usize, result: &mut Moments) {
    let size = |block: usize| per_task.min(rows - block * per_task) as f64;
    let blocks = rows.div_ceil(per_task);
    for block in 0..blocks {
        let means = &partial[block * 2 * channels..][..channels];
        result.mean.iter_mut().zip(means).for_each(|(sum, &mean)| *sum += size(block) * mean);
    }
    result.mean.iter_mut().for_each(|mean| *mean /= rows as f64);
    for block in 0..blocks {
        let (means, squares) = partial[block * 2 * channels..][..2 * channels].split_at(channels);
        for channel in 0..channels {
            let distance = means[channel] - result.mean[channel];
            result.variance[channel] += size(block).mul_add(distance * distance, squares[channel]);
        }
    }
    result.variance.iter_mut().for_each(|variance| *variance /= rows as f64);
}

struct PlaneMoments<T> {
    x: Shared<T>,
    layout: Layout,
    channel: usize,
}

impl<T: Float> Kernel for PlaneMoments<T> {
    type Output = (f64, f64);

    #[inline(always)]
    fn run(self) -> (f64, f64) {
        let Layout { outer, channels, inner } = self.layout;
        // Planes are merged one by one; the first estimate is the mean so far.
        let (mut count, mut mean, mut squares) = (0.0f64, 0.0f64, 0.0f64);
        for n in 0..outer {
            // SAFETY: the plane exists.
            let x = unsafe { self.x.slice((n * channels + self.channel) * inner, inner) };
            let size = inner as f64;
            // SAFETY: sums ask for positions below the length alone.
            let estimate = T::from_f64(sum(inner, |i| unsafe { get(x, i) }).to_f64() / size);
            let (d, square) = sums(inner, |i| {
                // SAFETY: as above.
                let d = unsafe { get(x, i) } - estimate;
                (d, d * d)
            });
            let correction = d.to_f64() / size;
            let own = estimate.to_f64() + correction;
            let distance = own - mean;
            let total = count + size;
            mean += distance * size / total;
            squares += square.to_f64() - size * correction * correction + distance * distance * count * size / total;
            count = total;
        }
        (mean, (squares / count).max(0.0))
    }
}

struct ColumnMoments<T> {
    x: Shared<T>,
    channels: usize,
    first: usize,
    count: usize,
    out: Shared<f64>,
}

impl<T: Float> Kernel for ColumnMoments<T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut column = 0;
        while column + STRIP <= self.channels {
            self.strip(column, STRIP);
            column += STRIP;
        }
        if column < self.channels {
            self.strip(column, self.channels - column);
        }
    }
}

impl<T: Float> ColumnMoments<T> {
    #[inline(always)]
    fn strip(&self, column: usize, width: usize) {
        let size = self.count as f64;
        let (mut estimate, mut d, mut square) = ([T::ZERO; STRIP], [T::ZERO; STRIP], [T::ZERO; STRIP]);
        for row in self.first..self.first + self.count {
            // SAFETY: the row exists.
            let x = unsafe { self.x.slice(row * self.channels + column, width) };
            for c in 0..width {
                estimate[c] += x[c];
            }
        }
        estimate.iter_mut().for_each(|sum| *sum /= T::from_f64(size));
        for row in self.first..self.first + self.count {
            // SAFETY: as above.
            let x = unsafe { self.x.slice(row * self.channels + column, width) };
            for c in 0..width {
                let distance = x[c] - estimate[c];
                d[c] += distance;
                square[c] = distance.mul_add(distance, square[c]);
            }
        }
        // SAFETY: this task's own means and squares.
        let (means, squares) =
            unsafe { (self.out.slice_mut(column, width), self.out.slice_mut(self.channels + column, width)) };
        for c in 0..width {
            let correction = d[c].to_f64() / size;
            means[c] = estimate[c].to_f64() + correction;
            squares[c] = (square[c].to_f64() - size * correction * correction).max(0.0);
        }
    }
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
    apply(layout, |part| dispatch(Affine { x, g: None, out, layout, maps: &maps, part }));
}

/// Gradients by x, weight and bias; `training` says that mean and variance depend on x too.
///
/// # Safety
/// As for [`normalise`], with `g` and `dx` of the layout's size.
#[allow(clippy::too_many_arguments)]
pub(crate) unsafe fn backward<T: Float>(
    x: *const T,
    g: *const T,
    layout: Layout,
    moments: &Moments,
    eps: f64,
    weight: &[T],
    training: bool,
    dx: *mut T,
) -> ChannelSums {
    let (x, g, dx) = (Shared::new(x.cast_mut()), Shared::new(g.cast_mut()), Shared::new(dx));
    let Layout { outer, channels, inner } = layout;
    let centre: Vec<T> = moments.mean.iter().map(|&mean| T::from_f64(mean)).collect();
    let mut raw = vec![0.0f64; 2 * channels];
    if inner > 1 {
        let target = Shared::new(raw.as_mut_ptr());
        for_runs(channels, layout.channels_per_task(), |first, count| {
            for channel in first..first + count {
                let (plain, along) = dispatch(PlaneSums { x, g, layout, channel, centre: centre[channel] });
                // SAFETY: each channel belongs to one task.
                unsafe { (*target.at(channel), *target.at(channels + channel)) = (plain, along) };
            }
        });
    } else {
        let per_task = layout.rows_per_task();
        let tasks = outer.div_ceil(per_task).max(1);
        let mut partial = vec![0.0f64; tasks * 2 * channels];
        let target = Shared::new(partial.as_mut_ptr());
        for_runs(outer, per_task, |first, count| {
            let out = Shared::new(target.at(first / per_task * 2 * channels));
            dispatch(ColumnSums { x, g, channels, first, count, centre: &centre, out });
        });
        add_halves(&mut partial, tasks, 2 * channels);
        raw.copy_from_slice(&partial[..2 * channels]);
    }
    let found = ChannelSums::new(&raw, moments, &centre, eps);
    let count = layout.count() as f64;
    let maps = Maps::<T>::new(channels, |channel| {
        let r = found.factor[channel];
        let b = weight[channel].to_f64() * r;
        if !training {
            return [moments.mean[channel], 0.0, b, 0.0];
        }
        let a = -b * r * found.along[channel] / count;
        [moments.mean[channel], a, b, -b * found.plain[channel] / count]
    });
    apply(layout, |part| dispatch(Affine { x, g: Some(g), out: dx, layout, maps: &maps, part }));
    found
}

/// Per channel: Σ g, Σ g ŷ and the factor 1/√(var + ε).
pub(crate) struct ChannelSums {
    pub(crate) plain: Vec<f64>,
    pub(crate) along: Vec<f64>,
    pub(crate) factor: Vec<f64>,
}

impl ChannelSums {
    fn new<T: Float>(raw: &[f64], moments: &Moments, centre: &[T], eps: f64) -> Self {
        let (plain, along) = raw.split_at(centre.len());
        let factor: Vec<f64> = moments.variance.iter().map(|variance| 1.0 / (variance + eps).sqrt()).collect();
        let along = (0..centre.len())
            .map(|c| (along[c] - (moments.mean[c] - centre[c].to_f64()) * plain[c]) * factor[c])
            .collect();
        ChannelSums { plain: plain.to_vec(), along, factor }
    }
}

struct PlaneSums<T> {
    x: Shared<T>,
    g: Shared<T>,
    layout: Layout,
    channel: usize,
    centre: T,
}

impl<T: Float> Kernel for PlaneSums<T> {
    type Output = (f64, f64);

    #[inline(always)]
    fn run(self) -> (f64, f64) {
        let Layout { outer, channels, inner } = self.layout;
        let (mut plain, mut along) = (0.0, 0.0);
        for n in 0..outer {
            let at = (n * channels + self.channel) * inner;
            // SAFETY: the plane exists.
            let (x, g) = unsafe { (self.x.slice(at, inner), self.g.slice(at, inner)) };
            let (p, q) = sums(inner, |i| {
                // SAFETY: sums ask for positions below the length alone.
                let (x, g) = unsafe { (get(x, i), get(g, i)) };
                (g, g * (x - self.centre))
            });
            plain += p.to_f64();
            along += q.to_f64();
        }
        (plain, along)
    }
}

struct ColumnSums<'a, T> {
    x: Shared<T>,
    g: Shared<T>,
    channels: usize,
    first: usize,
    count: usize,
    centre: &'a [T],
    out: Shared<f64>,
}

impl<T: Float> Kernel for ColumnSums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // The width is not a constant to the compiler, which then makes a vector loop instead of unrolling it.
        for column in (0..self.channels).step_by(STRIP) {
            self.strip(column, STRIP.min(self.channels - column));
        }
    }
}

impl<T: Float> ColumnSums<'_, T> {
    #[inline(always)]
    fn strip(&self, column: usize, width: usize) {
        let centre = &self.centre[column..column + width];
        let (mut plain, mut along) = ([T::ZERO; STRIP], [T::ZERO; STRIP]);
        let (plain, along) = (&mut plain[..width], &mut along[..width]);
        for row in self.first..self.first + self.count {
            let at = row * self.channels + column;
            // SAFETY: the row exists.
            let (x, g) = unsafe { (self.x.slice(at, width), self.g.slice(at, width)) };
            for c in 0..width {
                plain[c] += g[c];
                along[c] = g[c].mul_add(x[c] - centre[c], along[c]);
            }
        }
        // SAFETY: this task's own sums.
        let out = unsafe { (self.out.slice_mut(column, width), self.out.slice_mut(self.channels + column, width)) };
        for c in 0..width {
            out.0[c] = plain[c].to_f64();
            out.1[c] = along[c].to_f64();
        }
    }
}

/// The part of the tensor that a task maps: channels by planes, or rows.
#[derive(Clone, Copy)]
struct Part {
    first: usize,
    count: usize,
}

fn apply(layout: Layout, body: impl Fn(Part) + Sync) {
    if layout.inner > 1 {
        // The same tasks as for the moments, whose planes may still be in cache.
        for_runs(layout.channels, layout.channels_per_task(), |first, count| body(Part { first, count }));
    } else {
        for_runs(layout.outer, layout.rows_per_task(), |first, count| body(Part { first, count }));
    }
}

struct Affine<'a, T> {
    x: Shared<T>,
    g: Option<Shared<T>>,
    out: Shared<T>,
    layout: Layout,
    maps: &'a Maps<T>,
    part: Part,
}

impl<T: Float> Kernel for Affine<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Layout { outer, channels, inner } = self.layout;
        let (m, a, b, c) = (&self.maps.m[..], &self.maps.a[..], &self.maps.b[..], &self.maps.c[..]);
        for index in self.part.first..self.part.first + self.part.count {
            if inner == 1 {
                let n = channels;
                // SAFETY: the row exists and belongs to this task.
                let (x, out) = unsafe { (self.x.slice(index * n, n), self.out.slice_mut(index * n, n)) };
                let (m, a, b, c) = (&m[..n], &a[..n], &b[..n], &c[..n]);
                match self.g {
                    None => (0..n).for_each(|i| out[i] = (x[i] - m[i]).mul_add(a[i], c[i])),
                    Some(g) => {
                        // SAFETY: as above.
                        let g = unsafe { g.slice(index * n, n) };
                        (0..n).for_each(|i| out[i] = g[i].mul_add(b[i], (x[i] - m[i]).mul_add(a[i], c[i])));
                    }
                }
                continue;
            }
            let (m, a, b, c) = (m[index], a[index], b[index], c[index]);
            for n in 0..outer {
                let at = (n * channels + index) * inner;
                // SAFETY: the plane exists and belongs to this task.
                let (x, out) = unsafe { (self.x.slice(at, inner), self.out.slice_mut(at, inner)) };
                match self.g {
                    None => (0..inner).for_each(|i| out[i] = (x[i] - m).mul_add(a, c)),
                    Some(g) => {
                        // SAFETY: as above.
                        let g = unsafe { g.slice(at, inner) };
                        (0..inner).for_each(|i| out[i] = g[i].mul_add(b, (x[i] - m).mul_add(a, c)));
                    }
                }
            }
        }
    }
}
