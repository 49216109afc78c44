//! Channels whose elements lie together in planes: one task has all planes of a channel, so that a second visit finds them in
//! cache.

use super::super::lanes::WIDTH;
use super::super::rows::BLOCK;
use super::{Along, Backward, ChannelSums, Float, Kernel, Lanes, Layout, Moments, Shared, Spread, Sums};
use super::{dispatch, for_runs, map_of};

pub(super) fn moments<T: Float>(x: Shared<T>, layout: Layout) -> Moments {
    let channels = layout.channels;
    let mut result = Moments { mean: vec![0.0; channels], variance: vec![0.0; channels] };
    let (mean, variance) = (Shared::new(result.mean.as_mut_ptr()), Shared::new(result.variance.as_mut_ptr()));
    for_runs(channels, layout.channels_per_task(), |first, count| {
        for channel in first..first + count {
            let found = dispatch(PlaneMoments { x, layout, channel });
            // SAFETY: each channel belongs to one task.
            unsafe { (*mean.at(channel), *variance.at(channel)) = found };
        }
    });
    result
}

/// Both sums over the first `planes` planes of a channel.
#[inline(always)]
fn sums<T: Float, S: Sums<T>>(
    x: Shared<T>,
    g: Shared<T>,
    layout: Layout,
    channel: usize,
    planes: usize,
    centre: T,
) -> [f64; 2] {
    let Layout { channels, inner, .. } = layout;
    let middle = Lanes::splat(centre);
    let zero = [Lanes::splat(T::ZERO); 2];
    let mut total = [0.0; 2];
    let (mut a, mut b, mut rest, mut seen) = (zero, zero, [T::ZERO; 2], 0);
    for plane in 0..planes {
        let (mut at, end) = ((plane * channels + channel) * inner, (plane * channels + channel + 1) * inner);
        while at < end {
            let stop = end.min(at + BLOCK - seen);
            seen += stop - at;
            // SAFETY: the plane ends where `stop` does, or later.
            unsafe {
                while at + 2 * WIDTH <= stop {
                    a = S::lanes(Lanes::load(x.at(at)), Lanes::load(g.at(at)), middle, a);
                    b = S::lanes(Lanes::load(x.at(at + WIDTH)), Lanes::load(g.at(at + WIDTH)), middle, b);
                    at += 2 * WIDTH;
                }
                if at + WIDTH <= stop {
                    a = S::lanes(Lanes::load(x.at(at)), Lanes::load(g.at(at)), middle, a);
                    at += WIDTH;
                }
                while at < stop {
                    rest = S::one(*x.at(at), *g.at(at), centre, rest);
                    at += 1;
                }
            }
            if seen == BLOCK {
                total = [total[0] + gather(a[0], b[0], rest[0]), total[1] + gather(a[1], b[1], rest[1])];
                (a, b, rest, seen) = (zero, zero, [T::ZERO; 2], 0);
            }
        }
    }
    [total[0] + gather(a[0], b[0], rest[0]), total[1] + gather(a[1], b[1], rest[1])]
}

#[inline(always)]
fn gather<T: Float>(a: Lanes<T>, b: Lanes<T>, rest: T) -> f64 {
    (a.add(b).sum() + rest).to_f64()
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
        let PlaneMoments { x, layout, channel } = self;
        // An eighth of the planes gives a number near the mean.
        let part = layout.outer.div_ceil(8);
        let [sum, _] = sums::<T, Spread>(x, x, layout, channel, part, T::ZERO);
        let centre = T::from_f64(sum / (part * layout.inner) as f64);
        let count = layout.count() as f64;
        let [d, squares] = sums::<T, Spread>(x, x, layout, channel, layout.outer, centre);
        let correction = d / count;
        (centre.to_f64() + correction, (squares / count - correction * correction).max(0.0))
    }
}

pub(super) fn backward<T: Float>(
    x: Shared<T>,
    g: Shared<T>,
    layout: Layout,
    pass: &Backward<'_, T>,
    dx: Shared<T>,
    found: &mut ChannelSums,
) {
    let plain = Shared::new(found.plain.as_mut_ptr());
    let (along, factor) = (Shared::new(found.along.as_mut_ptr()), Shared::new(found.factor.as_mut_ptr()));
    for_runs(layout.channels, layout.channels_per_task(), |first, count| {
        for channel in first..first + count {
            let centre = T::from_f64(pass.moments.mean[channel]);
            let [p, q] = dispatch(PlaneSums { x, g, layout, channel, centre });
            let found = pass.sums(channel, centre, p, q);
            // SAFETY: each channel belongs to one task.
            unsafe { [*plain.at(channel), *along.at(channel), *factor.at(channel)] = found };
            let map = map_of(pass.map(channel, found, layout.count()));
            dispatch(Affine { x, g: Some(g), out: dx, layout, channel, map });
        }
    });
}

struct PlaneSums<T> {
    x: Shared<T>,
    g: Shared<T>,
    layout: Layout,
    channel: usize,
    centre: T,
}

impl<T: Float> Kernel for PlaneSums<T> {
    type Output = [f64; 2];

    #[inline(always)]
    fn run(self) -> [f64; 2] {
        sums::<T, Along>(self.x, self.g, self.layout, self.channel, self.layout.outer, self.centre)
    }
}

/// Maps the planes of a channel: a (x − m) + c, and with a second operand a (x − m) + b g + c.
pub(super) struct Affine<T> {
    pub(super) x: Shared<T>,
    pub(super) g: Option<Shared<T>>,
    pub(super) out: Shared<T>,
    pub(super) layout: Layout,
    pub(super) channel: usize,
    pub(super) map: [T; 4],
}

impl<T: Float> Kernel for Affine<T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Layout { outer, channels, inner } = self.layout;
        let [m, a, b, c] = self.map;
        // Backwards, as the last planes are the ones that may still be in cache.
        for plane in (0..outer).rev() {
            let at = (plane * channels + self.channel) * inner;
            // SAFETY: the plane exists and belongs to this task.
            let (x, out) = unsafe { (self.x.slice(at, inner), self.out.slice_mut(at, inner)) };
            match self.g {
                None => {
                    for i in 0..inner {
                        out[i] = (x[i] - m).mul_add(a, c);
                    }
                }
                Some(g) => {
                    // SAFETY: as above.
                    let g = unsafe { g.slice(at, inner) };
                    for i in 0..inner {
                        out[i] = g[i].mul_add(b, (x[i] - m).mul_add(a, c));
                    }
                }
            }
        }
    }
}
