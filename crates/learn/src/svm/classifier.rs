//! Shared code of one-vs-one classifiers: fitting, votes, probabilities, and serialization.

use tove_tensor::{Key, Tensor};

use super::pairs::{Classes, Training, pairs};
use super::platt::{self, Sigmoid};
use super::settings::ClassifierSettings;
use super::smo::Solution;
use super::svc::DecisionShape;
use super::weights::labels_and_weights;
use crate::kernel::{Expansion, Features, KernelFunction};
use crate::logistic::linear::undecided;
use crate::{
    About, Algorithm, Attributes, Fitted, Labels, LearnError, Model, Reading, Real, Record, Result, Rows, Samples,
    Summary, with_real,
};

/// A fitted machine for each pair of classes, of the estimator `E`.
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = E, bound = "E: KernelClassifier", complete = FittedSupportClassifier::matched)]
#[fitted(attributes = FittedSupportClassifier::dual)]
pub struct FittedSupportClassifier<E> {
    about: About,
    settings: E,
    /// Coefficients (support vectors, pairs of classes).
    #[fitted(flatten)]
    expansion: Expansion,
    #[fitted(shape = "pairs", hidden)]
    bias: Vec<f64>,
    /// Places of the support vectors among the samples, class by class.
    #[fitted(shape = "support", empty)]
    support: Vec<i64>,
    /// Support vectors of each class.
    #[fitted(shape = "classes")]
    n_support: Vec<i64>,
    /// From decision values of the pairs to probabilities; none unless they were asked for.
    #[fitted(shape = "*", hidden, empty)]
    sigmoids: Vec<Sigmoid>,
}

/// An estimator whose fitted model is a one-vs-one classifier.
pub trait KernelClassifier: Algorithm {
    /// The shared hyperparameters.
    fn machine(&self) -> &ClassifierSettings;

    /// C, the penalty of a margin violation.
    fn cost(&self) -> f64 {
        1.0
    }

    /// ν, if it replaces C.
    fn nu(&self) -> Option<f64> {
        None
    }
}

impl<E: KernelClassifier> FittedSupportClassifier<E> {
    /// Fits with the kernel of the settings.
    pub(super) fn fit(estimator: &E, samples: &Samples) -> Result<FittedSupportClassifier<E>> {
        let function = estimator.machine().kernel.function(samples)?;
        FittedSupportClassifier::solve(estimator, function, samples)
    }

    /// Fits with a user-defined kernel.
    pub(super) fn fit_with(estimator: &E, kernel: &KernelFunction, samples: &Samples) -> Result<Self> {
        estimator.validate()?;
        let samples = &crate::estimator::admit(estimator, samples)?;
        crate::kernel::require_answers(FittedSupportClassifier::solve(estimator, kernel.clone(), samples)?, samples)
    }

    fn solve(estimator: &E, function: KernelFunction, samples: &Samples) -> Result<FittedSupportClassifier<E>> {
        let (x, machine) = (samples.x(), estimator.machine());
        let (labels, weights) = labels_and_weights(E::NAME, samples, &machine.class_weight)?;
        let costs: Vec<f64> = weights.iter().map(|weight| estimator.cost() * weight).collect();
        let mut groups = vec![Vec::new(); labels.classes().len()];
        for (index, &code) in labels.codes().iter().enumerate().filter(|&(index, _)| costs[index] > 0.0) {
            groups[code].push(index);
        }
        // One coefficient per support vector and pair.
        let (n, m) = (samples.len(), labels.classes().len());
        let count = m.saturating_mul(m.saturating_sub(1)) / 2;
        let what = || format!("coefficients of {n} samples in {count} pairs of {m} classes");
        let fix = "use LinearSVC or LogisticRegression, which need one model per class";
        crate::memory::require_with(E::NAME, what, crate::memory::matrix(n, count, 8), fix)?;
        let training = Training {
            who: E::NAME,
            nu: estimator.nu(),
            tolerance: machine.tol,
            limit: machine.max_iter,
            shrinking: machine.shrinking,
            bytes: (machine.cache_size * 1e6) as usize,
        };
        let features = Features::new(x, function)?;
        let classes = training.classes(&features, &groups, &costs)?;
        let solutions = training.all(&classes)?;
        solutions.iter().try_for_each(|solution| solution.require_finite(E::NAME))?;
        let sigmoids = match machine.probability {
            true => sigmoids(&training, machine.random_state, &classes)?,
            false => Vec::new(),
        };
        drop(classes);
        let (support, n_support, coefficients) = gather(&groups, &solutions);
        let coefficients = Tensor::try_from_vec(coefficients, [support.len(), solutions.len()])?;
        Ok(FittedSupportClassifier {
            about: About::of(estimator, samples).classes(labels.classes()).summary(summary(E::NAME, &solutions)),
            settings: estimator.clone(),
            expansion: Expansion::of(&features, &support, &coefficients)?,
            bias: solutions.iter().map(|solution| solution.bias).collect(),
            support: support.iter().map(|&index| index as i64).collect(),
            n_support,
            sigmoids,
        })
    }
}

/// Fits the sigmoid of each pair by cross-validation.
fn sigmoids(training: &Training, seed: u64, classes: &Classes<'_>) -> Result<Vec<Sigmoid>> {
    let Classes { features, groups, costs } = classes;
    let pairs = pairs(groups.len());
    super::parallel(pairs.len(), |pair| {
        let (a, b) = pairs[pair];
        let indices: Vec<usize> = groups[a].iter().chain(&groups[b]).copied().collect();
        let costs: Vec<f64> = indices.iter().map(|&index| costs[index]).collect();
        let key = Key::new(seed).fold(pair as u64);
        platt::cross_validated(training, features, &indices, groups[a].len(), &costs, key)
    })
}

/// Combines the convergence information of all pairs.
pub(super) fn summary(who: &'static str, solutions: &[Solution]) -> Summary {
    let steps = solutions.iter().map(|solution| solution.steps).sum();
    let gap = solutions.iter().fold(0.0f64, |gap, solution| gap.max(solution.gap));
    let objective = solutions.iter().map(|solution| solution.objective).sum();
    let converged = solutions.iter().all(|solution| solution.converged);
    let mut summary = Summary::iterative(who, steps, converged, gap, objective);
    if solutions.iter().any(|solution| solution.flat) {
        summary.warn(format!(
            "{who}: the margin between two classes is not larger than `tol`, so the scale of the decision values is \
             arbitrary; choose a smaller `nu` or `tol`, or another kernel"
        ));
    }
    summary
}

/// Returns the indices of the support vectors grouped by class, their number per class, and their coefficients in all
/// pairs.
fn gather(groups: &[Vec<usize>], solutions: &[Solution]) -> (Vec<usize>, Vec<i64>, Vec<f64>) {
    let pairs = pairs(groups.len());
    let (mut support, mut counts, mut coefficients) = (Vec::new(), Vec::new(), Vec::new());
    for (class, group) in groups.iter().enumerate() {
        let before = support.len();
        for (index, &sample) in group.iter().enumerate() {
            let beta = |(&(a, b), solution): (&(usize, usize), &Solution)| match class {
                _ if class == a => solution.beta[index],
                _ if class == b => solution.beta[groups[a].len() + index],
                _ => 0.0,
            };
            let row: Vec<f64> = pairs.iter().zip(solutions).map(beta).collect();
            if row.iter().any(|&beta| beta != 0.0) {
                support.push(sample);
                coefficients.extend(row);
            }
        }
        counts.push((support.len() - before) as i64);
    }
    (support, counts, coefficients)
}

impl<E: KernelClassifier> FittedSupportClassifier<E> {
    /// The support vectors, (s, d), sparse where the samples were; a precomputed kernel has none.
    pub fn support_vectors(&self) -> &Rows {
        self.expansion.points()
    }

    /// Constants of the decision values: one, or one per pair of classes.
    pub fn intercept(&self) -> Vec<f64> {
        if self.classes().len() == 2 { vec![-self.bias[0]] } else { self.bias.clone() }
    }

    /// Coefficients of the support vectors (classes − 1, s) in scikit-learn's order: positive for the second of two
    /// classes; otherwise, a support vector of class c has its coefficients against the other classes in ascending
    /// order.
    pub fn dual_coef(&self) -> Result<Tensor> {
        let (k, s) = (self.classes().len(), self.support.len());
        let values = self.expansion.coefficients().to_f64_vec();
        let mut out = vec![0.0; (k - 1) * s];
        let mut row = 0;
        for (class, &count) in self.n_support.iter().enumerate() {
            for sv in row..row + count as usize {
                for (pair, &(a, b)) in pairs(k).iter().enumerate() {
                    let line = if class == a { b - 1 } else { a };
                    if class == a || class == b {
                        let value = values[sv * self.bias.len() + pair];
                        out[line * s + sv] = if k == 2 { -value } else { value };
                    }
                }
            }
            row += count as usize;
        }
        Ok(Tensor::try_from_vec(out, [k - 1, s])?)
    }

    /// The kernel with its parameters.
    pub fn kernel(&self) -> &KernelFunction {
        self.expansion.function()
    }

    /// Decision values (n, pairs), positive for the first class of a pair.
    fn values(&self, x: &Rows) -> Result<Vec<f64>> {
        let (n, count) = (x.len(), self.bias.len());
        let what = || format!("decision values of {n} rows for {count} pairs of classes");
        let fix = "predict fewer rows at a time";
        crate::memory::require_with(E::NAME, what, crate::memory::matrix(n, count, 16), fix)?;
        let mut values = self.expansion.at(x)?.to_f64_vec();
        for row in values.chunks_exact_mut(self.bias.len()) {
            row.iter_mut().zip(&self.bias).for_each(|(value, bias)| *value += bias);
        }
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            return Err(undecided(E::NAME, index / self.bias.len()));
        }
        Ok(values)
    }

    /// Votes of the pairs, and a score below ½ that breaks ties.
    fn scores(&self, values: &[f64]) -> (Vec<usize>, Vec<f64>) {
        let k = self.classes().len();
        let (mut votes, mut sums) = (vec![0; k], vec![0.0; k]);
        for (&(a, b), &value) in pairs(k).iter().zip(values) {
            votes[if value >= 0.0 { a } else { b }] += 1; // ties go to the first class
            sums[a] += value;
            sums[b] -= value;
        }
        let scores =
            votes.iter().zip(sums).map(|(&votes, sum): (_, f64)| votes as f64 + sum / (3.0 * (sum.abs() + 1.0)));
        let scores = scores.collect();
        (votes, scores)
    }

    fn tensor(&self, values: Vec<f64>, shape: &[usize]) -> Result<Tensor> {
        Ok(Tensor::try_from_vec(values, shape)?.to_dtype(self.dtype()))
    }

    /// Reads a record of a model with a user-defined kernel, which must be passed again.
    pub fn restore_with(record: &Record, kernel: Option<&KernelFunction>) -> Result<FittedSupportClassifier<E>> {
        Self::read_state(&mut Reading::new(record)?.kernel(kernel))
    }

    /// That there is a machine for each pair of classes, and that the support vectors are counted.
    fn matched(self, record: &Record) -> Result<FittedSupportClassifier<E>> {
        let classes = self.about.classes.len();
        let machines = classes * classes.saturating_sub(1) / 2;
        self.expansion.require_rows(record, self.support.len(), machines)?;
        let counted =
            self.n_support.iter().try_fold(0i64, |sum, &count| sum.checked_add(count.max(-1)).filter(|_| count >= 0));
        let fits = machines > 0 && self.bias.len() == machines && [0, machines].contains(&self.sigmoids.len());
        if fits && counted == Some(self.support.len() as i64) {
            return Ok(self);
        }
        Err(record.wrong("n_support", "the number of support vectors of each class, with a machine for each pair"))
    }

    fn dual(&self) -> Attributes {
        let mut all = self.expansion.named_points("support_vectors");
        all.push(("intercept", Tensor::from_slice(&self.intercept())));
        all.extend(self.dual_coef().ok().map(|dual_coef| ("dual_coef", dual_coef)));
        all
    }
}

impl<E: KernelClassifier> Model for FittedSupportClassifier<E> {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let values = self.values(x)?;
        let break_ties = self.settings.machine().break_ties;
        let first_largest = |row: &[f64]| {
            let (votes, scores) = self.scores(row);
            let by_score = break_ties && self.classes().len() > 2;
            let score = |class: usize| if by_score { scores[class] } else { votes[class] as f64 };
            (1..votes.len()).fold(0, |best, class| if score(class) > score(best) { class } else { best })
        };
        Ok(Labels::decode(self.classes(), values.chunks_exact(self.bias.len()).map(first_largest)))
    }

    fn decision_rows(&self, x: &Rows) -> Result<Tensor> {
        let (values, n, k) = (self.values(x)?, x.len(), self.classes().len());
        if k == 2 {
            return self.tensor(values.iter().map(|value| -value).collect(), &[n]);
        }
        match self.settings.machine().decision_function_shape {
            DecisionShape::Ovo => self.tensor(values, &[n, self.bias.len()]),
            DecisionShape::Ovr => {
                let scores = values.chunks_exact(self.bias.len()).flat_map(|row| self.scores(row).1).collect();
                self.tensor(scores, &[n, k])
            }
        }
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        if self.sigmoids.is_empty() {
            let fix = "fit with `probability` set to true";
            return Err(LearnError::unsupported(E::NAME, "was fitted without probabilities", fix));
        }
        let (values, k, machines) = (self.values(x)?, self.classes().len(), self.bias.len());
        with_real!(self.dtype(), T => {
            let mut out = vec![<T as Real>::ZERO; x.len() * k];
            for (row, out) in values.chunks_exact(machines).zip(out.chunks_exact_mut(k)) {
                let p: Vec<f64> = row.iter().zip(&self.sigmoids).map(|(&v, &s)| platt::probability(v, s)).collect();
                match k {
                    2 => (out[0], out[1]) = (T::of(p[0]), T::of(1.0 - p[0])),
                    _ => platt::couple(k, |a, b| p[a * k - a * (a + 1) / 2 + b - a - 1], out),
                }
            }
            Ok(Tensor::try_from_vec(out, [x.len(), k])?)
        })
    }
}
