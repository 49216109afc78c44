//! Search among categories: all combinations if there are few, otherwise the best single change, repeatedly; between
//! changes, numbers walk along gradients.

use super::climb::{Climb, Particle};
use super::search::{Found, Problem};
use crate::Result;

/// The largest number of combinations that are all tried.
const COMBINATIONS: usize = 64;

/// Searches from each start; `starts` gives the particles of rows for a restart.
pub(super) fn search(
    climb: &Climb<'_, '_>,
    restarts: usize,
    found: &mut Found,
    starts: impl Fn(&[usize], usize) -> Vec<Particle>,
) -> Result<()> {
    let problem = climb.problem;
    let widths: Vec<usize> = problem.space.blocks.iter().map(|block| block.columns.len()).collect();
    let count = widths.iter().fold(1usize, |count, &width| count.saturating_mul(width));
    for restart in 0..restarts {
        if count <= COMBINATIONS {
            for combination in 0..count {
                let particles = starts(&found.open(), restart);
                let switched = |own| switched(problem, own, &categories_of(combination, &widths));
                climb.run(&mut particles.into_iter().filter_map(switched).collect(), found)?;
            }
            continue;
        }
        let mut particles = starts(&found.open(), restart);
        // The categories are chosen before the numbers move, and once more where they have moved to.
        for _ in 0..2 {
            greedy(problem, &mut particles, found)?;
            climb.run(&mut particles, found)?;
        }
    }
    Ok(())
}

/// The categories of a combination, counted like a number whose digits are the blocks.
fn categories_of(combination: usize, widths: &[usize]) -> Vec<usize> {
    let mut rest = combination;
    let digit = |&width: &usize| {
        let digit = rest % width;
        rest /= width;
        digit
    };
    widths.iter().map(digit).collect()
}

/// The particle with these categories, if the budget allows them. Of its perturbation, the part that fits is kept.
fn switched(problem: &Problem<'_>, own: Particle, categories: &[usize]) -> Option<Particle> {
    let mut base = own.base;
    for (block, &category) in problem.space.blocks.iter().zip(categories) {
        base[block.columns.clone()].fill(0.0);
        base[block.columns.start + category] = 1.0;
    }
    let radius = problem.space.remaining(problem.norm, problem.eps, problem.batch.row(own.row), &base)?;
    Some(Particle::new(problem, own.row, base, radius, own.delta))
}

/// Gives every particle the change of one category that raises its loss most, as long as there is one.
fn greedy(problem: &Problem<'_>, particles: &mut Vec<Particle>, found: &mut Found) -> Result<()> {
    for _ in 0..problem.space.blocks.len() {
        let mut trials: Vec<(usize, Particle)> = Vec::new(); // the particle itself first, then its changes
        for (place, own) in particles.iter().enumerate() {
            trials.push((place, own.clone()));
            trials.extend(changes(problem, own).into_iter().map(|changed| (place, changed)));
        }
        let rows: Vec<usize> = trials.iter().map(|(_, trial)| trial.row).collect();
        let points = trials.iter().flat_map(|(_, trial)| trial.point.iter().copied()).collect();
        let values = problem.evaluate(points, &rows, false, found)?;
        let mut best: Vec<Option<usize>> = vec![None; particles.len()];
        let mut done = vec![false; particles.len()];
        for (index, (place, trial)) in trials.iter().enumerate() {
            let wrong = values.decisions[index] != problem.labels[trial.row];
            done[*place] |= found.note(trial.row, &trial.point, values.losses[index], wrong);
            if best[*place].is_none_or(|best| values.losses[index] > values.losses[best]) {
                best[*place] = Some(index);
            }
        }
        let mut moved = false;
        for (own, best) in particles.iter_mut().zip(best) {
            let Some(best) = best else { continue };
            moved |= own.base != trials[best].1.base;
            own.clone_from(&trials[best].1);
        }
        let mut flags = done.iter();
        particles.retain(|_| flags.next() == Some(&false));
        if !moved || particles.is_empty() {
            return Ok(());
        }
    }
    Ok(())
}

/// All particles with one category changed that the budget allows.
fn changes(problem: &Problem<'_>, own: &Particle) -> Vec<Particle> {
    let blocks = &problem.space.blocks;
    let current: Vec<usize> = blocks
        .iter()
        .map(|block| own.base[block.columns.clone()].iter().position(|&v| v == 1.0).unwrap_or(0))
        .collect();
    let mut all = Vec::new();
    for (block, columns) in blocks.iter().enumerate() {
        for category in (0..columns.columns.len()).filter(|&category| category != current[block]) {
            let mut categories = current.clone();
            categories[block] = category;
            all.extend(switched(problem, own.clone(), &categories));
        }
    }
    all
}
