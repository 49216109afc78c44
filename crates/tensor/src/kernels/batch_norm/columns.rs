//! Channels that are columns: rows are swept eight at a time, two vectors of columns side by side, and the running sums of a block stay in the first-level cache.

use super::super::lanes::WIDTH;
use super::super::rows::{Groups, add_halves, in_groups};
use super::{Along, Backward, ChannelSums, Float, Kernel, Lanes, Layout, Maps, Moments, Shared, Spread, Sums};
use super::{dispatch, for_runs};
use std::marker::PhantomData;

/// Vectors of columns side by side.
const SIDE: usize = 2;

/// # Safety
/// `x` has the layout's size, and every channel one element in each row.
pub(super) unsafe fn moments<T: Float>(x: Shared<T>, layout: Layout) -> Moments {
    let Layout { outer, channels, .. } = layout;
    let per_task = layout.rows_per_task();
    let mut partial = vec![0.0f64; outer.div_ceil(per_task).max(1) * 2 * channels];
    let target = Shared::new(partial.as_mut_ptr());
    for_runs(outer, per_task, |first, count| {
        // An eighth of the rows gives a number near the mean.
        let part = count.div_ceil(8);
        let mut centre = vec![T::ZERO; channels];
        let mut sums = vec![T::ZERO; 2 * channels];
        dispatch(Sweep {
            x,
            g: x,
            channels,
            first,
            count: part,
            centre: &centre,
            sums: &mut sums,
            kind: PhantomData::<Spread>,
        });
        let scale = T::ONE / T::from_f64(part as f64);
        centre.iter_mut().zip(&sums).for_each(|(centre, &sum)| *centre = sum * scale);
        sums.fill(T::ZERO);
        dispatch(Sweep {
            x,
            g: x,
            channels,
            first,
            count,
            centre: &centre,
            sums: &mut sums,
            kind: PhantomData::<Spread>,
        });
        // SAFETY: this task's own means and squares.
        let out = unsafe { target.slice_mut(first / per_task * 2 * channels, 2 * channels) };
        dispatch(BlockMoments { centre: &centre, sums: &sums, count, out });
    });
    let mut result = Moments { mean: vec![0.0; channels], variance: vec![0.0; channels] };
    dispatch(Merge { partial: &partial, rows: outer, per_task, result: &mut result });
    result
}

/// Turns sums of distances into means and sums of squared distances from these.
struct BlockMoments<'a, T> {
    centre: &'a [T],
    sums: &'a [T],
    count: usize,
    out: &'a mut [f64],
}

impl<T: Float> Kernel for BlockMoments<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let channels = self.centre.len();
        let size = self.count as f64;
        let over_size = 1.0 / size;
        let (d, squares) = self.sums.split_at(channels);
        let (means, out) = self.out.split_at_mut(channels);
        for c in 0..channels {
            let correction = d[c].to_f64() * over_size;
            means[c] = self.centre[c].to_f64() + correction;
            let squares = squares[c].to_f64() - size * correction * correction;
            out[c] = if squares < 0.0 { 0.0 } else { squares };
        }
    }
}

/// Merges blocks of rows, each with its means and then its sums of squared distances.
struct Merge<'a> {
    partial: &'a [f64],
    rows: usize,
    per_task: usize,
    result: &'a mut Moments,
}

impl Kernel for Merge<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Merge { partial, rows, per_task, result } = self;
        let channels = result.mean.len();
        let (mean, variance) = (&mut result.mean[..channels], &mut result.variance[..channels]);
        let blocks = rows.div_ceil(per_task);
        for block in 0..blocks {
            let size = per_task.min(rows - block * per_task) as f64;
            let means = &partial[block * 2 * channels..][..channels];
            for c in 0..channels {
                mean[c] = size.mul_add(means[c], mean[c]);
            }
        }
        let over_rows = 1.0 / rows as f64;
        for c in 0..channels {
            mean[c] *= over_rows;
        }
        for block in 0..blocks {
            let size = per_task.min(rows - block * per_task) as f64;
            let (means, squares) = partial[block * 2 * channels..][..2 * channels].split_at(channels);
            for c in 0..channels {
                let distance = means[c] - mean[c];
                variance[c] += size.mul_add(distance * distance, squares[c]);
            }
        }
        for c in 0..channels {
            variance[c] *= over_rows;
        }
    }
}

/// # Safety
/// All three tensors have the layout's size, and every channel one element in each row.
pub(super) unsafe fn backward<T: Float>(
    x: Shared<T>,
    g: Shared<T>,
    layout: Layout,
    pass: &Backward<'_, T>,
    dx: Shared<T>,
    found: &mut ChannelSums,
) {
    let Layout { outer, channels, .. } = layout;
    let centre: Vec<T> = pass.moments.mean.iter().map(|&mean| T::from_f64(mean)).collect();
    let per_task = layout.rows_per_task();
    let tasks = outer.div_ceil(per_task).max(1);
    let mut partial = vec![0.0f64; tasks * 2 * channels];
    let target = Shared::new(partial.as_mut_ptr());
    for_runs(outer, per_task, |first, count| {
        let mut sums = vec![T::ZERO; 2 * channels];
        dispatch(Sweep { x, g, channels, first, count, centre: &centre, sums: &mut sums, kind: PhantomData::<Along> });
        // SAFETY: this task's own sums.
        let out = unsafe { target.slice_mut(first / per_task * 2 * channels, 2 * channels) };
        out.iter_mut().zip(&sums).for_each(|(out, sum)| *out = sum.to_f64());
    });
    add_halves(&mut partial, tasks, 2 * channels);
    for c in 0..channels {
        [found.plain[c], found.along[c], found.factor[c]] = pass.sums(c, centre[c], partial[c], partial[channels + c]);
    }
    let maps =
        Maps::<T>::new(channels, |c| pass.map(c, [found.plain[c], found.along[c], found.factor[c]], layout.count()));
    // SAFETY: by the caller's promise.
    unsafe { apply(x, Some(g), dx, layout, &maps) };
}

/// Adds rows to the two sums of every column.
struct Sweep<'a, T, S> {
    x: Shared<T>,
    g: Shared<T>,
    channels: usize,
    first: usize,
    count: usize,
    centre: &'a [T],
    sums: &'a mut [T],
    kind: PhantomData<S>,
}

impl<T: Float, S: Sums<T>> Kernel for Sweep<'_, T, S> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let (first, count) = (self.first, self.count);
        // SAFETY: the rows exist.
        unsafe { in_groups::<8>(&mut self, first, count) }
    }
}

impl<T: Float, S: Sums<T>> Sweep<'_, T, S> {
    /// Adds `N` rows to the sums of `C` vectors of columns.
    ///
    /// # Safety
    /// The `N` rows from `first` on and the columns from `i` on exist.
    #[inline(always)]
    unsafe fn vectors<const N: usize, const C: usize>(&mut self, first: usize, i: usize) {
        let n = self.channels;
        let (centre, sums) = (self.centre.as_ptr(), self.sums.as_mut_ptr());
        // SAFETY: by the caller's promise; centre has n numbers and there are 2n sums.
        unsafe {
            let mut middle = [Lanes::splat(T::ZERO); C];
            for (c, middle) in middle.iter_mut().enumerate() {
                *middle = Lanes::load(centre.add(i + c * WIDTH));
            }
            // Summed on their own first: shorter chains of additions round less.
            let mut both = [[Lanes::splat(T::ZERO); 2]; C];
            for row in 0..N {
                for c in 0..C {
                    let at = (first + row) * n + i + c * WIDTH;
                    both[c] = S::lanes(Lanes::load(self.x.at(at)), Lanes::load(self.g.at(at)), middle[c], both[c]);
                }
            }
            for (c, both) in both.iter().enumerate() {
                let at = i + c * WIDTH;
                Lanes::load(sums.add(at)).add(both[0]).store(sums.add(at));
                Lanes::load(sums.add(n + at)).add(both[1]).store(sums.add(n + at));
            }
        }
    }
}

impl<T: Float, S: Sums<T>> Groups for Sweep<'_, T, S> {
    #[inline(always)]
    unsafe fn rows<const N: usize>(&mut self, first: usize) {
        let n = self.channels;
        let (centre, sums) = (self.centre.as_ptr(), self.sums.as_mut_ptr());
        let mut i = 0;
        // SAFETY: all columns are below n, centre has n numbers and there are 2n sums.
        unsafe {
            while i + SIDE * WIDTH <= n {
                self.vectors::<N, SIDE>(first, i);
                i += SIDE * WIDTH;
            }
            while i + WIDTH <= n {
                self.vectors::<N, 1>(first, i);
                i += WIDTH;
            }
            while i < n {
                let mut both = [T::ZERO; 2];
                for row in 0..N {
                    let at = (first + row) * n + i;
                    both = S::one(*self.x.at(at), *self.g.at(at), *centre.add(i), both);
                }
                *sums.add(i) += both[0];
                *sums.add(n + i) += both[1];
                i += 1;
            }
        }
    }
}

/// Maps every row: a (x − m) + c, and with a second operand a (x − m) + b g + c.
///
/// # Safety
/// All tensors have the layout's size, every channel one element in each row, and there is a map for each channel.
pub(super) unsafe fn apply<T: Float>(
    x: Shared<T>,
    g: Option<Shared<T>>,
    out: Shared<T>,
    layout: Layout,
    maps: &Maps<T>,
) {
    for_runs(layout.outer, layout.rows_per_task(), |first, count| {
        // Backwards, as the last rows are the ones that may still be in cache.
        let first = layout.outer - first - count;
        match g {
            None => dispatch(Affine::<T, false> { x, g: x, out, maps, first, count }),
            Some(g) => dispatch(Affine::<T, true> { x, g, out, maps, first, count }),
        }
    });
}

struct Affine<'a, T, const SECOND: bool> {
    x: Shared<T>,
    g: Shared<T>,
    out: Shared<T>,
    maps: &'a Maps<T>,
    first: usize,
    count: usize,
}

impl<T: Float, const SECOND: bool> Kernel for Affine<'_, T, SECOND> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let (first, count) = (self.first, self.count);
        // SAFETY: the rows exist and belong to this task.
        unsafe { in_groups::<4>(&mut self, first, count) }
    }
}

impl<T: Float, const SECOND: bool> Groups for Affine<'_, T, SECOND> {
    #[inline(always)]
    unsafe fn rows<const N: usize>(&mut self, first: usize) {
        let Maps { m, a, b, c } = self.maps;
        let n = m.len();
        let mut i = 0;
        // SAFETY: all columns are below n, and every part of the maps has n numbers.
        unsafe {
            while i + WIDTH <= n {
                let (m, a) = (Lanes::load(m.as_ptr().add(i)), Lanes::load(a.as_ptr().add(i)));
                let (b, c) = (Lanes::load(b.as_ptr().add(i)), Lanes::load(c.as_ptr().add(i)));
                for row in 0..N {
                    let at = (first + row) * n + i;
                    let mut y = Lanes::load(self.x.at(at)).sub(m).mul_add(a, c);
                    if SECOND {
                        y = Lanes::load(self.g.at(at)).mul_add(b, y);
                    }
                    y.store(self.out.at(at));
                }
                i += WIDTH;
            }
            while i < n {
                for row in 0..N {
                    let at = (first + row) * n + i;
                    let mut y =
                        (*self.x.at(at) - *m.get_unchecked(i)).mul_add(*a.get_unchecked(i), *c.get_unchecked(i));
                    if SECOND {
                        y = (*self.g.at(at)).mul_add(*b.get_unchecked(i), y);
                    }
                    *self.out.at(at) = y;
                }
                i += 1;
            }
        }
    }
}
