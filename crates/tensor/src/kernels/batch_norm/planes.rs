//! Channels whose elements lie together in planes. Tasks are groups of neighbouring channels that fill a page of memory per
//! image: pages are read in order and no two threads write to one. A task has all planes of its channels, so that a second
//! visit finds them in cache.

use super::super::lanes::{WIDTH, sums};
use super::super::rows::BLOCK;
use super::{Along, Backward, ChannelSums, Float, Kernel, Lanes, Layout, Moments, Shared, Spread, Sums};
use super::{dispatch, for_runs, map_of};
use std::marker::PhantomData;

/// Most channels that are walked side by side.
const GROUP: usize = 16;

/// Calls `body(first, count)` for groups of channels, on several threads when there is more than one task.
pub(super) fn for_groups(layout: Layout, body: impl Fn(usize, usize) + Sync) {
    for_runs(layout.channels, layout.channels_per_task(), |first, count| {
        for start in (0..count).step_by(GROUP) {
            body(first + start, GROUP.min(count - start));
        }
    });
}

/// # Safety
/// `x` has the layout's size.
pub(super) unsafe fn moments<T: Float>(x: Shared<T>, layout: Layout) -> Moments {
    let channels = layout.channels;
    let mut result = Moments { mean: vec![0.0; channels], variance: vec![0.0; channels] };
    let (mean, variance) = (Shared::new(result.mean.as_mut_ptr()), Shared::new(result.variance.as_mut_ptr()));
    for_groups(layout, |first, count| {
        // An eighth of the planes gives a number near the mean.
        let part = layout.outer.div_ceil(8);
        let spread = |planes, centre| {
            dispatch(GroupSums { x, g: x, layout, first, count, planes, centre, kind: PhantomData::<Spread> })
        };
        let near = spread(part, [T::ZERO; GROUP]);
        let mut centre = [T::ZERO; GROUP];
        for k in 0..count {
            centre[k] = T::from_f64(near[k][0] / (part * layout.inner) as f64);
        }
        let sums = spread(layout.outer, centre);
        let over_size = 1.0 / layout.count() as f64;
        for k in 0..count {
            let correction = sums[k][0] * over_size;
            // SAFETY: each channel belongs to one task.
            unsafe {
                *mean.at(first + k) = centre[k].to_f64() + correction;
                *variance.at(first + k) = (sums[k][1] * over_size - correction * correction).max(0.0);
            }
        }
    });
    result
}

/// Both sums over the first `planes` planes of each of some neighbouring channels.
struct GroupSums<T, S> {
    x: Shared<T>,
    g: Shared<T>,
    layout: Layout,
    first: usize,
    count: usize,
    planes: usize,
    centre: [T; GROUP],
    kind: PhantomData<S>,
}

impl<T: Float, S: Sums<T>> Kernel for GroupSums<T, S> {
    type Output = [[f64; 2]; GROUP];

    #[inline(always)]
    fn run(self) -> [[f64; 2]; GROUP] {
        let Layout { channels, inner, .. } = self.layout;
        let empty = ([Lanes::splat(T::ZERO); 2], [T::ZERO; 2]);
        let mut running = [empty; GROUP];
        let mut totals = [[0.0; 2]; GROUP];
        let mut seen = 0;
        for plane in 0..self.planes {
            let mut start = 0;
            while start < inner {
                let length = (inner - start).min(BLOCK - seen);
                for k in 0..self.count {
                    let at = (plane * channels + self.first + k) * inner + start;
                    // SAFETY: the plane has these elements.
                    running[k] = unsafe { self.piece(at, at + length, self.centre[k], running[k]) };
                }
                (start, seen) = (start + length, seen + length);
                if seen == BLOCK {
                    gather(&mut totals[..self.count], &mut running);
                    seen = 0;
                }
            }
        }
        gather(&mut totals[..self.count], &mut running);
        totals
    }
}

/// Sums lane by lane, and those of what does not fill a vector.
type Running<T> = ([Lanes<T>; 2], [T; 2]);

/// Adds what has been summed in lanes, and begins these anew.
#[inline(always)]
fn gather<T: Float>(totals: &mut [[f64; 2]], running: &mut [Running<T>; GROUP]) {
    for (total, (lanes, rest)) in totals.iter_mut().zip(running) {
        let found = sums(lanes);
        for i in 0..2 {
            total[i] += (found[i] + rest[i]).to_f64();
        }
        (*lanes, *rest) = ([Lanes::splat(T::ZERO); 2], [T::ZERO; 2]);
    }
}

impl<T: Float, S: Sums<T>> GroupSums<T, S> {
    /// # Safety
    /// Both operands have the elements from `at` to `end`.
    #[inline(always)]
    unsafe fn piece(&self, mut at: usize, end: usize, centre: T, (mut a, mut rest): Running<T>) -> Running<T> {
        let (x, g) = (self.x, self.g);
        let middle = Lanes::splat(centre);
        let mut b = [Lanes::splat(T::ZERO); 2];
        // SAFETY: by the caller's promise.
        unsafe {
            while at + 2 * WIDTH <= end {
                a = S::lanes(Lanes::load(x.at(at)), Lanes::load(g.at(at)), middle, a);
                b = S::lanes(Lanes::load(x.at(at + WIDTH)), Lanes::load(g.at(at + WIDTH)), middle, b);
                at += 2 * WIDTH;
            }
            if at + WIDTH <= end {
                a = S::lanes(Lanes::load(x.at(at)), Lanes::load(g.at(at)), middle, a);
                at += WIDTH;
            }
            while at < end {
                rest = S::one(*x.at(at), *g.at(at), centre, rest);
                at += 1;
            }
        }
        ([a[0].add(b[0]), a[1].add(b[1])], rest)
    }
}

/// # Safety
/// All three tensors have the layout's size.
pub(super) unsafe fn backward<T: Float>(
    x: Shared<T>,
    g: Shared<T>,
    layout: Layout,
    pass: &Backward<'_, T>,
    dx: Shared<T>,
    found: &mut ChannelSums,
) {
    let plain = Shared::new(found.plain.as_mut_ptr());
    let (along, factor) = (Shared::new(found.along.as_mut_ptr()), Shared::new(found.factor.as_mut_ptr()));
    for_groups(layout, |first, count| {
        let mut centre = [T::ZERO; GROUP];
        for k in 0..count {
            centre[k] = T::from_f64(pass.moments.mean[first + k]);
        }
        let planes = layout.outer;
        let sums = dispatch(GroupSums { x, g, layout, first, count, planes, centre, kind: PhantomData::<Along> });
        let mut maps = [[T::ZERO; 4]; GROUP];
        for k in 0..count {
            let channel = first + k;
            let found = pass.sums(channel, centre[k], sums[k][0], sums[k][1]);
            // SAFETY: each channel belongs to one task.
            unsafe { [*plain.at(channel), *along.at(channel), *factor.at(channel)] = found };
            maps[k] = map_of(pass.map(channel, found, layout.count()));
        }
        dispatch(Affine { x, g: Some(g), out: dx, layout, first, maps: &maps[..count] });
    });
}

/// Writes a (x − m) + c for every channel.
///
/// # Safety
/// Both tensors have the layout's size.
pub(super) unsafe fn normalise<T: Float>(
    x: Shared<T>,
    out: Shared<T>,
    layout: Layout,
    map: impl Fn(usize) -> [T; 4] + Sync,
) {
    for_groups(layout, |first, count| {
        let mut maps = [[T::ZERO; 4]; GROUP];
        for k in 0..count {
            maps[k] = map(first + k);
        }
        dispatch(Affine { x, g: None, out, layout, first, maps: &maps[..count] });
    });
}

/// Maps the planes of neighbouring channels: a (x − m) + c, and with a second operand a (x − m) + b g + c.
struct Affine<'a, T> {
    x: Shared<T>,
    g: Option<Shared<T>>,
    out: Shared<T>,
    layout: Layout,
    first: usize,
    maps: &'a [[T; 4]],
}

impl<T: Float> Kernel for Affine<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Layout { outer, channels, inner } = self.layout;
        // Backwards, as the last planes are the ones that may still be in cache.
        for plane in (0..outer).rev() {
            for (k, map) in self.maps.iter().enumerate() {
                // SAFETY: the plane exists and belongs to this task.
                unsafe { self.plane((plane * channels + self.first + k) * inner, inner, *map) };
            }
        }
    }
}

impl<T: Float> Affine<'_, T> {
    /// # Safety
    /// The plane that starts at `at` exists and belongs to this task.
    #[inline(always)]
    unsafe fn plane(&self, at: usize, inner: usize, [m, a, b, c]: [T; 4]) {
        // SAFETY: by the caller's promise.
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
