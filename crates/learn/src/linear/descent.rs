//! Coordinate descent for the elastic net, with duality gap and gap-safe screening.
//!
//! In terms of the unscaled sum: ½‖y − Xw‖² + a‖w‖₁ + (b/2)‖w‖². Each step minimizes over one coordinate,
//! w_j ← S(x_jᵀr + w_j‖x_j‖², a) / (‖x_j‖² + b), with the soft threshold S(z, a) = sign z · max(|z| − a, 0).
//!
//! The products x_jᵀr must be kept up to date. With a Gram matrix they are updated directly, d numbers per changed
//! coordinate, without access to the samples. Otherwise the residual is updated, n numbers, and each product is a pass
//! over one column. [`Products`] abstracts over both. For dense rows without a Gram matrix most columns are excluded
//! from the start (`working_set.rs`).
//!
//! The dual point θ = r / max(1, ‖Xᵀr − bw‖∞ / a) gives a duality gap that bounds the suboptimality. A coordinate with
//! |x_jᵀθ| + √(2 gap) ‖x_j‖ < a (in these units) is zero at the minimum and is screened out (Ndiaye et al. 2017).

/// Regularization strengths and stopping rule, in terms of the unscaled sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Net {
    /// a, the weight of ‖w‖₁.
    pub(super) l1: f64,
    /// b, the weight of ½‖w‖².
    pub(super) l2: f64,
    /// Stop at a duality gap of tol ‖y‖².
    pub(super) tol: f64,
    pub(super) max_iter: usize,
    pub(super) positive: bool,
}

/// Result of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    pub(super) iterations: usize,
    pub(super) converged: bool,
    pub(super) gap: f64,
    /// The objective in terms of the unscaled sum.
    pub(super) objective: f64,
}

/// Maintains x_jᵀr while w changes.
pub(super) trait Products {
    /// Number of coordinates.
    fn width(&self) -> usize;
    /// ‖x_j‖².
    fn square(&self, j: usize) -> f64;
    /// x_jᵀ r at the current w.
    fn product(&self, j: usize) -> f64;
    /// Updates the products after w_j grew by `change`.
    fn moved(&mut self, j: usize, change: f64);
    /// ‖r‖² at the current w.
    fn residual_square(&self, w: &[f64]) -> f64;
    /// rᵀ y at the current w.
    fn residual_target(&self, w: &[f64]) -> f64;
    /// ‖y‖².
    fn target_square(&self) -> f64;
}

/// The duality gap and the objective.
pub(super) struct Gap {
    pub(super) gap: f64,
    pub(super) objective: f64,
    /// Factor from r to the dual point.
    pub(super) shrink: f64,
}

fn soft(z: f64, a: f64, positive: bool) -> f64 {
    if z > a {
        z - a
    } else if z < -a && !positive {
        z + a
    } else {
        0.0
    }
}

impl Net {
    /// Runs from the current `w`; `products` must match it.
    pub(super) fn descend(&self, products: &mut impl Products, w: &mut [f64]) -> Outcome {
        let d = products.width();
        let limit = self.tol * products.target_square();
        let mut active: Vec<usize> = (0..d).collect();
        let first = self.gap(products, w);
        let mut last = first.gap;
        let mut objective = first.objective;
        if last <= limit {
            return Outcome { iterations: 0, converged: true, gap: last, objective };
        }
        self.screen(products, w, &first, &mut active);
        for iteration in 1..=self.max_iter {
            if tove_optim::interrupted() {
                break;
            }
            let (largest, change) = self.sweep(products, w, &active);
            // The gap is expensive: compute it once steps are small, and every tenth pass for screening.
            if change <= self.tol.max(1e-15) * largest || iteration % 10 == 0 || iteration == self.max_iter {
                let found = self.gap(products, w);
                (last, objective) = (found.gap, found.objective);
                // No further progress is possible within rounding.
                if last <= limit || change == 0.0 {
                    return Outcome { iterations: iteration, converged: true, gap: last, objective };
                }
                self.screen(products, w, &found, &mut active);
            }
        }
        Outcome { iterations: self.max_iter, converged: false, gap: last, objective }
    }

    /// One pass over the active coordinates. Returns the largest |w_j| and the largest change.
    fn sweep(&self, products: &mut impl Products, w: &mut [f64], active: &[usize]) -> (f64, f64) {
        let (mut largest, mut max_change) = (0.0f64, 0.0f64);
        for &j in active {
            let square = products.square(j);
            if square == 0.0 {
                continue;
            }
            let old = w[j];
            let new = soft(products.product(j) + old * square, self.l1, self.positive) / (square + self.l2);
            if new != old {
                w[j] = new;
                products.moved(j, new - old);
                max_change = max_change.max((new - old).abs());
            }
            largest = largest.max(new.abs());
        }
        (largest, max_change)
    }

    fn gap(&self, products: &impl Products, w: &[f64]) -> Gap {
        self.gap_of((products.residual_square(w), products.residual_target(w)), w, |j| products.product(j))
    }

    /// Computes the gap from ‖r‖², rᵀy and the products x_jᵀr.
    pub(super) fn gap_of(&self, (residual, aimed): (f64, f64), w: &[f64], product: impl Fn(usize) -> f64) -> Gap {
        let l1: f64 = w.iter().map(|w| w.abs()).sum();
        let l2: f64 = w.iter().map(|w| w * w).sum();
        let mut steepest = 0.0f64;
        for (j, w) in w.iter().enumerate() {
            let slope = product(j) - self.l2 * w;
            steepest = steepest.max(if self.positive { slope } else { slope.abs() });
        }
        let shrink = if steepest > self.l1 { self.l1 / steepest } else { 1.0 };
        let objective = 0.5 * residual + self.l1 * l1 + 0.5 * self.l2 * l2;
        let augmented = residual + self.l2 * l2; // the ridge term as extra rows with target 0
        let dual = shrink * aimed - 0.5 * shrink * shrink * augmented;
        Gap { gap: (objective - dual).max(0.0), objective, shrink }
    }

    /// Screens out coordinates that are provably zero at the minimum.
    fn screen(&self, products: &mut impl Products, w: &mut [f64], found: &Gap, active: &mut Vec<usize>) {
        if self.l1 == 0.0 {
            return;
        }
        let radius = (2.0 * found.gap).sqrt();
        let l2 = self.l2;
        let mut kept = Vec::with_capacity(active.len());
        for &j in active.iter() {
            let slope = found.shrink * (products.product(j) - l2 * w[j]);
            let reach = if self.positive { slope } else { slope.abs() };
            let length = (products.square(j) + l2).sqrt();
            if reach + radius * length >= self.l1 {
                kept.push(j);
            } else if w[j] != 0.0 {
                let change = -w[j];
                w[j] = 0.0;
                products.moved(j, change);
            }
        }
        *active = kept;
    }
}

/// Products from a Gram matrix XᵀX and Xᵀy.
pub(super) struct FromGram<'a> {
    gram: &'a [f64],
    cross: &'a [f64],
    squares: f64,
    /// Xᵀ r at the current w.
    now: Vec<f64>,
}

impl<'a> FromGram<'a> {
    /// Starts at w = 0.
    pub(super) fn new(gram: &'a [f64], cross: &'a [f64], squares: f64) -> FromGram<'a> {
        FromGram { gram, cross, squares, now: cross.to_vec() }
    }
}

impl Products for FromGram<'_> {
    fn width(&self) -> usize {
        self.cross.len()
    }

    fn square(&self, j: usize) -> f64 {
        self.gram[j * self.cross.len() + j]
    }

    fn product(&self, j: usize) -> f64 {
        self.now[j]
    }

    fn moved(&mut self, j: usize, change: f64) {
        let d = self.cross.len();
        self.now.iter_mut().zip(&self.gram[j * d..(j + 1) * d]).for_each(|(now, gram)| *now -= change * gram);
    }

    fn residual_square(&self, w: &[f64]) -> f64 {
        // ‖y‖² − wᵀXᵀy − wᵀXᵀr.
        let both: f64 = w.iter().zip(self.cross).zip(&self.now).map(|((w, cross), now)| w * (cross + now)).sum();
        (self.squares - both).max(0.0)
    }

    fn residual_target(&self, w: &[f64]) -> f64 {
        self.squares - w.iter().zip(self.cross).map(|(w, cross)| w * cross).sum::<f64>()
    }

    fn target_square(&self) -> f64 {
        self.squares
    }
}
