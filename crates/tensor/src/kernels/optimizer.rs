//! Steps of optimisers in one pass over parameter, gradient and state, cut into fixed pieces for the pool.

use super::math::Float;
use super::rows::{Shared, TASK, for_runs};
use super::simd::{Kernel, dispatch};

/// Adam's step with everything that does not depend on the element worked out.
#[derive(Clone, Copy)]
pub(crate) struct Adam {
    /// Learning rate over the first moment's bias correction.
    pub(crate) rate: f64,
    pub(crate) beta1: f64,
    pub(crate) beta2: f64,
    /// 1 / √ of the second moment's bias correction.
    pub(crate) root_correction: f64,
    pub(crate) eps: f64,
    /// Added to the gradient, times the parameter.
    pub(crate) decay: f64,
    /// The parameter is multiplied by it first.
    pub(crate) shrink: f64,
    /// The gradient is multiplied by it first.
    pub(crate) scale: f64,
}

struct AdamPiece<'a, T> {
    step: Adam,
    p: &'a mut [T],
    g: &'a [T],
    m: &'a mut [T],
    v: &'a mut [T],
}

impl<T: Float> Kernel for AdamPiece<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let of = T::from_f64;
        let Adam { rate, beta1, beta2, root_correction, eps, decay, shrink, scale } = self.step;
        let (rate, beta1, beta2, eps) = (of(rate), of(beta1), of(beta2), of(eps));
        // 1 − β is rounded once, from the exact β.
        let (rest1, rest2) = (of(1.0 - self.step.beta1), of(1.0 - self.step.beta2));
        let (root, decay, shrink, scale) = (of(root_correction), of(decay), of(shrink), of(scale));
        let n = self.p.len();
        let (p, g, m, v) = (&mut self.p[..n], &self.g[..n], &mut self.m[..n], &mut self.v[..n]);
        for i in 0..n {
            let parameter = p[i] * shrink;
            let gradient = decay.mul_add(p[i], g[i] * scale);
            let first = m[i].mul_add(beta1, rest1 * gradient);
            let second = v[i].mul_add(beta2, rest2 * gradient * gradient);
            m[i] = first;
            v[i] = second;
            p[i] = parameter - rate * first / second.sqrt().mul_add(root, eps);
        }
    }
}

/// One step of Adam; all slices have one length.
pub(crate) fn adam<T: Float>(step: Adam, p: &mut [T], g: &[T], m: &mut [T], v: &mut [T]) {
    let n = p.len();
    assert!(g.len() == n && m.len() == n && v.len() == n);
    let (p, g) = (Shared::new(p.as_mut_ptr()), Shared::new(g.as_ptr().cast_mut()));
    let (m, v) = (Shared::new(m.as_mut_ptr()), Shared::new(v.as_mut_ptr()));
    for_runs(n, TASK, |at, len| {
        // SAFETY: the piece lies inside all four slices, whose lengths were compared, and belongs to this task.
        let piece = unsafe {
            AdamPiece {
                step,
                p: p.slice_mut(at, len),
                g: g.slice(at, len),
                m: m.slice_mut(at, len),
                v: v.slice_mut(at, len),
            }
        };
        dispatch(piece);
    });
}

/// Gradient descent with momentum.
#[derive(Clone, Copy)]
pub(crate) struct Sgd {
    pub(crate) rate: f64,
    pub(crate) momentum: f64,
    /// Share of the gradient that enters the velocity.
    pub(crate) undamped: f64,
    pub(crate) decay: f64,
    pub(crate) nesterov: bool,
}

struct SgdPiece<'a, T> {
    step: Sgd,
    p: &'a mut [T],
    g: &'a [T],
    velocity: &'a mut [T],
}

impl<T: Float> Kernel for SgdPiece<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let of = T::from_f64;
        let Sgd { rate, momentum, undamped, decay, nesterov } = self.step;
        let (rate, momentum, undamped, decay) = (of(rate), of(momentum), of(undamped), of(decay));
        let n = self.p.len();
        let (p, g, velocity) = (&mut self.p[..n], &self.g[..n], &mut self.velocity[..n]);
        for i in 0..n {
            let gradient = decay.mul_add(p[i], g[i]);
            let speed = velocity[i].mul_add(momentum, undamped * gradient);
            velocity[i] = speed;
            let direction = T::select(nesterov, momentum.mul_add(speed, gradient), speed);
            p[i] -= rate * direction;
        }
    }
}

struct PlainPiece<'a, T> {
    step: Sgd,
    p: &'a mut [T],
    g: &'a [T],
}

impl<T: Float> Kernel for PlainPiece<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (rate, decay) = (T::from_f64(self.step.rate), T::from_f64(self.step.decay));
        for (p, &g) in self.p.iter_mut().zip(self.g) {
            *p -= rate * decay.mul_add(*p, g);
        }
    }
}

/// One step of gradient descent; the slices have one length. Without a velocity there is no momentum.
pub(crate) fn sgd<T: Float>(step: Sgd, p: &mut [T], g: &[T], velocity: Option<&mut [T]>) {
    let n = p.len();
    assert!(g.len() == n && velocity.as_ref().is_none_or(|velocity| velocity.len() == n));
    let (p, g) = (Shared::new(p.as_mut_ptr()), Shared::new(g.as_ptr().cast_mut()));
    let velocity = velocity.map(|velocity| Shared::new(velocity.as_mut_ptr()));
    for_runs(n, TASK, |at, len| {
        // SAFETY: the piece lies inside the slices, whose lengths were compared, and belongs to this task.
        let (p, g) = unsafe { (p.slice_mut(at, len), g.slice(at, len)) };
        match velocity {
            None => dispatch(PlainPiece { step, p, g }),
            // SAFETY: as above.
            Some(velocity) => dispatch(SgdPiece { step, p, g, velocity: unsafe { velocity.slice_mut(at, len) } }),
        }
    });
}
