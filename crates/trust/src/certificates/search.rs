//! A search for an input of the region with another class: what a certificate cannot hold against.

use tove_tensor::{DType, Key};

use super::network::{Network, Step, largest};
use super::region::InputRegion;
use crate::Result;

/// Classes that are aimed at from every start.
const RIVALS: usize = 3;

/// The effort of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchEffort {
    /// Starts: the middle of the region, then random points; from each the classes with the smallest margins are aimed at.
    pub starts: usize,
    /// Steps of projected gradient descent of the margin from every start.
    pub steps: usize,
    /// Seed of the random points.
    pub seed: u64,
}

impl Default for SearchEffort {
    fn default() -> SearchEffort {
        SearchEffort { starts: 3, steps: 20, seed: 0 }
    }
}

impl Network {
    /// The gradient of row · outputs by the input.
    pub(super) fn gradient(&self, values: &[Vec<f64>], row: &[f64]) -> Vec<f64> {
        let mut a = row.to_vec();
        for (index, step) in self.steps.iter().enumerate().rev() {
            let x = &values[index];
            match step {
                Step::Bend(bend) => a.iter_mut().zip(x).for_each(|(a, x)| *a *= bend.slope(*x)),
                Step::Affine(affine) => {
                    let mut before = vec![0.0; affine.inputs()];
                    affine.add_transposed(&a, &mut before);
                    a = before;
                }
                Step::Largest(windows) => {
                    let mut before = vec![0.0; x.len()];
                    windows.iter().zip(&a).for_each(|(window, a)| before[largest(window, x)] += a);
                    a = before;
                }
            }
        }
        a
    }

    /// The rows of the smallest margins at a point, the smallest first.
    fn nearest_rivals<'r>(&self, x: &[f64], rows: &'r [Vec<f64>]) -> Vec<&'r Vec<f64>> {
        let values = self.values(x);
        let outputs = &values[self.steps.len()];
        let margin = |row: &[f64]| row.iter().zip(outputs).map(|(c, z)| c * z).sum::<f64>();
        let mut all: Vec<(f64, &Vec<f64>)> = rows.iter().map(|row| (margin(row), row)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all.into_iter().take(RIVALS).map(|(_, row)| row).collect()
    }

    /// Searches an input of the region that gets another class: projected gradient descent of the smallest margins from
    /// several starts, and `hint` first. `None` proves nothing.
    ///
    /// # Errors
    /// A region of another width; a class that does not exist.
    pub fn search(
        &self,
        region: &InputRegion,
        class: usize,
        effort: &SearchEffort,
        hint: Option<&[f64]>,
    ) -> Result<Option<Vec<f64>>> {
        self.check_class(class)?;
        self.check_row(region.lower())?;
        let rows = self.margin_rows(class);
        let changed = |x: &[f64]| Network::class_of(self.values(x).last().map_or(&[], |z| z)) != class;
        let widths: Vec<f64> = region.lower().iter().zip(region.upper()).map(|(low, high)| high - low).collect();
        if let Some(hint) = hint.filter(|hint| hint.len() == self.inputs() && region.contains(hint) && changed(hint)) {
            return Ok(Some(hint.to_vec()));
        }
        for start in 0..effort.starts.max(1) {
            let draws = Key::new(effort.seed).fold(start as u64).uniform([self.inputs()], DType::F64).to_f64_vec();
            let share = |draw: f64| if start == 0 { 0.5 } else { draw };
            let mut first: Vec<f64> =
                region.lower().iter().zip(&widths).zip(draws).map(|((low, w), draw)| low + share(draw) * w).collect();
            region.project(&mut first, None);
            for row in self.nearest_rivals(&first, &rows) {
                let mut x = first.clone();
                for step in 0..=effort.steps {
                    let values = self.values(&x);
                    if Network::class_of(&values[self.steps.len()]) != class && region.contains(&x) {
                        return Ok(Some(x));
                    }
                    let slopes = self.gradient(&values, row);
                    let rate = 0.5 * (1.0 - step as f64 / (effort.steps + 1) as f64);
                    let sign = |slope: f64| if slope == 0.0 { 0.0 } else { slope.signum() };
                    x.iter_mut().zip(&slopes).zip(&widths).for_each(|((x, s), w)| *x -= rate * w * sign(*s));
                    if region.blocks().is_empty() {
                        region.project(&mut x, None);
                    } else {
                        region.project(&mut x, Some(&slopes));
                    }
                }
                // A corner of the box, where linear nets are at their worst.
                let corner = region.minimizer(&self.gradient(&self.values(&x), row));
                if region.contains(&corner) && changed(&corner) {
                    return Ok(Some(corner));
                }
            }
        }
        Ok(None)
    }
}
