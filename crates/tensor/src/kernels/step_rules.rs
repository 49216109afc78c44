//! Step rules that treat every element alike, in one pass over parameter, gradient and state, cut into fixed pieces for
//! the pool; and what clipping needs: the sum of squares of a gradient, its largest entry, scaling and clamping in place.

use super::math::Float;
use super::reduce::{CHUNK, halves};
use super::rows::{Shared, TASK, for_runs};
use super::simd::{Kernel, dispatch};
use super::squares::Add;
use crate::pool::parallel_for;

/// What a rule with `N` state tensors does to one element.
pub(crate) trait ElementRule<T, const N: usize>: Copy + Sync {
    /// The new parameter; the state is changed in place.
    fn element(&self, parameter: T, gradient: T, state: &mut [T; N]) -> T;
}

struct Piece<'a, T, R, const N: usize> {
    rule: R,
    p: &'a mut [T],
    g: &'a [T],
    state: [&'a mut [T]; N],
}

impl<T: Float, R: ElementRule<T, N>, const N: usize> Kernel for Piece<'_, T, R, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n = self.p.len();
        let (p, g) = (&mut self.p[..n], &self.g[..n]);
        let mut state = self.state;
        for slot in &mut state {
            assert!(slot.len() == n);
        }
        for i in 0..n {
            let mut own = [T::ZERO; N];
            for k in 0..N {
                own[k] = state[k][i];
            }
            p[i] = self.rule.element(p[i], g[i], &mut own);
            for k in 0..N {
                state[k][i] = own[k];
            }
        }
    }
}

/// Runs the rule over all elements; all slices have one length.
pub(crate) fn run<T: Float, R: ElementRule<T, N>, const N: usize>(rule: R, p: &mut [T], g: &[T], state: [&mut [T]; N]) {
    let n = p.len();
    assert!(g.len() == n && state.iter().all(|slot| slot.len() == n));
    let (p, g) = (Shared::new(p.as_mut_ptr()), Shared::new(g.as_ptr().cast_mut()));
    let state = state.map(|slot| Shared::new(slot.as_mut_ptr()));
    for_runs(n, TASK, |at, len| {
        // SAFETY: the piece lies inside all slices, whose lengths were compared, and belongs to this task.
        let piece = unsafe {
            Piece {
                rule,
                p: p.slice_mut(at, len),
                g: g.slice(at, len),
                state: state.map(|slot| slot.slice_mut(at, len)),
            }
        };
        dispatch(piece);
    });
}

/// u ← μ u + r (g + λ p), p ← p − s u; with Nesterov p ← p − s (μ u + r (g + λ p)).
#[derive(Clone, Copy)]
pub(crate) struct Momentum<T> {
    pub(crate) momentum: T,
    pub(crate) rate_in: T,
    pub(crate) rate_out: T,
    pub(crate) decay: T,
    pub(crate) nesterov: bool,
}

impl<T: Float> ElementRule<T, 1> for Momentum<T> {
    #[inline(always)]
    fn element(&self, parameter: T, gradient: T, [velocity]: &mut [T; 1]) -> T {
        let gradient = self.rate_in * self.decay.mul_add(parameter, gradient);
        *velocity = velocity.mul_add(self.momentum, gradient);
        let direction = T::select(self.nesterov, self.momentum.mul_add(*velocity, gradient), *velocity);
        parameter - self.rate_out * direction
    }
}

/// p ← p − r (g + λ p).
#[derive(Clone, Copy)]
pub(crate) struct Plain<T> {
    pub(crate) rate: T,
    pub(crate) decay: T,
}

impl<T: Float> ElementRule<T, 0> for Plain<T> {
    #[inline(always)]
    fn element(&self, parameter: T, gradient: T, _: &mut [T; 0]) -> T {
        parameter - self.rate * self.decay.mul_add(parameter, gradient)
    }
}

/// At the point p = θ + α v: p ← p − r (g + λ p), v ← α v − r (g + λ p).
#[derive(Clone, Copy)]
pub(crate) struct LookAhead<T> {
    pub(crate) momentum: T,
    pub(crate) rate: T,
    pub(crate) decay: T,
}

impl<T: Float> ElementRule<T, 1> for LookAhead<T> {
    #[inline(always)]
    fn element(&self, parameter: T, gradient: T, [velocity]: &mut [T; 1]) -> T {
        let step = self.rate * self.decay.mul_add(parameter, gradient);
        *velocity = velocity.mul_add(self.momentum, -step);
        parameter - step
    }
}

/// a ← a + g², p ← p − r g / (√a + ν).
#[derive(Clone, Copy)]
pub(crate) struct Adagrad<T> {
    pub(crate) rate: T,
    pub(crate) eps: T,
    pub(crate) decay: T,
}

impl<T: Float> ElementRule<T, 1> for Adagrad<T> {
    #[inline(always)]
    fn element(&self, parameter: T, gradient: T, [sum]: &mut [T; 1]) -> T {
        let gradient = self.decay.mul_add(parameter, gradient);
        *sum = gradient.mul_add(gradient, *sum);
        parameter - self.rate * gradient / (sum.sqrt() + self.eps)
    }
}

/// RMSProp's settings; the state's tensors are the mean square, then the mean if centred, then the velocity if any.
#[derive(Clone, Copy)]
pub(crate) struct RmsProp<T> {
    pub(crate) keep: T,
    pub(crate) rest: T,
    pub(crate) eps: T,
    pub(crate) decay: T,
    pub(crate) momentum: T,
    pub(crate) rate_in: T,
    pub(crate) rate_out: T,
}

impl<T: Float> RmsProp<T> {
    /// g / (√(a − m²) + ν), with a and m brought up to date.
    #[inline(always)]
    fn direction(&self, parameter: T, gradient: T, square: &mut T, mean: Option<&mut T>) -> T {
        let gradient = self.decay.mul_add(parameter, gradient);
        *square = square.mul_add(self.keep, self.rest * gradient * gradient);
        let variance = match mean {
            None => *square,
            Some(mean) => {
                *mean = mean.mul_add(self.keep, self.rest * gradient);
                // Rounding may leave less than nothing of a variance of zero.
                let left = *square - *mean * *mean;
                T::select(left < T::ZERO, T::ZERO, left)
            }
        };
        gradient / (variance.sqrt() + self.eps)
    }

    #[inline(always)]
    fn pushed(&self, parameter: T, direction: T, velocity: &mut T) -> T {
        *velocity = velocity.mul_add(self.momentum, self.rate_in * direction);
        parameter - self.rate_out * *velocity
    }
}

/// Mean square alone.
#[derive(Clone, Copy)]
pub(crate) struct RmsPlain<T>(pub(crate) RmsProp<T>);
/// Mean square and mean.
#[derive(Clone, Copy)]
pub(crate) struct RmsCentred<T>(pub(crate) RmsProp<T>);
/// Mean square and velocity.
#[derive(Clone, Copy)]
pub(crate) struct RmsMomentum<T>(pub(crate) RmsProp<T>);
/// Mean square, mean and velocity.
#[derive(Clone, Copy)]
pub(crate) struct RmsCentredMomentum<T>(pub(crate) RmsProp<T>);

impl<T: Float> ElementRule<T, 1> for RmsPlain<T> {
    #[inline(always)]
    fn element(&self, parameter: T, gradient: T, [square]: &mut [T; 1]) -> T {
        parameter - self.0.rate_in * self.0.rate_out * self.0.direction(parameter, gradient, square, None)
    }
}

impl<T: Float> ElementRule<T, 2> for RmsCentred<T> {
    #[inline(always)]
    fn element(&self, parameter: T, gradient: T, [square, mean]: &mut [T; 2]) -> T {
        parameter - self.0.rate_in * self.0.rate_out * self.0.direction(parameter, gradient, square, Some(mean))
    }
}

impl<T: Float> ElementRule<T, 2> for RmsMomentum<T> {
    #[inline(always)]
    fn element(&self, parameter: T, gradient: T, [square, velocity]: &mut [T; 2]) -> T {
        let direction = self.0.direction(parameter, gradient, square, None);
        self.0.pushed(parameter, direction, velocity)
    }
}

impl<T: Float> ElementRule<T, 3> for RmsCentredMomentum<T> {
    #[inline(always)]
    fn element(&self, parameter: T, gradient: T, [square, mean, velocity]: &mut [T; 3]) -> T {
        let direction = self.0.direction(parameter, gradient, square, Some(mean));
        self.0.pushed(parameter, direction, velocity)
    }
}

/// p ← p + c g, for moving to a look-ahead point.
#[derive(Clone, Copy)]
pub(crate) struct AddScaled<T>(pub(crate) T);

impl<T: Float> ElementRule<T, 0> for AddScaled<T> {
    #[inline(always)]
    fn element(&self, parameter: T, other: T, _: &mut [T; 0]) -> T {
        other.mul_add(self.0, parameter)
    }
}

const LANES: usize = 32;

/// Σ (s x)² in double precision, in lanes.
struct Squares<'a, T> {
    x: &'a [T],
    scale: f64,
}

impl<T: Float> Kernel for Squares<'_, T> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let mut lanes = [0.0f64; LANES];
        let (body, tail) = self.x.as_chunks::<LANES>();
        for chunk in body {
            for lane in 0..LANES {
                let x = chunk[lane].to_f64() * self.scale;
                lanes[lane] = x.mul_add(x, lanes[lane]);
            }
        }
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                lanes[lane] += lanes[lane + width];
            }
            width /= 2;
        }
        let mut total = lanes[0];
        for x in tail {
            let x = x.to_f64() * self.scale;
            total = x.mul_add(x, total);
        }
        total
    }
}

/// Pieces whose sums fit on the stack; longer inputs are cut into as many longer pieces.
const PARTS: usize = 256;

/// Σ (s x)² in double precision. The order of additions depends on the length alone.
pub(crate) fn sum_of_squares<T: Float>(x: &[T], scale: f64) -> f64 {
    let piece = CHUNK.max(x.len().div_ceil(PARTS));
    let count = x.len().div_ceil(piece);
    if count <= 1 {
        return dispatch(Squares { x, scale });
    }
    let mut sums = [0.0f64; PARTS];
    let target = Shared::new(sums.as_mut_ptr());
    parallel_for(count, &|part| {
        let range = part * piece..((part + 1) * piece).min(x.len());
        let sum = dispatch(Squares { x: &x[range], scale });
        // SAFETY: there are at most PARTS parts, and each task writes its own place.
        unsafe { target.at(part).write(sum) };
    });
    halves(Add, &sums[..count])
}

struct Largest<'a, T>(&'a [T]);

impl<T: Float> Kernel for Largest<'_, T> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let mut lanes = [T::ZERO; LANES];
        let (body, tail) = self.0.as_chunks::<LANES>();
        for chunk in body {
            for lane in 0..LANES {
                let x = chunk[lane].abs();
                lanes[lane] = T::select(x > lanes[lane], x, lanes[lane]);
            }
        }
        let mut best = T::ZERO;
        for &x in lanes.iter().chain(tail) {
            best = T::select(x.abs() > best, x.abs(), best);
        }
        best.to_f64()
    }
}

/// The largest magnitude; NaNs are passed over.
pub(crate) fn largest_magnitude<T: Float>(x: &[T]) -> f64 {
    dispatch(Largest(x))
}

struct Scale<'a, T>(&'a mut [T], T);

impl<T: Float> Kernel for Scale<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for x in self.0 {
            *x *= self.1;
        }
    }
}

struct Clamp<'a, T>(&'a mut [T], T);

impl<T: Float> Kernel for Clamp<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for x in self.0 {
            let below = T::select(*x > self.1, self.1, *x);
            *x = T::select(below < -self.1, -self.1, below);
        }
    }
}

/// Multiplies every element.
pub(crate) fn scale<T: Float>(x: &mut [T], factor: T) {
    let (n, x) = (x.len(), Shared::new(x.as_mut_ptr()));
    // SAFETY: each task has its own piece of the slice.
    for_runs(n, TASK, |at, len| dispatch(Scale(unsafe { x.slice_mut(at, len) }, factor)));
}

/// Brings every element into [−limit, limit]; NaN stays NaN.
pub(crate) fn clamp<T: Float>(x: &mut [T], limit: T) {
    let (n, x) = (x.len(), Shared::new(x.as_mut_ptr()));
    // SAFETY: each task has its own piece of the slice.
    for_runs(n, TASK, |at, len| dispatch(Clamp(unsafe { x.slice_mut(at, len) }, limit)));
}
