//! Walks of many rows at once up the loss.

use super::search::{Found, Problem};
use crate::Result;

/// The walk of one row.
#[derive(Clone, Debug)]
pub(super) struct Particle {
    pub(super) row: usize,
    /// The input, with other categories perhaps.
    pub(super) base: Vec<f64>,
    /// What the categories leave of the budget.
    pub(super) radius: f64,
    /// The perturbation of the numbers, not rounded.
    pub(super) delta: Vec<f64>,
    /// The point itself, which can be stored and is allowed.
    pub(super) point: Vec<f64>,
}

impl Particle {
    pub(super) fn new(problem: &Problem<'_>, row: usize, base: Vec<f64>, radius: f64, delta: Vec<f64>) -> Particle {
        let mut particle = Particle { row, point: base.clone(), base, radius, delta };
        particle.place(problem);
        particle
    }

    /// Computes the point.
    fn place(&mut self, problem: &Problem<'_>) {
        let x = problem.batch.row(self.row);
        problem.space.project(problem.norm, self.radius, x, &mut self.delta);
        problem.space.place((problem.norm, self.radius), x, &self.base, &self.delta, &mut self.point);
    }

    fn step(&mut self, problem: &Problem<'_>, alpha: f64, gradient: &[f64]) {
        let x = problem.batch.row(self.row);
        problem.space.step((problem.norm, self.radius), alpha, x, gradient, &mut self.delta);
        problem.space.place((problem.norm, self.radius), x, &self.base, &self.delta, &mut self.point);
    }
}

/// How to walk.
pub(super) struct Climb<'p, 'm> {
    pub(super) problem: &'p Problem<'m>,
    pub(super) steps: usize,
    pub(super) alpha: f64,
    /// Whether a walk ends with its first success; otherwise all walks take all steps and nothing is noted.
    pub(super) stop_early: bool,
}

impl Climb<'_, '_> {
    /// Walks. Afterwards the particles are at their last points; those that ended with a success are gone.
    pub(super) fn run(&self, particles: &mut Vec<Particle>, found: &mut Found) -> Result<()> {
        for step in 0..=self.steps {
            let last = step == self.steps;
            if particles.is_empty() || (last && !self.stop_early) {
                return Ok(());
            }
            let gradient = self.evaluate(particles, !last, found)?;
            if !last {
                let width = self.problem.batch.width();
                let slopes = gradient.chunks_exact(width);
                particles.iter_mut().zip(slopes).for_each(|(own, slope)| own.step(self.problem, self.alpha, slope));
            }
        }
        Ok(())
    }

    /// Evaluates the points, notes what they are, and takes out the successes. The gradients of the particles that remain.
    fn evaluate(&self, particles: &mut Vec<Particle>, gradient: bool, found: &mut Found) -> Result<Vec<f64>> {
        let rows: Vec<usize> = particles.iter().map(|particle| particle.row).collect();
        let points = particles.iter().flat_map(|particle| particle.point.iter().copied()).collect();
        let mut values = self.problem.evaluate(points, &rows, gradient, found)?;
        if !self.stop_early {
            return Ok(values.gradient);
        }
        let outcome = |(place, own): (usize, &Particle)| {
            let wrong = values.decisions[place] != self.problem.labels[own.row];
            found.note(own.row, &own.point, values.losses[place], wrong)
        };
        let done: Vec<bool> = particles.iter().enumerate().map(outcome).collect();
        if done.contains(&true) {
            let mut flags = done.iter();
            particles.retain(|_| flags.next() == Some(&false));
            let kept = values.gradient.chunks_exact(self.problem.batch.width()).zip(&done).filter(|(_, done)| !**done);
            values.gradient = kept.flat_map(|(slope, _)| slope.iter().copied()).collect();
        }
        Ok(values.gradient)
    }
}
