//! Random perturbations: uniform in a ball, cut off at the ranges of the inputs.

use tove_tensor::{Key, random};

use super::AttackNorm;
use super::rules::Space;

/// A perturbation drawn uniformly from the ball around `x`, in the units of the columns, moved into the ranges.
pub(super) fn random_start(space: &Space, norm: AttackNorm, eps: f64, x: &[f64], key: Key) -> Vec<f64> {
    let free: Vec<usize> = (0..x.len()).filter(|&i| space.free[i]).collect();
    let mut delta = vec![0.0; x.len()];
    let drawn = in_ball(norm, eps, free.len(), key);
    free.iter().zip(drawn).for_each(|(&i, drawn)| delta[i] = drawn * space.scale[i]);
    space.project(norm, eps, x, &mut delta);
    delta
}

/// A point drawn uniformly from a ball of `d` dimensions.
pub(super) fn in_ball(norm: AttackNorm, eps: f64, d: usize, key: Key) -> Vec<f64> {
    let mut uniform = vec![0.0; d];
    random::fill_uniform(key.fold(0), &mut uniform);
    if norm == AttackNorm::LInf {
        return uniform.into_iter().map(|u: f64| eps * (2.0 * u - 1.0)).collect();
    }
    on_sphere(norm, d, key.fold(1)).into_iter().map(|v| eps * radius(uniform.first(), d) * v).collect()
}

/// A point drawn from the sphere of radius 1: uniformly for l1 and l2, signs alone for l∞.
pub(super) fn on_sphere(norm: AttackNorm, d: usize, key: Key) -> Vec<f64> {
    let mut direction = vec![0.0; d];
    match norm {
        AttackNorm::L2 => random::fill_normal(key.fold(0), &mut direction),
        AttackNorm::L1 | AttackNorm::LInf => {
            let mut signs = vec![0.0; d];
            random::fill_uniform(key.fold(1), &mut signs);
            if norm == AttackNorm::L1 {
                random::fill_exponential(key.fold(0), &mut direction);
            } else {
                direction.fill(1.0);
            }
            direction
                .iter_mut()
                .zip(signs)
                .for_each(|(v, sign): (&mut f64, f64)| *v *= if sign < 0.5 { -1.0 } else { 1.0 });
        }
    }
    let size = norm.of(&direction);
    if size > 0.0 {
        direction.iter_mut().for_each(|v| *v /= size);
    }
    direction
}

/// The distance from the center of a point drawn uniformly from the unit ball of `d` dimensions.
fn radius(uniform: Option<&f64>, d: usize) -> f64 {
    uniform.copied().unwrap_or(0.0).powf(1.0 / d.max(1) as f64)
}
