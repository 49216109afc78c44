//! The soft-margin SVM in its textbook forms.
//!
//! Without intercept, for labels yₙ = ±1:
//!
//! - constrained: min (λ/2)‖w‖² + (1/N) Σ ξₙ subject to yₙxₙᵀw ≥ 1 − ξₙ and ξₙ ≥ 0, by an interior-point method in (w, ξ);
//! - hinge: min (λ/2)‖w‖² + (1/N) Σ max(0, 1 − yₙxₙᵀw), by stochastic subgradients (Pegasos, Shalev-Shwartz et al. 2007);
//! - dual: max (1/N) Σ αₙ − (λ/2)‖w(α)‖² over α ∈ \[0, 1\]ᴺ with w(α) = (1/(λN)) Σ αₙyₙxₙ, by coordinate ascent.
//!
//! All have the same w, and C = 1/(λN) makes it that of [`LinearSvc`](tove_learn::svm::LinearSvc) with the hinge loss and no
//! intercept. As λ → 0 on separable data it becomes the hard margin, min ½‖w‖² subject to yₙxₙᵀw ≥ 1, which maximizes
//! the margin 1/‖w‖, the distance from the closest point to the boundary.
//!
//! ```
//! use tove_lessons::soft_margin as margin;
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[2.0, 0.0], [0.0, 2.0], [-2.0, 0.0], [0.5, -1.0]]);
//! let y = Tensor::from([1i64, 1, -1, -1]);
//! let dual = margin::dual(&x, &y, 0.1, 1e-10)?;
//! let direct = margin::constrained(&x, &y, 0.1)?;
//! assert!(dual.gap < 1e-9);
//! assert!(dual.w.iter().zip(&direct.w).all(|(a, b)| (a - b).abs() < 1e-6));
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_tensor::linalg::Triangle;
use tove_tensor::{DType, Key, Tensor, TryLinalg};

use tove_learn::{LearnError, Result, Samples};

const WHO: &str = "margin";

/// The solution of the constrained form.
#[derive(Clone, Debug)]
pub struct Constrained {
    /// Weights, (d).
    pub w: Vec<f64>,
    /// The slacks ξ, (n).
    pub slack: Vec<f64>,
    /// Multipliers of the constraints yₙxₙᵀw ≥ 1 − ξₙ, times N: the α of the dual.
    pub alpha: Vec<f64>,
    /// (λ/2)‖w‖² + (1/N) Σ ξ.
    pub objective: f64,
}

/// The solution of the dual form.
#[derive(Clone, Debug)]
pub struct Ascent {
    /// Weights computed from α, (d).
    pub w: Vec<f64>,
    /// α in \[0, 1\], (n); 0 for samples outside the margin.
    pub alpha: Vec<f64>,
    /// The value of the hinge form at w.
    pub primal: f64,
    /// The value of the dual at α.
    pub dual: f64,
    /// The duality gap; both values are within it of the optimum.
    pub gap: f64,
    /// Number of passes over the samples.
    pub rounds: usize,
}

/// Rows multiplied by their labels.
struct Signed {
    x: Vec<f64>,
    n: usize,
    d: usize,
}

/// Where coordinate ascent ended.
struct Settled {
    w: Vec<f64>,
    alpha: Vec<f64>,
    rounds: usize,
    converged: bool,
}

impl Signed {
    fn new(x: &Tensor, y: &Tensor) -> Result<Signed> {
        let samples = Samples::new(x.to_dtype(DType::F64), y)?;
        let y = samples.y()?.to_f64_vec();
        if y.len() != samples.len() || y.iter().any(|y| y.abs() != 1.0) {
            return Err(LearnError::parameter(WHO, "labels must be −1 or 1, one per row"));
        }
        let (n, d) = (samples.len(), samples.width());
        let mut x = samples.x().to_dense()?.to_f64_vec();
        x.chunks_exact_mut(d.max(1)).zip(&y).for_each(|(row, y)| row.iter_mut().for_each(|x| *x *= y));
        Ok(Signed { x, n, d })
    }

    fn row(&self, n: usize) -> &[f64] {
        &self.x[n * self.d..(n + 1) * self.d]
    }

    /// yₙxₙᵀw.
    fn margins(&self, w: &[f64]) -> Vec<f64> {
        (0..self.n).map(|n| dot(self.row(n), w)).collect()
    }

    /// Σ aₙyₙxₙ.
    fn combine(&self, a: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; self.d];
        for (n, a) in a.iter().enumerate() {
            sum.iter_mut().zip(self.row(n)).for_each(|(sum, x)| *sum += a * x);
        }
        sum
    }

    /// Coordinate ascent on the dual with 0 ≤ α ≤ `bound`, in a random order each round, until no projected gradient exceeds
    /// `tolerance`.
    fn ascend(&self, bound: f64, tolerance: f64, limit: usize) -> Result<Settled> {
        let squares: Vec<f64> = (0..self.n).map(|n| dot(self.row(n), self.row(n))).collect();
        let mut settled = Settled { w: vec![0.0; self.d], alpha: vec![0.0; self.n], rounds: 0, converged: false };
        while !settled.converged && settled.rounds < limit {
            let order = Key::new(0).fold(settled.rounds as u64).permutation(self.n).try_to_vec::<i64>()?;
            let mut largest = 0.0f64;
            for n in order.into_iter().map(|n| n as usize) {
                let (row, old) = (self.row(n), settled.alpha[n]);
                let slope = dot(row, &settled.w) - 1.0;
                let blocked = (old == 0.0 && slope > 0.0) || (old == bound && slope < 0.0);
                if blocked || squares[n] == 0.0 {
                    continue;
                }
                largest = largest.max(slope.abs());
                let new = (old - slope / squares[n]).clamp(0.0, bound);
                settled.w.iter_mut().zip(row).for_each(|(w, x)| *w += (new - old) * x);
                settled.alpha[n] = new;
            }
            settled.rounds += 1;
            settled.converged = largest <= tolerance;
        }
        Ok(settled)
    }

    fn hinge(&self, w: &[f64], lambda: f64) -> f64 {
        let loss: f64 = self.margins(w).iter().map(|margin| (1.0 - margin).max(0.0)).sum();
        0.5 * lambda * dot(w, w) + loss / self.n as f64
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn positive(lambda: f64) -> Result<()> {
    if lambda > 0.0 && lambda.is_finite() {
        return Ok(());
    }
    Err(LearnError::parameter(WHO, format!("lambda is {lambda}; give a positive number, or use `hard`")))
}

/// (λ/2)‖w‖² + (1/N) Σ max(0, 1 − yₙxₙᵀw).
pub fn hinge_objective(x: &Tensor, y: &Tensor, w: &[f64], lambda: f64) -> Result<f64> {
    Ok(Signed::new(x, y)?.hinge(w, lambda))
}

/// max(0, 1 − yₙxₙᵀw) of each sample: the smallest feasible slacks.
pub fn slacks(x: &Tensor, y: &Tensor, w: &[f64]) -> Result<Vec<f64>> {
    Ok(Signed::new(x, y)?.margins(w).iter().map(|margin| (1.0 - margin).max(0.0)).collect())
}

/// Solves the dual form by coordinate ascent, until the duality gap is at most `tolerance`.
pub fn dual(x: &Tensor, y: &Tensor, lambda: f64, tolerance: f64) -> Result<Ascent> {
    positive(lambda)?;
    let signed = Signed::new(x, y)?;
    let n = signed.n as f64;
    let scale = 1.0 / (lambda * n); // C of the usual form
    let mut accuracy = 1e-3;
    loop {
        let solution = signed.ascend(scale, accuracy, 1_000_000)?;
        let alpha: Vec<f64> = solution.alpha.iter().map(|alpha| alpha / scale).collect();
        let w: Vec<f64> = signed.combine(&solution.alpha);
        let primal = signed.hinge(&w, lambda);
        let dual = alpha.iter().sum::<f64>() / n - 0.5 * lambda * dot(&w, &w);
        let gap = primal - dual;
        if gap <= tolerance || accuracy < 1e-13 || !solution.converged {
            return Ok(Ascent { w, alpha, primal, dual, gap, rounds: solution.rounds });
        }
        accuracy *= 0.1;
    }
}

/// Solves the hard margin, min ½‖w‖² subject to yₙxₙᵀw ≥ 1, by coordinate ascent without upper bounds. Only for data
/// that a hyperplane through the origin separates.
pub fn hard(x: &Tensor, y: &Tensor) -> Result<Vec<f64>> {
    let signed = Signed::new(x, y)?;
    let solution = signed.ascend(f64::INFINITY, 1e-10, 20_000)?;
    let least = signed.margins(&solution.w).into_iter().fold(f64::INFINITY, f64::min);
    if !solution.converged || least < 1.0 - 1e-6 {
        let problem = "no plane through the origin separates the classes";
        return Err(LearnError::data(WHO, problem, "use a soft margin, or append a constant feature"));
    }
    Ok(solution.w)
}

/// Solves the hinge form by stochastic subgradients: step t uses one random sample and step size 1/(λt); the result is
/// the average of the second half of the iterates.
pub fn subgradient(x: &Tensor, y: &Tensor, lambda: f64, steps: usize, key: Key) -> Result<Vec<f64>> {
    positive(lambda)?;
    let signed = Signed::new(x, y)?;
    let (mut w, mut mean) = (vec![0.0; signed.d], vec![0.0; signed.d]);
    let (mut order, mut epoch) = (Vec::new(), 0);
    for t in 1..=steps {
        let sample: i64 = match order.pop() {
            Some(sample) => sample,
            None => {
                order = key.fold(epoch).permutation(signed.n).try_to_vec::<i64>()?;
                epoch += 1;
                order.pop().unwrap_or(0)
            }
        };
        let row = signed.row(sample as usize);
        let violated = dot(row, &w) < 1.0;
        let rate = 1.0 / (lambda * t as f64);
        w.iter_mut().for_each(|w| *w *= 1.0 - rate * lambda);
        if violated {
            w.iter_mut().zip(row).for_each(|(w, x)| *w += rate * x);
        }
        if 2 * t > steps {
            let share = 1.0 / (t - steps / 2) as f64;
            mean.iter_mut().zip(&w).for_each(|(mean, w)| *mean += share * (w - *mean));
        }
    }
    Ok(mean)
}

/// Solves the constrained form by a primal-dual interior-point method.
pub fn constrained(x: &Tensor, y: &Tensor, lambda: f64) -> Result<Constrained> {
    positive(lambda)?;
    let signed = Signed::new(x, y)?;
    let (n, d) = (signed.n, signed.d);
    let mean = 1.0 / n as f64;
    // An interior point: slack s of the margin constraint with multiplier a, and ξ with multiplier b = 1/N − a.
    let mut state = Interior { w: vec![0.0; d], xi: vec![2.0; n], s: vec![1.0; n], a: vec![0.5 * mean; n] };
    for _ in 0..200 {
        let barrier: f64 = (0..n).map(|i| state.s[i] * state.a[i] + state.xi[i] * (mean - state.a[i])).sum();
        let complementarity = barrier / (2 * n) as f64;
        if complementarity < 1e-14 * mean {
            break;
        }
        state = state.step(&signed, lambda, mean, 0.1 * complementarity)?;
    }
    let slack: f64 = state.xi.iter().sum();
    Ok(Constrained {
        objective: 0.5 * lambda * dot(&state.w, &state.w) + slack * mean,
        alpha: state.a.iter().map(|a| a * n as f64).collect(),
        slack: state.xi,
        w: state.w,
    })
}

#[derive(Clone)]
struct Interior {
    w: Vec<f64>,
    xi: Vec<f64>,
    s: Vec<f64>,
    a: Vec<f64>,
}

impl Interior {
    /// A Newton step toward the point of the central path at `mu`, shortened to stay in the interior. Eliminating ξ, s
    /// and a leaves (λI + ZᵀDZ) Δw = −(λw − Zᵀa) + ZᵀDh with D = 1/(s/a + ξ/b).
    fn step(&self, signed: &Signed, lambda: f64, mean: f64, mu: f64) -> Result<Interior> {
        let (n, d) = (signed.n, signed.d);
        let margins = signed.margins(&self.w);
        let (mut weight, mut h, mut shift) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        for i in 0..n {
            let (s, a, xi, b) = (self.s[i], self.a[i], self.xi[i], mean - self.a[i]);
            let primal = margins[i] - 1.0 + xi - s;
            shift[i] = mu / b - xi;
            weight[i] = 1.0 / (s / a + xi / b);
            h[i] = mu / a - s - shift[i] - primal;
        }
        let mut matrix = vec![0.0; d * d];
        for (i, weight) in weight.iter().enumerate() {
            let row = signed.row(i);
            for (x, out) in row.iter().zip(matrix.chunks_exact_mut(d)) {
                out.iter_mut().zip(row).for_each(|(out, z)| *out += weight * x * z);
            }
        }
        (0..d).for_each(|k| matrix[k * d + k] += lambda);
        let pull: Vec<f64> = (0..n).map(|i| self.a[i] + weight[i] * h[i]).collect();
        let right: Vec<f64> = signed.combine(&pull).iter().zip(&self.w).map(|(z, w)| z - lambda * w).collect();
        let factor = Tensor::try_from_vec(matrix, [d, d])?.try_cholesky()?;
        let half = factor.try_triangular_solve(&Tensor::try_from_vec(right, [d])?, Triangle::LOWER)?;
        let dw = factor.try_triangular_solve(&half, Triangle::LOWER.transposed())?.to_f64_vec();
        let moved = signed.margins(&dw);
        let (mut da, mut dxi, mut ds) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        let mut length = 1.0f64;
        for i in 0..n {
            let (s, a, xi, b) = (self.s[i], self.a[i], self.xi[i], mean - self.a[i]);
            da[i] = weight[i] * (h[i] - moved[i]);
            dxi[i] = shift[i] + xi / b * da[i];
            ds[i] = moved[i] + dxi[i] + margins[i] - 1.0 + xi - s;
            for (value, change) in [(s, ds[i]), (a, da[i]), (xi, dxi[i]), (b, -da[i])] {
                if change < 0.0 {
                    length = length.min(-0.99 * value / change);
                }
            }
        }
        let go = |old: &[f64], change: &[f64]| old.iter().zip(change).map(|(old, c)| old + length * c).collect();
        Ok(Interior { w: go(&self.w, &dw), xi: go(&self.xi, &dxi), s: go(&self.s, &ds), a: go(&self.a, &da) })
    }
}
