//! Maxima of two by two windows side by side, and where their gradients go, for images of an even width.
//!
//! Rows of small images are shorter than a register. Since pairs of neighbours then never straddle rows, the winners of
//! all pairs are found in one long loop over a band of rows; the two pairs of a window are then compared in runs of
//! [`RUN`], which may reach beyond their row: what they write there is overwritten by the next row. No closures: they
//! would be compiled without the instruction set of their surroundings.

use super::pool::{PoolScalar, Windows, beats, winner_of};

/// Pairs that are compared at once.
const RUN: usize = 16;
/// Pairs of a band.
const BAND: usize = 1024;

/// Room for the pairs of a band.
pub(super) struct Room<T> {
    winners: [T; BAND + RUN],
    shares: [T; BAND + RUN],
    gradients: [T; BAND + RUN],
}

impl<T: PoolScalar> Room<T> {
    pub fn new() -> Self {
        let empty = [T::of_count(0); BAND + RUN];
        Room { winners: empty, shares: empty, gradients: empty }
    }

    /// Whether the windows can be worked on this way.
    pub fn serves(w: &Windows) -> bool {
        w.is_halving() && w.image[1] == 2 * w.result[1] && 2 * w.result[1] <= BAND
    }

    /// Rows of windows that make a band.
    #[inline(always)]
    fn rows_of_band(w: &Windows) -> usize {
        (BAND / (2 * w.result[1]).max(1)).max(1)
    }

    /// The winners of all pairs of neighbours among `rows` rows of windows from `x` on.
    #[inline(always)]
    unsafe fn pairs(&mut self, x: *const T, count: usize) {
        for p in 0..count {
            // SAFETY: the caller guarantees so many pairs, of which a band has room.
            unsafe { *self.winners.get_unchecked_mut(p) = winner_of(*x.add(2 * p), *x.add(2 * p + 1)) };
        }
    }

    /// The largest of every window.
    #[inline(always)]
    pub unsafe fn largest(&mut self, w: &Windows, x: *const T, out: *mut T) {
        let columns = w.result[1];
        let most = Self::rows_of_band(w);
        for first in (0..w.result[0]).step_by(most) {
            let rows = (w.result[0] - first).min(most);
            // SAFETY: the band's rows of the plane and of the result.
            unsafe {
                self.pairs(x.add(2 * first * w.image[1]), 2 * rows * columns);
                for row in 0..rows {
                    for start in (0..columns).step_by(RUN) {
                        let mut best = run_of(&self.winners, 2 * row * columns + start);
                        let lower = run_of(&self.winners, (2 * row + 1) * columns + start);
                        for j in 0..RUN {
                            best[j] = winner_of(best[j], lower[j]);
                        }
                        set_run(&mut self.shares, row * columns + start, best);
                    }
                }
                std::ptr::copy_nonoverlapping(self.shares.as_ptr(), out.add(first * columns), rows * columns);
            }
        }
    }

    /// Sends `g` back to the winner of each window; zero goes to the others.
    #[inline(always)]
    pub unsafe fn send_back(&mut self, w: &Windows, x: *const T, g: *const T, out: *mut T) {
        let (columns, length, zero) = (w.result[1], w.image[1], T::of_count(0));
        let most = Self::rows_of_band(w);
        for first in (0..w.result[0]).step_by(most) {
            let rows = (w.result[0] - first).min(most);
            // SAFETY: the band's rows of the plane and of the result.
            unsafe {
                let (x, out) = (x.add(2 * first * length), out.add(2 * first * length));
                let pairs = 2 * rows * columns;
                self.pairs(x, pairs);
                std::ptr::copy_nonoverlapping(g.add(first * columns), self.gradients.as_mut_ptr(), rows * columns);
                for row in 0..rows {
                    let (upper, lower) = (2 * row * columns, (2 * row + 1) * columns);
                    // The whole upper line first: it may reach into the lower one.
                    for (line, down) in [(upper, false), (lower, true)] {
                        for start in (0..columns).step_by(RUN) {
                            let mut share = run_of(&self.gradients, row * columns + start);
                            let (a, b) = (run_of(&self.winners, upper + start), run_of(&self.winners, lower + start));
                            for j in 0..RUN {
                                share[j] = if beats(b[j], a[j]) == down { share[j] } else { zero };
                            }
                            set_run(&mut self.shares, line + start, share);
                        }
                    }
                }
                for p in 0..pairs {
                    let share = *self.shares.get_unchecked(p);
                    let right = beats(*x.add(2 * p + 1), *x.add(2 * p));
                    *out.add(2 * p) = if right { zero } else { share };
                    *out.add(2 * p + 1) = if right { share } else { zero };
                }
            }
        }
        // SAFETY: a last odd row, whose pixels are in no window.
        unsafe {
            for i in 2 * w.result[0] * length..w.image[0] * length {
                *out.add(i) = zero;
            }
        }
    }
}

/// The run that begins at `first`, which lies inside the band. By value, so that the compiler need not ask what overlaps.
#[inline(always)]
unsafe fn run_of<T: Copy>(pairs: &[T; BAND + RUN], first: usize) -> [T; RUN] {
    // SAFETY: the room has a run more than a band.
    unsafe { *pairs.as_ptr().add(first).cast() }
}

/// Writes a run.
#[inline(always)]
unsafe fn set_run<T: Copy>(pairs: &mut [T; BAND + RUN], first: usize, run: [T; RUN]) {
    // SAFETY: as above.
    unsafe { *pairs.as_mut_ptr().add(first).cast() = run }
}
