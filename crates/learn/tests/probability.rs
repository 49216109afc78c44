//! E1 to E16: probability and estimation.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, fixture, matrix, numbers};
use tove_learn::{Fit, Lasso, LearnError, Ridge};
use tove_lessons::probability::{
    Bernoulli, BetaBernoulli, Categorical, ConjugateLinear, Distribution, FinitePosterior, JointTable, Laplace,
    LinearGaussian, MultivariateNormal, Normal, Prior, average_of_draws, data_likelihood, map_estimate, most_likely,
};
use tove_optim::{Newton, Objective, Rules};
use tove_tensor::{DType, Key, Tensor, gradcheck, linalg};

fn normal(seed: u64, shape: impl Into<tove_tensor::Shape>) -> Tensor {
    Key::new(seed).normal(shape, DType::F64)
}

/// A random table over variables a, b, … of the given sizes.
fn table(seed: u64, names: &[&str], sizes: &[usize]) -> JointTable {
    let raw = Key::new(seed).exponential(1.0, sizes, DType::F64);
    JointTable::new(names, &raw / raw.sum().item::<f64>()).unwrap()
}

#[test]
fn e1_chain_rule_on_random_tables() {
    for seed in 0..20 {
        let p = table(seed, &["x", "y"], &[4, 3]);
        let product = p.marginal(&["x"]).unwrap().times(&p.conditional(&["y"], &["x"]).unwrap()).unwrap();
        assert!(product.distance(&p).unwrap() < 1e-10 && product.given().is_empty());

        // p(a, b, c) in every order of conditioning.
        let p = table(100 + seed, &["a", "b", "c"], &[2, 3, 4]);
        for [first, second, third] in
            [["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"], ["b", "c", "a"], ["c", "a", "b"], ["c", "b", "a"]]
        {
            let one = p.marginal(&[first]).unwrap();
            let two = p.conditional(&[second], &[first]).unwrap();
            let three = p.conditional(&[third], &[first, second]).unwrap();
            let product = one.times(&two).unwrap().times(&three).unwrap();
            assert!(product.distance(&p).unwrap() < 1e-10, "{first} {second} {third}");
        }

        // p(b, c | d, e) = p(b, c, d, e) / (p(d) p(e | d)), written as a product.
        let p = table(200 + seed, &["a", "b", "c", "d", "e"], &[2, 3, 2, 3, 2]);
        let given = p.conditional(&["b", "c"], &["d", "e"]).unwrap();
        let d = p.marginal(&["d"]).unwrap();
        let e_given_d = p.conditional(&["e"], &["d"]).unwrap();
        let left = given.times(&d).unwrap().times(&e_given_d).unwrap();
        assert!(left.distance(&p.marginal(&["b", "c", "d", "e"]).unwrap()).unwrap() < 1e-10);

        // p(e) p(d | e) p(b, c | d, e) = p(a, b, c, d, e) / p(a | b, c, d, e); without p(e) the sides differ by it.
        let e = p.marginal(&["e"]).unwrap();
        let d_given_e = p.conditional(&["d"], &["e"]).unwrap();
        let without = d_given_e.times(&given).unwrap();
        let left = e.times(&without).unwrap();
        let a_given = p.conditional(&["a"], &["b", "c", "d", "e"]).unwrap();
        assert!(left.times(&a_given).unwrap().distance(&p).unwrap() < 1e-10);
        assert!(without.times(&a_given).unwrap().distance(&p).unwrap() > 1e-3);
    }
    assert!(JointTable::new(&["x"], Tensor::from([0.5, 0.6])).is_err());
    assert!(JointTable::new(&["x", "x"], Tensor::from([[0.5, 0.5]])).is_err());
    assert!(table(0, &["x"], &[2]).marginal(&["z"]).unwrap_err().to_string().contains("there are x"));
}

#[test]
fn e2_categorical_likelihood_of_a_one_hot_vector() {
    let f = Categorical::new(Tensor::from([0.2, 0.5, 0.3])).unwrap();
    assert!((f.prob(&Tensor::from([0.0, 1.0, 0.0])).unwrap().item::<f64>() - 0.5).abs() < 1e-15);
    assert!((f.prob(&Tensor::from([1i64])).unwrap().at::<f64>(&[0]) - 0.5).abs() < 1e-15);
    // 0⁰ counts as 1: a class that cannot be does not disturb the others.
    let sure = Categorical::new(Tensor::from([0.0, 1.0])).unwrap();
    assert_eq!(sure.prob(&Tensor::from([[0.0, 1.0], [1.0, 0.0]])).unwrap().to_vec::<f64>(), [1.0, 0.0]);
    assert!(Categorical::new(Tensor::from([0.2, 0.5])).is_err());
}

#[test]
fn e3_log_sum_survives_where_the_product_underflows() {
    let likelihood = data_likelihood(&Tensor::full([1000], 0.1, DType::F64).ln()).unwrap();
    assert_eq!(likelihood.product, 0.0);
    assert!((likelihood.logarithm - -2302.585).abs() < 5e-4);
    assert_eq!(likelihood.negative_log(), -likelihood.logarithm);
    // Where the product can be held, it is the exponential of the sum.
    let few = data_likelihood(&Tensor::from([0.5, 0.25, 0.8]).ln()).unwrap();
    assert!((few.product - 0.1).abs() < 1e-15 && (few.logarithm.exp() - 0.1).abs() < 1e-15);
    assert!(data_likelihood(&Tensor::from([0.0, f64::NAN])).unwrap_err().to_string().contains("sample 1"));
}

#[test]
fn e4_maximum_likelihood_is_minimal_negative_log() {
    // Both searches over a grid find the same model.
    let y = Key::new(4).bernoulli(0.3, [40]).to_dtype(DType::F64);
    let grid: Vec<Bernoulli> = (1..100).map(|i| Bernoulli::new(f64::from(i) / 100.0).unwrap()).collect();
    let by_product = grid.iter().map(|model| model.prob(&y).unwrap().prod().item::<f64>());
    let largest = by_product.enumerate().fold((0, 0.0), |best, (i, p)| if p > best.1 { (i, p) } else { best });
    let by_log = grid.iter().map(|model| -model.log_prob(&y).unwrap().sum().item::<f64>());
    let smallest = by_log.enumerate().fold((0, f64::INFINITY), |best, (i, l)| if l < best.1 { (i, l) } else { best });
    assert_eq!(largest.0, smallest.0);
    assert_eq!(most_likely(&grid, &y).unwrap().0, largest.0); // the model, not the value reached

    // The numerical maximiser of the Bernoulli likelihood is the mean.
    let nll = |logit: &Tensor| -Bernoulli::new(logit.sigmoid()).unwrap().log_prob(&y).unwrap().sum();
    let found = Newton::default().minimise(&nll, &Tensor::from([0.0])).unwrap();
    let q = found.minimiser().unwrap().sigmoid().at::<f64>(&[0]);
    let closed = Bernoulli::fit(&y).unwrap().q().item::<f64>();
    assert!((q - closed).abs() < 1e-8 && (closed - y.mean().item::<f64>()).abs() < 1e-15);

    // That of the normal one: mean, and variance divided by n.
    let y = &normal(5, [50]) * 2.5 + 4.0;
    let nll = |p: &Tensor| -Normal::new(p.get(0), p.get(1).exp()).unwrap().log_prob(&y).unwrap().sum();
    let found = Newton::default().minimise(&nll, &Tensor::from([3.0, 1.0])).unwrap();
    let found = found.minimiser().unwrap().to_vec::<f64>();
    let closed = Normal::fit(&y).unwrap();
    let mean = y.to_vec::<f64>().iter().sum::<f64>() / 50.0;
    let variance = y.to_vec::<f64>().iter().map(|y| (y - mean).powi(2)).sum::<f64>() / 50.0;
    assert_close(&[found[0], found[1].exp()], &[mean, variance.sqrt()], 1e-8);
    assert_close(&[closed.mean().item(), closed.std().item()], &[mean, variance.sqrt()], 1e-12);
}

#[test]
fn e5_gaussian_densities_equal_scipy() {
    let reference = fixture("probability.json");
    let y = Tensor::from(numbers(&reference["y"]));
    let found = Normal::new(0.7, 1.9).unwrap().log_prob(&y).unwrap();
    assert_close(&found.to_vec::<f64>(), &numbers(&reference["normal"]), 1e-10);
    let mean = Tensor::from(numbers(&reference["mean"]));
    let many = MultivariateNormal::new(mean.clone(), &matrix(&reference["covariance"])).unwrap();
    let rows = matrix(&reference["rows"]);
    assert_close(&many.log_prob(&rows).unwrap().to_vec::<f64>(), &numbers(&reference["multivariate"]), 1e-10);
    let first = many.log_prob(&rows.get(0)).unwrap();
    assert!(first.rank() == 0 && (first.item::<f64>() - numbers(&reference["multivariate"])[0]).abs() < 1e-10);

    // A singular covariance is a typed error, also when rounding hides it.
    let direction = Tensor::from([[1.0], [2.0], [3.0]]);
    for singular in [Tensor::zeros([3, 3], DType::F64), direction.matmul(&direction.t())] {
        let error = MultivariateNormal::new(mean.clone(), &singular).unwrap_err();
        assert!(matches!(error, LearnError::Data { .. }) && error.to_string().contains("positive definite"));
    }
    assert!(Normal::new(0.0, 0.0).is_err() && Normal::new(0.0, -1.0).is_err());
    // Draws have the moments of their distribution.
    let draws = many.sample(200_000, Key::new(1)).unwrap();
    let fitted = MultivariateNormal::fit(&draws).unwrap();
    assert_close(&fitted.mean().to_vec::<f64>(), &mean.to_vec::<f64>(), 0.02);
    assert_close(&fitted.covariance().unwrap().to_vec::<f64>(), &numbers(&reference["covariance"]), 0.02);
}

/// A linear problem with normal noise of deviation `std`.
fn linear(seed: u64, n: usize, w: &[f64], std: f64) -> (Tensor, Tensor) {
    let x = normal(seed, [n, w.len()]);
    let y = x.matmul(&Tensor::from(w.to_vec())) + &normal(seed + 7919, [n]) * std;
    (x, y)
}

#[test]
fn e6_gaussian_noise_gives_least_squares() {
    let (x, y) = linear(60, 80, &[1.0, -2.0, 0.5], 0.8);
    let squares = linalg::lstsq(&x, &y, None).unwrap().solution.to_vec::<f64>();
    assert_close(&LinearGaussian::fit(&x, &y).unwrap().weights().to_vec::<f64>(), &squares, 1e-8);
    for std in [0.2, 1.0, 7.0] {
        let negative = |w: &Tensor| -LinearGaussian::new(w.clone(), std).unwrap().log_likelihood(&x, &y).unwrap();
        let found = Newton::default().minimise(&negative, &Tensor::zeros([3], DType::F64)).unwrap();
        assert_close(&found.minimiser().unwrap().to_vec::<f64>(), &squares, 1e-8);
        // The factor is 1/(2 s²): doubling the squared residual changes the log-likelihood by half of it over s².
        let w = Tensor::from([0.3, 0.1, -0.4]);
        let residual = (&y - &x.matmul(&w)).square().sum().item::<f64>();
        let expected = -residual / (2.0 * std * std) - 80.0 * (std.ln() + 0.5 * (2.0 * std::f64::consts::PI).ln());
        assert!((-negative(&w).item::<f64>() - expected).abs() < 1e-9 * expected.abs());
    }
}

#[test]
fn e7_noise_variance_is_biased_as_documented() {
    let (x, y) = linear(70, 30, &[1.0, -2.0, 0.5, 2.0, 0.0], 1.3);
    let fitted = LinearGaussian::fit(&x, &y).unwrap();
    let nll = |log: &Tensor| {
        let residual = &y - &x.matmul(fitted.weights());
        -Normal::new(0.0, log.exp()).unwrap().log_prob(&residual).unwrap().sum()
    };
    let found = Newton::default().minimise(&nll, &Tensor::from([0.0])).unwrap();
    let best = found.minimiser().unwrap().exp().at::<f64>(&[0]);
    assert!((best - fitted.std()).abs() < 1e-8);

    // E s*² = (n − c)/n · s². The estimate over s²/n is chi-squared with n − c = 25 degrees of freedom: relative deviation
    // √(2/25) = 0.28 each, 0.0063 for the mean of 2000; four of them are allowed.
    let estimates = (0..2000).map(|i| {
        let (x, y) = linear(1000 + 17 * i, 30, &[1.0, -2.0, 0.5, 2.0, 0.0], 1.3);
        LinearGaussian::fit(&x, &y).unwrap().std().powi(2)
    });
    let mean = estimates.sum::<f64>() / 2000.0;
    assert!((mean / (1.3 * 1.3) - 25.0 / 30.0).abs() < 4.0 * 0.0063 * 25.0 / 30.0, "{}", mean / 1.69);
}

#[test]
fn e8_laplace_noise_gives_absolute_loss() {
    let reference = fixture("probability.json");
    let y = Tensor::from(numbers(&reference["y"]));
    let found = Laplace::new(0.7, 1.9).unwrap().log_prob(&y).unwrap();
    assert_close(&found.to_vec::<f64>(), &numbers(&reference["laplace"]), 1e-10);
    // The density integrates to 1 (midpoints over ±40 b; the kink lies on a boundary of cells).
    for b in [0.5, 2.0] {
        let cells = 400_000;
        let width = 80.0 * b / f64::from(cells);
        let grid = (0..cells).map(|i| 1.0 - 40.0 * b + (f64::from(i) + 0.5) * width).collect::<Vec<_>>();
        let total = Laplace::new(1.0, b).unwrap().prob(&Tensor::from(grid)).unwrap().sum().item::<f64>() * width;
        assert!((total - 1.0).abs() < 1e-7, "{total}");
    }
    // At b = 2 the density at the centre is 1/4.
    assert!((Laplace::new(0.0, 2.0).unwrap().prob(&Tensor::from(0.0)).unwrap().item::<f64>() - 0.25).abs() < 1e-15);

    // The minimiser of the negative log-likelihood is the least-absolute-deviation fit. |r| is approached by √(r² + ε²).
    let (x, t) = (matrix(&reference["lad"]["x"]), Tensor::from(numbers(&reference["lad"]["y"])));
    let newton = Newton { rules: Rules { gradient_tolerance: 1e-7, ..Newton::default().rules }, ..Newton::default() };
    let mut w = Tensor::zeros([3], DType::F64);
    for epsilon in [1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6] {
        let smooth = |w: &Tensor| ((&t - &x.matmul(w)).square() + epsilon * epsilon).sqrt().sum();
        w = newton.minimise(&smooth, &w).unwrap().minimiser().unwrap().clone();
    }
    let coefficients = numbers(&reference["lad"]["coef"]);
    assert_close(&w.to_vec::<f64>(), &coefficients, 1e-4);
    let nll = |w: &Tensor| -Laplace::new(x.matmul(w), 0.7).unwrap().log_prob(&t).unwrap().sum().item::<f64>();
    let at_reference = nll(&Tensor::from(coefficients));
    assert!((nll(&w) - at_reference).abs() < 1e-4);
    for seed in 0..50 {
        assert!(nll(&(&w + &(&normal(800 + seed, [3]) * 0.05))) > at_reference);
    }
}

#[test]
fn e9_error_falls_with_the_square_root() {
    let truth = [1.0, -2.0, 0.5];
    let (mut logs, mut errors) = (Vec::new(), Vec::new());
    for (place, n) in [100usize, 316, 1000, 3162, 10_000, 31_623, 100_000].into_iter().enumerate() {
        let repeats = 60;
        let squares = (0..repeats).map(|i| {
            let (x, y) = linear(90_000 + 1000 * place as u64 + i, n, &truth, 1.0);
            let w = LinearGaussian::fit(&x, &y).unwrap().weights().to_vec::<f64>();
            w.iter().zip(&truth).map(|(w, t)| (w - t).powi(2)).sum::<f64>()
        });
        let mean = squares.sum::<f64>() / repeats as f64;
        logs.push((n as f64).ln());
        errors.push(0.5 * mean.ln());
    }
    let (a, b) = (logs.iter().sum::<f64>() / 7.0, errors.iter().sum::<f64>() / 7.0);
    let rise: f64 = logs.iter().zip(&errors).map(|(x, y)| (x - a) * (y - b)).sum();
    let slope = rise / logs.iter().map(|x| (x - a).powi(2)).sum::<f64>();
    assert!((slope + 0.5).abs() <= 0.05, "{slope}");
}

#[test]
fn e10_fisher_information_by_both_definitions() {
    let (x, _) = linear(101, 25, &[1.0, -0.5], 1.0);
    let (truth, std) = (Tensor::from([1.0, -0.5]), 0.6);
    let model = LinearGaussian::new(truth.clone(), std).unwrap();
    let information = model.fisher_information(&x).unwrap().to_vec::<f64>();
    let closed = (x.t().matmul(&x) / (std * std)).to_vec::<f64>();
    assert_close(&information, &closed, 1e-12);
    let log = |y: &Tensor, w: &Tensor| LinearGaussian::new(w.clone(), std).unwrap().log_likelihood(&x, y).unwrap();
    let draws = 20_000;
    let (mut curvature, mut score_mean, mut covariance) = ([0.0; 4], [0.0; 2], [0.0; 4]);
    for i in 0..draws {
        let y = x.matmul(&truth) + &normal(500_000 + i, [25]) * std;
        let f = |w: &Tensor| log(&y, w);
        let score = f.gradient(&truth).unwrap().to_vec::<f64>();
        for (k, total) in covariance.iter_mut().enumerate() {
            *total += score[k / 2] * score[k % 2] / draws as f64;
        }
        score_mean.iter_mut().zip(&score).for_each(|(mean, s)| *mean += s / draws as f64);
        if i < 50 {
            let hessian = f.hessian(&truth).unwrap().to_vec::<f64>();
            curvature.iter_mut().zip(&hessian).for_each(|(total, h)| *total -= h / 50.0);
        }
    }
    assert_close(&curvature, &closed, 1e-9);
    // An entry of the covariance has a relative deviation of about √(2/20000) = 0.01; five of them are allowed.
    assert_close(&covariance, &closed, 0.05);
    // The expectation of the first derivative is 0, not the information.
    assert!(score_mean.iter().all(|mean| mean.abs() < 5.0 * (closed[0] / draws as f64).sqrt() * 1.5));
}

#[test]
fn e11_least_squares_reaches_the_cramer_rao_bound() {
    let (x, _) = linear(111, 40, &[0.0; 3], 1.0);
    let (truth, std, repeats) = (Tensor::from([1.0, -2.0, 0.5]), 0.7, 2000u64);
    let bound = LinearGaussian::new(truth.clone(), std).unwrap().cramer_rao(&x).unwrap().to_vec::<f64>();
    let direct = (x.t().matmul(&x).inverse() * (std * std)).to_vec::<f64>();
    assert_close(&bound, &direct, 1e-10);
    // Maximum likelihood as `LinearGaussian::fit` finds it, beside unbiased competitors: least squares with weights that ignore
    // nothing but are not needed, and the fit of the first half.
    let weights = Tensor::from((0..40).map(|i| if i % 2 == 0 { 1.0 } else { 0.2 }).collect::<Vec<f64>>());
    let weighted = &x * &weights.unsqueeze(1);
    let half = x.narrow(0, 0, 20).contiguous();
    let by_weights = weighted.t().matmul(&x).inverse().matmul(&weighted.t());
    let fitted = |x: &Tensor, y: &Tensor| LinearGaussian::fit(x, y).unwrap().weights().clone();
    let estimate = |k: usize, y: &Tensor| match k {
        0 => fitted(&x, y),
        1 => by_weights.matmul(y),
        _ => fitted(&half, &y.narrow(0, 0, 20).contiguous()),
    };
    let mut sums = vec![([0.0; 3], [0.0; 9]); 3];
    for i in 0..repeats {
        let y = x.matmul(&truth) + &normal(700_000 + i, [40]) * std;
        for (k, (mean, square)) in sums.iter_mut().enumerate() {
            let error = (estimate(k, &y) - &truth).to_vec::<f64>();
            for (j, total) in square.iter_mut().enumerate() {
                *total += error[j / 3] * error[j % 3] / repeats as f64;
            }
            mean.iter_mut().zip(&error).for_each(|(mean, e)| *mean += e / repeats as f64);
        }
    }
    let gap: f64 = sums[0].1.iter().zip(&bound).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let size = bound.iter().map(|b| b * b).sum::<f64>().sqrt();
    assert!(gap <= 0.1 * size, "{}", gap / size);
    for (mean, square) in &sums {
        // All are unbiased: means within four standard deviations of 0.
        (0..3).for_each(|j| assert!(mean[j].abs() < 4.0 * (square[4 * j] / repeats as f64).sqrt()));
    }
    for (_, square) in &sums[1..] {
        // Cov − bound has no eigenvalue below noise, and the trace is larger.
        let excess: Vec<f64> = square.iter().zip(&bound).map(|(a, b)| a - b).collect();
        let least = Tensor::from_vec(excess.clone(), [3, 3]).eigvalsh().to_vec::<f64>()[0];
        assert!(least > -0.1 * size && excess[0] + excess[4] + excess[8] > 0.0, "{least}");
    }
    // The competitors are worse by more than noise: a bound that another estimate reached would be none of ours.
    let trace = |square: &[f64; 9]| square[0] + square[4] + square[8];
    assert!(sums[1..].iter().all(|(_, square)| trace(square) > 1.1 * trace(&sums[0].1)));
    // Scaled by √N the covariance tends to the inverse of the information per sample.
    let per_sample = LinearGaussian::new(truth.clone(), std).unwrap().fisher_information(&x).unwrap() / 40.0;
    let scaled: Vec<f64> = sums[0].1.iter().map(|c| c * 40.0).collect();
    let limit = per_sample.inverse().to_vec::<f64>();
    let gap: f64 = scaled.iter().zip(&limit).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    assert!(gap <= 0.1 * limit.iter().map(|b| b * b).sum::<f64>().sqrt());
}

#[test]
fn e12_priors_have_gradients_and_moments() {
    for prior in [Prior::Normal { std: 1.7 }, Prior::Laplace { scale: 0.8 }] {
        let log = |w: &[Tensor]| prior.log_density(&w[0]).unwrap();
        gradcheck(log, &[Tensor::from([0.5, -1.2, 2.0])]).unwrap();
        let draws = prior.sample(100_000, 2, Key::new(3)).unwrap();
        let (mean, variance) = (draws.mean().item::<f64>(), draws.var(0).item::<f64>());
        let expected = match prior {
            Prior::Normal { std } => std * std,
            Prior::Laplace { scale } => 2.0 * scale * scale,
            Prior::Flat => unreachable!(),
        };
        // 200,000 numbers: the mean deviates by 0.004, the variance by at most 0.7 %.
        assert!(mean.abs() < 0.02 && (variance / expected - 1.0).abs() < 0.03, "{mean} {variance}");
        // One weight: the density integrates to 1.
        let grid: Vec<f64> = (0..40_000).map(|i| -20.0 + (f64::from(i) + 0.5) * 1e-3).collect();
        let total: f64 = grid.iter().map(|&w| prior.log_density(&Tensor::from([w])).unwrap().item::<f64>().exp()).sum();
        assert!((total * 1e-3 - 1.0).abs() < 1e-6);
    }
    assert!(
        Prior::Flat.sample(1, 1, Key::new(0)).is_err()
            && Prior::Normal { std: -1.0 }.sample(1, 1, Key::new(0)).is_err()
    );
    // 1/‖f‖ only over a finite set of models that are not 0.
    let models = [Tensor::from([3.0, 4.0]), Tensor::from([0.0, 10.0])];
    assert_close(&Prior::inverse_norm_weights(&models).unwrap(), &[2.0 / 3.0, 1.0 / 3.0], 1e-15);
    let error = Prior::inverse_norm_weights(&[Tensor::from([0.0, 0.0])]).unwrap_err();
    assert!(error.to_string().contains("norm 0"));
}

#[test]
fn e13_bayes_theorem_over_finite_models_and_beta_bernoulli() {
    let y = Key::new(13).bernoulli(0.7, [30]).to_dtype(DType::F64);
    let grid: Vec<f64> = (0..2000).map(|i| (f64::from(i) + 0.5) / 2000.0).collect();
    let logs = |y: &Tensor| -> Vec<f64> {
        grid.iter().map(|&q| Bernoulli::new(q).unwrap().log_prob(y).unwrap().sum().item::<f64>()).collect()
    };
    // Prior Beta(2, 3) on the grid.
    let raw: Vec<f64> = grid.iter().map(|q| q * (1.0 - q).powi(2)).collect();
    let total: f64 = raw.iter().sum();
    let prior = FinitePosterior::new(&raw.iter().map(|p| p / total).collect::<Vec<_>>()).unwrap();
    let at_once = prior.update(&logs(&y)).unwrap();
    assert!((at_once.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    let numerators: f64 = prior.weights().iter().zip(logs(&y)).map(|(p, log)| p * log.exp()).sum();
    assert!((at_once.log_evidence() - numerators.ln()).abs() < 1e-10);
    let in_halves = prior.update(&logs(&y.narrow(0, 0, 15))).unwrap().update(&logs(&y.narrow(0, 15, 15))).unwrap();
    assert_close(in_halves.weights(), at_once.weights(), 1e-12);
    assert!((in_halves.log_evidence() - at_once.log_evidence()).abs() < 1e-10);

    let ones = y.sum().item::<f64>() as usize;
    let closed = BetaBernoulli::new(2.0, 3.0).unwrap().update(ones, 30 - ones);
    let mean: f64 = grid.iter().zip(at_once.weights()).map(|(q, w)| q * w).sum();
    let variance: f64 = grid.iter().zip(at_once.weights()).map(|(q, w)| (q - mean).powi(2) * w).sum();
    assert!((mean - closed.mean()).abs() < 1e-6 && (variance - closed.variance()).abs() < 1e-6);
    assert_eq!((closed.a, closed.b), (2.0 + ones as f64, 33.0 - ones as f64));
    let impossible = FinitePosterior::new(&[1.0]).unwrap().update(&[f64::NEG_INFINITY]);
    assert!(matches!(impossible, Err(LearnError::Data { .. })));
}

#[test]
fn e14_model_average_by_weights_and_by_draws() {
    // Ten softmax models of three classes with random posterior weights.
    let predictions: Vec<Tensor> = (0..10).map(|i| normal(140 + i, [5, 3]).softmax(-1)).collect();
    let prior = FinitePosterior::new(&[0.1; 10]).unwrap();
    let posterior = prior.update(&normal(150, [10]).to_vec::<f64>()).unwrap();
    let weighted = posterior.average(&predictions).unwrap();
    let drawn: Vec<Tensor> =
        posterior.draw(40_000, Key::new(14)).unwrap().into_iter().map(|place| predictions[place].clone()).collect();
    let averaged = average_of_draws(&drawn).unwrap();
    for average in [&weighted, &averaged] {
        assert_close(&average.sum_axes(&[-1], false).to_vec::<f64>(), &[1.0; 5], 1e-9);
    }
    // A probability has a deviation of at most 0.5/√40000 = 0.0025; four of them are allowed.
    let gap = (&weighted - &averaged).abs().max().item::<f64>();
    assert!(gap < 0.01, "{gap}");
    // Weighting draws by the posterior and dividing by k counts twice: the rows no longer sum to 1.
    let places = posterior.draw(1000, Key::new(15)).unwrap();
    let twice: f64 = places.iter().map(|&place| posterior.weights()[place] / 1000.0).sum();
    assert!((twice - 1.0).abs() > 0.1, "{twice}");

    // The conjugate linear-normal prediction against scikit-learn's Gaussian process with the same prior, and its density against
    // scipy's integral over the weights.
    let wanted = &fixture("syllabus.json")["conjugate"];
    let number = |name: &str| wanted[name].as_f64().unwrap();
    let (x, y) = (Tensor::from_vec(numbers(&wanted["x"]), [12, 2]), Tensor::from(numbers(&wanted["y"])));
    let model = ConjugateLinear::fit(&x, &y, number("noise"), number("prior")).unwrap();
    let places = Tensor::from_vec(numbers(&wanted["places"]), [3, 2]);
    let (mean, std) = model.predict(&places).unwrap();
    assert_close(&mean.to_f64_vec(), &numbers(&wanted["mean"]), 1e-10);
    assert_close(&std.to_f64_vec(), &numbers(&wanted["std"]), 1e-10);
    let predictive = Normal::new(mean.get(0), std.get(0)).unwrap();
    let density = predictive.prob(&Tensor::from(numbers(&wanted["at"]))).unwrap().to_f64_vec();
    assert_close(&density, &numbers(&wanted["density"]), 1e-7);
    // The same density by draws of the weights from the posterior.
    let means = model.sample(200_000, Key::new(16)).unwrap().matmul(&places.get(0));
    let noise = number("noise");
    for (&at, wanted) in numbers(&wanted["at"]).iter().zip(numbers(&wanted["density"])) {
        let by_draws = Normal::new(means.clone(), noise).unwrap().prob(&Tensor::from(at)).unwrap().mean().item::<f64>();
        assert!((by_draws - wanted).abs() < 0.005, "{by_draws} {wanted}");
    }
}

#[test]
fn e16_a_point_hides_two_peaks() {
    let n = 1000;
    let y: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let x = Tensor::ones([n, 1], DType::F64);
    let squares = linalg::lstsq(&x, &Tensor::from(y.clone()), None).unwrap().solution;
    assert!(squares.at::<f64>(&[0]).abs() < 1e-12); // a value never seen
    let labels = Tensor::from(y.iter().map(|&y| i64::from(y > 0.0)).collect::<Vec<_>>());
    let categorical = Categorical::fit(&labels, 2).unwrap();
    assert_eq!(categorical.probabilities().to_vec::<f64>(), [0.5, 0.5]);
}

#[test]
fn e15_map_is_maximum_likelihood_ridge_or_lasso() {
    let (s, n) = (0.5, 30);
    let (x, y) = linear(151, n, &[1.0, -2.0, 0.0, 0.3, 0.0], s);
    let log = |w: &Tensor| LinearGaussian::new(w.clone(), s).unwrap().log_likelihood(&x, &y).unwrap();
    let start = Tensor::zeros([5], DType::F64);
    let map = |prior| {
        let found = map_estimate(&log, &prior, &start).unwrap();
        assert!(found.summary.converged, "{:?}", found.summary);
        found.weights.to_vec::<f64>()
    };
    // A flat prior: maximum likelihood.
    assert_close(&map(Prior::Flat), &LinearGaussian::fit(&x, &y).unwrap().weights().to_vec::<f64>(), 1e-8);
    for width in [0.05, 0.4, 3.0] {
        // N(0, t²): ridge with λ = s²/t² beside ½‖y − Xw‖².
        let ridge = Ridge::default().alpha(s * s / (width * width)).fit_intercept(false).fit(&x, &y).unwrap();
        assert_close(&map(Prior::Normal { std: width }), &ridge.coef().to_f64_vec(), 1e-6);
        // Laplace(0, b): lasso with α = s²/(n b) beside ‖y − Xw‖²/(2n).
        let lasso =
            Lasso::default().alpha(s * s / (n as f64 * width)).fit_intercept(false).tol(1e-14).max_iter(100_000);
        let lasso = lasso.fit(&x, &y).unwrap().coef().to_f64_vec();
        let found = map(Prior::Laplace { scale: width });
        assert_close(&found, &lasso, 1e-6);
        assert!(found.iter().zip(&lasso).all(|(a, b)| (*a == 0.0) == (*b == 0.0)), "{found:?} {lasso:?}");
    }
}
