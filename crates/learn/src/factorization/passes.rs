//! Factorization of ratings that come in batches of users, again in every pass, for data larger than memory.
//!
//! The first pass finds the mean of the entries and their spread, which the first factors of the items depend on. Each further pass is one
//! iteration of alternating least squares. The factors of a batch's users follow from those of the items and are not kept; every user adds
//! to the K × K systems of the items that the user rated, which are solved when the pass ends. Sums are added user after user, so that
//! the result is the same bits for any batch size, and that of an in-memory fit with as many iterations up to rounding. Held are one
//! system for each item and the factors of one batch.
//!
//! The objective of a pass is measured where the users' factors are new and the items' are not yet.

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::DType;

use super::factors::Factors;
use super::observed::Observed;
use super::ratings::{FactorizationSolver, FittedMatrixFactorization, MatrixFactorization, no_entry, overflow};
use super::solve::{Scratch, add, each_row};
use crate::{About, LearnError, Learner, PartialFit, Result, Samples, Stop, Summary};

/// The state of [`MatrixFactorization`] on batches in passes.
pub struct MatrixFactorizationLearner {
    settings: MatrixFactorization,
    dtype: DType,
    stage: Stage,
    /// Number of items; 0 before the first batch.
    width: usize,
    /// Users of a pass.
    users: usize,
    factors: Option<Factors>,
    curve: Vec<f64>,
    change: f64,
}

enum Stage {
    New,
    Scan(Scan),
    Alternate(Pass),
    Done(Stop),
}

/// The first pass: sums of the entries, and of their squares around the first one.
#[derive(Default)]
struct Scan {
    users: usize,
    entries: usize,
    sum: f64,
    origin: Option<f64>,
    gaps: f64,
    squares: f64,
}

/// The sums of an iteration.
struct Pass {
    users: usize,
    /// Of each item, Σ w wᵀ (its lower triangle) and then Σ w x, over its users.
    systems: Vec<f64>,
    /// Σ of squared errors and the penalty of the users.
    cost: f64,
}

impl Scan {
    fn add(&mut self, observed: &Observed) {
        self.users += observed.len();
        for &value in observed.values() {
            let gap = value - *self.origin.get_or_insert(value);
            self.entries += 1;
            self.sum += value;
            self.gaps += gap;
            self.squares += gap * gap;
        }
    }

    /// The mean of the entries, and the mean of their squares around `center`.
    fn moments(&self, biases: bool) -> (f64, f64) {
        let n = self.entries as f64;
        let (mean, variance) = (self.sum / n, (self.squares - self.gaps * self.gaps / n).max(0.0) / n);
        if biases { (mean, variance) } else { (0.0, variance + mean * mean) }
    }
}

impl Pass {
    fn new(factors: &Factors) -> Pass {
        let (width, items) = (factors.width, factors.items.len() / factors.width);
        Pass { users: 0, systems: vec![0.0; items * width * (width + 1)], cost: 0.0 }
    }

    /// Finds the factors of a batch's users and adds what the items need of them.
    fn add(&mut self, observed: &Observed, factors: &Factors) {
        let (width, k, mean) = (factors.width, factors.k, factors.mean);
        let mut users = vec![0.0; observed.len() * width];
        factors.half_step(&mut users, observed, &factors.items);
        let user = |row: usize| &users[row * width..(row + 1) * width];
        for row in 0..observed.len() {
            let (columns, values) = observed.row(row);
            for (&column, value) in columns.iter().zip(values) {
                let error = value - factors.between(user(row), factors.item(column as usize));
                self.cost += error * error;
            }
            self.cost += factors.norm(user(row));
        }
        self.users += observed.len();
        let by_item = observed.transposed();
        each_row(&mut self.systems, width * (width + 1), &|item, system, _: &mut Scratch| {
            let (matrix, right) = system.split_at_mut(width * width);
            let (rows, values) = by_item.row(item);
            let mut vector = vec![0.0; width];
            for (&row, value) in rows.iter().zip(values) {
                vector.copy_from_slice(user(row as usize));
                // The user's bias belongs to the target; the factor of the item's bias takes its place.
                let mut target = value - mean;
                for bias in &mut vector[k..] {
                    target -= *bias;
                    *bias = 1.0;
                }
                for (i, &x) in vector.iter().enumerate() {
                    add(&mut matrix[i * width..i * width + i + 1], x, &vector[..i + 1]);
                }
                add(right, target, &vector);
            }
        });
    }

    /// The items' factors.
    fn solve(&self, factors: &mut Factors) {
        let (width, k, [alpha, beta]) = (factors.width, factors.k, factors.alpha);
        each_row(&mut factors.items, width, &|item, out, Scratch { system, .. }| {
            let own = &self.systems[item * width * (width + 1)..(item + 1) * width * (width + 1)];
            let (matrix, right) = own.split_at(width * width);
            out.copy_from_slice(right);
            // Of an item without entries nothing is known.
            if right.iter().all(|x| *x == 0.0) {
                return;
            }
            let whole = system.start(width);
            whole.copy_from_slice(matrix);
            (0..width).for_each(|i| whole[i * width + i] += if i < k { alpha } else { beta });
            system.solve(out);
        });
    }
}

impl PartialFit for MatrixFactorization {
    type Learner = MatrixFactorizationLearner;

    /// A learner for several passes over batches of users; see [`fit_passes`](crate::fit_passes).
    ///
    /// ```
    /// use tove_learn::factorization::MatrixFactorization;
    /// use tove_learn::{Fit, Learner, PartialFit, Samples, fit_passes};
    /// use tove_tensor::Tensor;
    /// let users = [Tensor::from([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]), Tensor::from([[3.0, 6.0, 9.0]])];
    /// let mut learner = MatrixFactorization::default().n_components(1).learner(&[])?;
    /// fit_passes(&mut learner, |learn| {
    ///     users.iter().try_for_each(|batch| learn(&Samples::unlabeled(batch.clone())?))
    /// })?;
    /// assert_eq!(learner.model()?.components().dims(), [2, 3]);
    /// # Ok::<(), tove_learn::LearnError>(())
    /// ```
    fn learner(&self, _classes: &[i64]) -> Result<MatrixFactorizationLearner> {
        self.validate()?;
        if self.solver != FactorizationSolver::Als {
            let fix = "set `solver` to als";
            return Err(LearnError::unsupported(Self::NAME, "needs all entries for solver=sgd", fix));
        }
        let (settings, stage, dtype) = (self.clone(), Stage::New, DType::F64);
        let (factors, curve, change) = (None, Vec::new(), f64::INFINITY);
        Ok(MatrixFactorizationLearner { settings, dtype, stage, width: 0, users: 0, factors, curve, change })
    }
}

impl MatrixFactorizationLearner {
    const NAME: &'static str = MatrixFactorization::NAME;

    /// Draws the items' factors.
    fn start(&mut self, scan: &Scan) -> Result<bool> {
        if scan.entries == 0 {
            return Err(no_entry());
        }
        let size = self.settings.n_components as u64 + u64::from(self.settings.biases);
        let bytes = self.width as u64 * size * (size + 2) * 8;
        crate::memory::require(Self::NAME, "one system for each item", bytes, "lower `n_components`")?;
        self.users = scan.users;
        let moments = scan.moments(self.settings.biases);
        let factors = Factors::start(&self.settings, (0, self.width), moments)?;
        self.stage = Stage::Alternate(Pass::new(&factors));
        self.factors = Some(factors);
        Ok(true)
    }

    /// Ends an iteration.
    fn advance(&mut self, pass: &Pass, mut factors: Factors) -> Result<bool> {
        if pass.users != self.users {
            let problem = format!("a pass had {} rows and the first one {}", pass.users, self.users);
            return Err(LearnError::data(Self::NAME, problem, "give the same batches in every pass"));
        }
        let objective = 0.5 * (pass.cost + factors.norm(&factors.items));
        pass.solve(&mut factors);
        if !objective.is_finite() || factors.items.iter().any(|x| !x.is_finite()) {
            return Err(overflow());
        }
        let last = self.curve.last().copied();
        self.curve.push(objective);
        self.change = last.map_or(f64::INFINITY, |last| (last - objective).abs());
        let settled = last.is_some_and(|last| self.change <= self.settings.tol * last.abs());
        let stop = match settled {
            true => Some(Stop::Tolerance),
            false => (self.curve.len() >= self.settings.max_iter).then_some(Stop::MaxIter),
        };
        self.stage = stop.map_or_else(|| Stage::Alternate(Pass::new(&factors)), Stage::Done);
        self.factors = Some(factors);
        Ok(stop.is_none())
    }
}

impl Learner for MatrixFactorizationLearner {
    type Fitted = FittedMatrixFactorization;

    fn learn(&mut self, samples: &Samples) -> Result<()> {
        let samples = crate::estimator::admit(&self.settings, samples)?;
        let observed = Observed::of(Self::NAME, samples.x())?;
        if let Stage::New = self.stage {
            (self.dtype, self.width) = (samples.x().dtype(), samples.width());
            self.stage = Stage::Scan(Scan::default());
        }
        samples.x().check_width(Self::NAME, self.width)?;
        match (&mut self.stage, &self.factors) {
            (Stage::Scan(scan), _) => scan.add(&observed),
            (Stage::Alternate(pass), Some(factors)) => pass.add(&observed, factors),
            _ => {
                let fix = "create another learner";
                return Err(LearnError::unsupported(Self::NAME, "has ended its passes", fix));
            }
        }
        Ok(())
    }

    fn end_pass(&mut self) -> Result<bool> {
        match (std::mem::replace(&mut self.stage, Stage::New), self.factors.take()) {
            (Stage::Scan(scan), _) => self.start(&scan),
            (Stage::Alternate(pass), Some(factors)) => self.advance(&pass, factors),
            (Stage::Done(stop), factors) => {
                (self.stage, self.factors) = (Stage::Done(stop), factors);
                Ok(false)
            }
            _ => Err(too_few()),
        }
    }

    /// The factors so far; those of a fit that was cut short say so in the summary.
    fn model(&self) -> Result<FittedMatrixFactorization> {
        let (Some(factors), Some(&last)) = (&self.factors, self.curve.last()) else { return Err(too_few()) };
        let stop = if let Stage::Done(stop) = self.stage { stop } else { Stop::Interrupted };
        let converged = stop == Stop::Tolerance;
        let summary = Summary::iterative(Self::NAME, self.curve.len(), converged, self.change, last);
        let about = About::new(&self.settings, self.width, self.dtype).outputs(factors.width);
        factors.fitted(about.summary(summary.ended(stop, self.curve.clone())), self.dtype)
    }

    fn loss(&self) -> Option<f64> {
        self.curve.last().copied()
    }
}

#[cold]
fn too_few() -> LearnError {
    let fix = "give all batches twice at least, and call `end_pass` after each pass".to_owned();
    LearnError::TooFew { who: MatrixFactorization::NAME, found: 0, needed: 2, fix }
}
