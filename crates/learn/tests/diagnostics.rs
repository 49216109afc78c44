//! Questions to data, fits and models: each answered on problems whose answer is known.
#![allow(clippy::unwrap_used)]

mod common;
mod toys;

use common::{assert_close, fixture, numbers};
use tove_learn::diagnostics::hypotheses::{
    chi_square_shares, chi_square_tail, kolmogorov_smirnov, kolmogorov_tail, ljung_box,
};
use tove_learn::diagnostics::*;
use tove_learn::selection::{
    Evaluation, KFold, Scorer, SelectionGuarantee, Train, hoeffding_probability, hoeffding_union, learning_curve,
    samples_needed, selection_guarantee,
};
use tove_learn::{Fit, Samples};
use tove_metrics::{Score, hoeffding};
use tove_tensor::{DType, Key, Tensor};
use toys::{Nearest, Polynomial, cubic};

#[test]
fn statistics_are_those_of_scipy_and_statsmodels() {
    let f = fixture("diagnostics.json");
    for case in f["ks"].as_array().unwrap() {
        let (d, p) = kolmogorov_smirnov(&numbers(&case["a"]), &numbers(&case["b"]));
        assert!((d - case["d"].as_f64().unwrap()).abs() < 1e-15);
        // scipy takes the exact law of one sample of the same effective size; Stephens' form of the limit is near it.
        let wanted = case["p"].as_f64().unwrap();
        assert!((p - wanted).abs() < 0.02 + 0.1 * wanted, "{p} {wanted}");
    }
    let lambdas = numbers(&f["kolmogorov"]["lambda"]);
    let tails: Vec<f64> = lambdas.iter().map(|&lambda| kolmogorov_tail(lambda)).collect();
    assert_close(&tails, &numbers(&f["kolmogorov"]["tail"]), 1e-12);
    for case in f["chi2"].as_array().unwrap() {
        let wanted = case["tail"].as_f64().unwrap();
        let found = chi_square_tail(case["x"].as_f64().unwrap(), case["k"].as_f64().unwrap());
        assert!((found / wanted - 1.0).abs() < 1e-9, "{found:e} {wanted:e}");
    }
    for case in f["ljung_box"].as_array().unwrap() {
        let series = numbers(&case["series"]);
        for (place, lags) in [1, 5, 10].into_iter().enumerate() {
            let (q, p) = ljung_box(&series, lags);
            assert_close(&[q, p], &[numbers(&case["q"])[place], numbers(&case["p"])[place]], 1e-10);
        }
    }
    let shares = &f["shares"];
    let (statistic, p) = chi_square_shares(&numbers(&shares["a"]), &numbers(&shares["b"]));
    assert_close(&[statistic, p], &[shares["statistic"].as_f64().unwrap(), shares["p"].as_f64().unwrap()], 1e-12);
}

/// Normal columns with labels by coin.
fn independent(n: usize, seed: u64) -> (Vec<f64>, Vec<i64>) {
    let key = Key::new(seed);
    (key.fold(0).normal([3 * n], DType::F64).to_f64_vec(), key.fold(1).integers(0, 3, [n]).to_vec::<i64>())
}

fn samples(x: Vec<f64>, y: &[i64]) -> Samples {
    Samples::new(Tensor::from_vec(x, [y.len(), 3]), &Tensor::from_slice(y)).unwrap()
}

#[test]
fn g2_drift_and_dependence_are_flagged_and_independent_samples_are_not() {
    let (n, alpha) = (300, 0.05);
    // Quiet on independent samples, at the stated rate: at most 5 % of 1000 sets, with three deviations of slack.
    let alarms = (0..1000).filter(|&seed| {
        let (x, y) = independent(n, seed);
        !check_iid(&samples(x, &y), alpha).unwrap().is_quiet()
    });
    let rate = alarms.count() as f64 / 1000.0;
    assert!(rate <= 0.05 + 3.0 * (0.05f64 * 0.95 / 1000.0).sqrt(), "{rate}");
    assert!(rate > 0.005, "a test that never speaks tests nothing: {rate}");
    // Drift over time of one column, by one deviation from begin to end.
    let mut found = [0; 4];
    for seed in 0..100 {
        let (mut x, y) = independent(n, 5000 + seed);
        (0..n).for_each(|row| x[3 * row + 1] += 1.5 * row as f64 / n as f64);
        let report = check_iid(&samples(x, &y), alpha).unwrap();
        found[0] += usize::from(report.drift.iter().any(|finding| finding.column == Some(1)));
        // Labels that shift.
        let (x, mut y) = independent(n, 6000 + seed);
        (0..n).filter(|row| row % 2 == 0 && *row > n / 2).for_each(|row| y[row] = 0);
        let report = check_iid(&samples(x, &y), alpha).unwrap();
        found[1] += usize::from(report.drift.iter().any(|finding| finding.column.is_none()));
        // Serial correlation of one column: half of the number before it.
        let (mut x, y) = independent(n, 7000 + seed);
        (1..n).for_each(|row| x[3 * row + 2] += 0.5 * x[3 * row - 1]);
        let report = check_iid(&samples(x, &y), alpha).unwrap();
        found[2] += usize::from(report.dependence.iter().any(|finding| finding.column == Some(2)));
        // The dealership: independent and stable, but another distribution. Only the comparison with a reference shows it.
        let (mut x, y) = independent(n, 8000 + seed);
        (0..n).for_each(|row| x[3 * row] += 0.6);
        let (reference, _) = independent(n, 9000 + seed);
        let biased = samples(x, &y);
        let report = sampling_bias(biased.x(), Tensor::from_vec(reference, [n, 3]), alpha).unwrap();
        let only = report.columns.len() == 1 && report.columns[0].column == Some(0);
        found[3] += usize::from(only && check_iid(&biased, alpha).unwrap().drift.is_empty());
    }
    assert!(found.iter().all(|&count| count >= 90), "{found:?}");
    let biased = (0..300).filter(|&seed| {
        let (a, b) = (independent(n, 2 * seed).0, independent(n, 2 * seed + 1).0);
        let table = |numbers: Vec<f64>| Tensor::from_vec(numbers, [n, 3]);
        !sampling_bias(table(a), table(b), alpha).unwrap().columns.is_empty()
    });
    assert!(biased.count() as f64 / 300.0 <= 0.05 + 3.0 * (0.05f64 * 0.95 / 300.0).sqrt());
    let (x, y) = independent(n, 0);
    let report = check_iid(&samples(x, &y), alpha).unwrap().to_string();
    assert!(report.contains("false-alarm rate of all together at most 5 %"), "{report}");
}

/// The mean squared error of a polynomial fitted to `train`, on fresh samples.
fn fresh_error(degree: usize, train: &Samples, seed: u64) -> f64 {
    let model = Polynomial::default().degree(degree).fit_samples(train).unwrap();
    risk(&model, &cubic(4000, seed), RiskLoss::Squared, 0.05).unwrap().mean
}

#[test]
fn reports_label_over_and_underfitting() {
    for seed in 0..10 {
        let train = Train::new(&cubic(30, 100 + seed));
        let label = |degree: usize| {
            let estimator = Polynomial::default().degree(degree);
            diagnose_fit(&estimator, &train, &KFold::new(5).shuffled(seed), RiskLoss::Squared, None).unwrap()
        };
        let (stiff, right, wild) = (label(1), label(3), label(15));
        assert_eq!(stiff.fitness, Fitness::Underfitted, "{stiff}");
        assert_eq!(right.fitness, Fitness::Fitted, "{right}");
        assert_eq!(wild.fitness, Fitness::Overfitted, "{wild}");
        assert!(wild.to_string().starts_with("overfitted: error ") && stiff.to_string().contains("richer model"));
        // Low on what was learnt, high elsewhere; both high.
        assert!(wild.train < right.train && wild.left_out > 2.0 * right.left_out);
        assert!(stiff.train > 2.0 * right.train && stiff.left_out > 2.0 * right.left_out);
    }
    // More data shrinks the gap of the overfit, not of the underfit.
    let train = Train::new(&cubic(1250, 7));
    let curve = learning_curve(
        &Polynomial::default().degree(15),
        &train,
        &[30, 100, 300, 1000],
        &KFold::new(5),
        Scorer::NegMeanSquaredError,
    )
    .unwrap();
    assert!(curve.windows(2).all(|two| two[1].gap() < 0.75 * two[0].gap()), "{curve:?}");
}

#[test]
fn g7_the_empirical_risk_is_unbiased_for_a_fixed_function_and_optimistic_on_training_data() {
    // A line fitted once; its expected squared error under the known distribution by a fine sum: x uniform on [−1, 1],
    // y = 4x³ − 2x + ½ + 0.3 e, so that R = ∫ (4x³ − 2x + ½ − w₀ − w₁x)² dx/2 + 0.09.
    let train = cubic(20, 3);
    let model = Polynomial::default().degree(1).fit_samples(&train).unwrap();
    let (w0, w1) = (model.coefficients[0], model.coefficients[1]);
    let steps = 200_000;
    let grid = (0..steps).map(|i| -1.0 + (2.0 * i as f64 + 1.0) / steps as f64);
    let expected =
        grid.map(|x| (4.0 * x * x * x - 2.0 * x + 0.5 - w0 - w1 * x).powi(2)).sum::<f64>() / steps as f64 + 0.09;
    // Within the interval in about 95 of 100 samples, for every size; the interval narrows as 1/√n.
    for n in [100, 400, 1600] {
        let inside = (0..400).filter(|seed| {
            let found = risk(&model, &cubic(n, 1000 + seed), RiskLoss::Squared, 0.05).unwrap();
            (found.mean - expected).abs() <= found.epsilon
        });
        let inside = inside.count();
        assert!((360..=398).contains(&inside), "{inside} of 400 at {n}");
    }
    let width = |n: usize| risk(&model, &cubic(n, 1), RiskLoss::Squared, 0.05).unwrap().epsilon;
    assert!((width(1600) / width(100) - 0.25).abs() < 0.05);
    // Unbiased: the mean of 400 estimates at n = 100 lies within four standard errors.
    let means: Vec<f64> =
        (0..400).map(|s| risk(&model, &cubic(100, 9000 + s), RiskLoss::Squared, 0.05).unwrap().mean).collect();
    let mean = means.iter().sum::<f64>() / 400.0;
    let error = (means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / 399.0 / 400.0).sqrt();
    assert!((mean - expected).abs() < 4.0 * error);
    // On the samples it was fitted to, it is optimistic: on the mean of 300 fits, and far beyond chance.
    let optimism: Vec<f64> = (0..300)
        .map(|seed| {
            let train = cubic(20, 40_000 + seed);
            let model = Polynomial::default().degree(3).fit_samples(&train).unwrap();
            let on = |samples: &Samples| risk(&model, samples, RiskLoss::Squared, 0.05).unwrap().mean;
            on(&cubic(500, 80_000 + seed)) - on(&train)
        })
        .collect();
    let mean = optimism.iter().sum::<f64>() / 300.0;
    let error = (optimism.iter().map(|o| (o - mean).powi(2)).sum::<f64>() / 299.0 / 300.0).sqrt();
    assert!(mean > 6.0 * error, "{mean} ± {error}");
}

#[test]
fn the_gap_of_a_neighbour_is_reported_with_its_interval() {
    let (x, _) = independent(400, 1);
    let y = Key::new(3).integers(0, 2, [400]).to_vec::<i64>();
    let all = samples(x, &y);
    let (train, fresh) =
        (all.take(&(0..200).collect::<Vec<_>>()).unwrap(), all.take(&(200..400).collect::<Vec<_>>()).unwrap());
    let model = Nearest::default().fit_samples(&train).unwrap();
    let report = generalisation_gap(&model, &train, &fresh, RiskLoss::ZeroOne, 0.05).unwrap();
    assert_eq!(report.train, 0.0);
    assert!(report.low < 0.5 && 0.5 < report.high && (report.gap - 0.5).abs() < 0.15, "{report}");
    assert!(generalisation_gap(&model, &train, &fresh, RiskLoss::Squared, 0.05).is_err());
}

/// How often the mean of n draws is at least ε away from 1/2 … in `trials` trials.
fn violations(n: usize, epsilon: f64, trials: u64, expectation: f64, draw: impl Fn(Key) -> Vec<f64>) -> f64 {
    let far = |trial: &u64| {
        let values = draw(Key::new(77).fold(*trial));
        (values.iter().sum::<f64>() / n as f64 - expectation).abs() >= epsilon
    };
    (0..trials).filter(far).count() as f64 / trials as f64
}

#[test]
fn g9_hoeffdings_bound_holds_for_bernoulli_and_uniform_draws() {
    for n in [10, 50, 200] {
        for epsilon in [0.05, 0.1, 0.2, 0.3] {
            for p in [0.5, 0.1] {
                let bound = (2.0 * (-2.0 * n as f64 * epsilon * epsilon).exp()).min(1.0);
                assert!((hoeffding_probability(n, epsilon, 1.0) - bound).abs() < 1e-15);
                let coin = |key: Key| key.bernoulli(p, [n]).to_vec::<bool>().into_iter().map(f64::from).collect();
                let rate = violations(n, epsilon, 2000, p, coin);
                assert!(rate <= bound, "Bernoulli {p}: {rate} > {bound} at n = {n}, ε = {epsilon}");
            }
            // Uniform on [−1, 3], a range of width 4.
            let uniform = |key: Key| key.uniform([n], DType::F64).to_f64_vec().iter().map(|u| 4.0 * u - 1.0).collect();
            let rate = violations(n, 4.0 * epsilon, 2000, 1.0, uniform);
            assert!(rate <= hoeffding_probability(n, 4.0 * epsilon, 4.0), "uniform: {rate}");
        }
    }
}

#[test]
fn g10_test_errors_come_with_an_interval_that_covers() {
    assert!((hoeffding(1000.0, 1.0, 0.05) - 0.042947).abs() < 5e-7);
    assert_eq!(samples_needed(0.04295, 1.0, 0.05, 1).unwrap(), 1000);
    // Coverage of the true error of a fixed classifier by the printed interval of its test error.
    for (p, n) in [(0.5, 100), (0.2, 1000), (0.02, 300)] {
        let covered = (0..2000).filter(|&trial| {
            let wrong = Key::new(5).fold(trial).bernoulli(p, [n]).to_vec::<bool>().iter().filter(|w| **w).count();
            let score = Score::bounded(wrong as f64 / n as f64, n, n as f64, (0.0, 1.0));
            score.low <= p && p <= score.high
        });
        assert!(covered.count() as f64 / 2000.0 >= 0.95);
    }
    // Beside every test error with a bounded loss: the scores of the test set print it.
    let (x, y) = independent(400, 1);
    let y: Vec<i64> = y.iter().map(|&y| y % 2).collect();
    let model = Nearest::default().fit_samples(&samples(x.clone(), &y)).unwrap();
    let test = tove_learn::selection::Test::new(&samples(x, &y));
    let printed = test.judge(&model, Scorer::Accuracy).unwrap().to_string();
    assert_eq!(printed, "1.0000 [0.9321, 1.0000] (n = 400, 95 %)");
}

#[test]
fn g11_the_union_bound_covers_all_models_at_once() {
    assert!((hoeffding_union(1000.0, 1.0, 0.05, 100) - 0.064397).abs() < 5e-7);
    // Falls as 1/√N, grows as √ln K.
    let at = |n: f64, k: usize| hoeffding_union(n, 1.0, 0.05, k);
    assert!((at(4000.0, 100) / at(1000.0, 100) - 0.5).abs() < 1e-12);
    for k in [1, 10, 1000, 100_000] {
        let grown = (at(1000.0, k) / at(1000.0, 1)).powi(2);
        assert!((grown - (2.0 * k as f64 / 0.05).ln() / (2.0f64 / 0.05).ln()).abs() < 1e-12);
    }
    // 100 models on one test set of 200: any of them outside in at most 5 % of 500 trials (far less, in fact).
    let (n, k) = (200, 100);
    let epsilon = at(n as f64, k);
    let broken = (0..500).filter(|&trial| {
        let key = Key::new(8).fold(trial);
        (0..k as u64).any(|model| {
            let p = 0.05 + 0.009 * model as f64;
            let wrong = key.fold(model).bernoulli(p, [n]).to_vec::<bool>().iter().filter(|w| **w).count();
            (wrong as f64 / n as f64 - p).abs() >= epsilon
        })
    });
    assert!(broken.count() as f64 / 500.0 <= 0.05);
}

/// P(X = c) for c = 0 … n, X binomial.
fn binomial(n: usize, p: f64) -> Vec<f64> {
    let mut law = vec![0.0; n + 1];
    law[0] = 1.0;
    for draws in 0..n {
        for c in (0..=draws + 1).rev() {
            law[c] = (1.0 - p) * law[c] + if c > 0 { p * law[c - 1] } else { 0.0 };
        }
    }
    law
}

/// k models, of which the last has the least true risk and all others have `gap` more, on a test set of n samples. How often in
/// `trials` trials the selected model is worse than the best by more than `excess` (chosen from the guarantee by the caller).
fn selected_too_bad(
    (n, k, delta): (usize, usize, f64),
    gap: f64,
    trials: u64,
    excess: impl Fn(&SelectionGuarantee) -> f64,
) -> f64 {
    let best = 0.5 - gap / 2.0;
    let truth: Vec<f64> = (0..k).map(|model| if model + 1 == k { best } else { best + gap }).collect();
    let mut failures = 0;
    for trial in 0..trials {
        let draws = Key::new(9).fold(trial).uniform([k, n], DType::F64).to_f64_vec();
        let errors: Vec<f64> = draws
            .chunks(n)
            .zip(&truth)
            .map(|(draws, &risk)| draws.iter().filter(|&&u| u < risk).count() as f64 / n as f64)
            .collect();
        let choice = selection_guarantee(&errors, n, 1.0, delta).unwrap();
        assert!(errors.iter().all(|error| *error >= errors[choice.chosen]), "it is the best on the test");
        failures += usize::from(truth[choice.chosen] > best + excess(&choice));
    }
    failures as f64 / trials as f64
}

/// The same probability, exactly: some other model makes at most as many errors as the best (ties go to the first).
fn probability_of_another((n, k): (usize, usize), gap: f64) -> f64 {
    let (best, other) = (binomial(n, 0.5 - gap / 2.0), binomial(n, 0.5 + gap / 2.0));
    let mut above = 1.0; // P(another makes more errors than c)
    let mut sum = 0.0;
    for c in 0..=n {
        above -= other[c];
        sum += best[c] * (1.0 - f64::max(above, 0.0).powi(k as i32 - 1));
    }
    sum
}

#[test]
fn g12_the_selected_model_is_nearly_the_best() {
    // The excess that is promised is 2ε with ε = √(ln(2K/δ)/(2N)).
    let promised = |n: usize, k: usize, delta: f64| 2.0 * ((2.0 * k as f64 / delta).ln() / (2.0 * n as f64)).sqrt();
    let choice = selection_guarantee(&[0.3, 0.2, 0.4], 500, 1.0, 0.05).unwrap();
    assert_eq!(choice.chosen, 1);
    assert!((choice.excess - promised(500, 3, 0.05)).abs() < 1e-15);
    // The hardest case for the promise: all models but the best lie just beyond the excess. Then a wrong choice is a failure.
    // With these numbers that happens (the simulation sees failures), and less often than δ.
    let case @ (n, k, delta) = (100, 5, 0.3);
    let gap = 1.0001 * promised(n, k, delta);
    let (rate, exact) =
        (selected_too_bad(case, gap, 40_000, |choice| choice.excess), probability_of_another((n, k), gap));
    assert!(rate > 0.0, "a simulation without a single failure shows nothing");
    assert!((rate - exact).abs() < 5.0 * (exact / 40_000.0).sqrt(), "{rate} simulated, {exact} computed");
    assert!(rate <= delta, "{rate}");
    // A smaller excess cannot be promised: with models just beyond a quarter of it (K = 5) or two fifths (K = 50, where more
    // models have the chance to look best) the choice is too bad more often than δ.
    for (case, share) in [(case, 0.25), ((150, 50, 0.1), 0.4)] {
        let (n, k, delta) = case;
        let gap = 1.0001 * share * promised(n, k, delta);
        let rate = selected_too_bad(case, gap, 2000, |choice| share * choice.excess);
        let exact = probability_of_another((n, k), gap);
        assert!((rate - exact).abs() < 5.0 * (exact * (1.0 - exact) / 2000.0).sqrt(), "{rate} {exact}");
        assert!(rate > delta && exact > delta, "{rate} simulated, {exact} computed, for δ = {delta}");
        // The full excess holds there too.
        assert!(selected_too_bad(case, gap, 500, |choice| choice.excess) <= delta);
        // The best on the test is often not the truly best: k* minimizes the true risk, not the test error.
        assert!(selected_too_bad(case, gap, 500, |_| 0.0) > 0.0);
    }
    assert!(selection_guarantee(&[], 10, 1.0, 0.05).is_err() && selection_guarantee(&[0.1], 10, 1.0, 1.5).is_err());
}

#[test]
fn g13_noise_bias_and_variance_sum_to_the_error() {
    let points: Vec<f64> = (0..21).map(|i| -0.9 + 0.09 * f64::from(i)).collect();
    let truth: Vec<f64> = points.iter().map(|x| (2.5 * x).sin()).collect();
    let table = Tensor::from_vec(points, [21, 1]);
    // Fixed places, so that sets differ by their noise alone: with random places a line that does not fit the curve varies
    // with them, too.
    let places: Vec<f64> = (0..40).map(|i| -1.0 + f64::from(i) / 19.5).collect();
    let draw = |key: Key| {
        let noise = key.normal([40], DType::F64).to_f64_vec();
        let y: Vec<f64> = places.iter().zip(&noise).map(|(x, e)| (2.5 * x).sin() + 0.3 * e).collect();
        Samples::new(Tensor::from_vec(places.clone(), [40, 1]), &Tensor::from_slice(&y))
    };
    let noise = |key: Key| key.normal([21], DType::F64).to_f64_vec().iter().map(|e| 0.3 * e).collect();
    let experiment = Experiment { points: &table, truth: &truth, noise_variance: 0.09, draw: &draw, noise: &noise };
    let parts: Vec<BiasVariance> = [0, 1, 3, 5, 7, 9]
        .map(|degree| bias_variance(&Polynomial::default().degree(degree), &experiment, 2000, 3).unwrap())
        .into();
    for part in &parts {
        assert!((part.sum() / part.error - 1.0).abs() < 0.02, "{part:?}");
    }
    // Bias falls (until it is nothing but the noise of the experiment), variance rises.
    assert!(parts.windows(2).all(|two| two[1].variance > two[0].variance), "{parts:?}");
    assert!(parts.windows(2).all(|two| two[1].bias < two[0].bias + 4.0 * two[1].variance / 2000.0), "{parts:?}");
    assert!(parts[0].bias > 100.0 * parts[3].bias);
    // So the error is smallest in between.
    let best = (0..6).min_by(|&a, &b| parts[a].error.total_cmp(&parts[b].error)).unwrap();
    assert!((1..5).contains(&best));
    assert!(fresh_error(3, &cubic(100, 1), 2) < fresh_error(1, &cubic(100, 1), 2));
    // Places drawn anew for each set: the sum holds as before, with what the places add counted as variance. Polynomials that
    // can follow the curve (degree 3 on) vary more the more freedom they have; 100 places keep the edges covered.
    let draw = |key: Key| {
        let places: Vec<f64> =
            key.fold(1).uniform([100], DType::F64).to_f64_vec().iter().map(|u| 2.0 * u - 1.0).collect();
        let noise = key.fold(2).normal([100], DType::F64).to_f64_vec();
        let y: Vec<f64> = places.iter().zip(&noise).map(|(x, e)| (2.5 * x).sin() + 0.3 * e).collect();
        Samples::new(Tensor::from_vec(places, [100, 1]), &Tensor::from_slice(&y))
    };
    let experiment = Experiment { points: &table, truth: &truth, noise_variance: 0.09, draw: &draw, noise: &noise };
    let parts = [1, 3, 5, 7].map(|d| bias_variance(&Polynomial::default().degree(d), &experiment, 2000, 5).unwrap());
    for part in &parts {
        assert!((part.sum() / part.error - 1.0).abs() < 0.02, "{part:?}");
    }
    assert!(parts[0].bias > parts[1].bias && parts[1].bias > parts[2].bias, "{parts:?}");
    assert!(parts[1..].windows(2).all(|two| two[1].variance > two[0].variance), "{parts:?}");
}

/// A model whose answers are given: classes by the sign of the first feature, probabilities by a logistic curve of it.
fn noisy_classes(n: usize, seed: u64, classes: i64) -> (Tensor, Tensor) {
    let key = Key::new(seed);
    let x = key.fold(0).normal([n, 2], DType::F64);
    let noise = key.fold(1).normal([n], DType::F64).to_f64_vec();
    let first = x.to_f64_vec();
    let label = |i: usize| ((first[2 * i] + 0.8 * noise[i] + 1.2) * classes as f64 / 2.4).floor() as i64;
    let y: Vec<i64> = (0..n).map(|i| label(i).clamp(0, classes - 1)).collect();
    (x, Tensor::from_slice(&y))
}

/// √Σ (wᵢ ∂θ/∂wᵢ)², with the derivatives by central differences of the weighted score itself.
fn by_differences(model: &dyn tove_learn::Model, samples: &Samples, weights: &[f64], scorer: Scorer) -> f64 {
    let at = |weights: &[f64]| {
        let weighted = samples.clone().weighted(&Tensor::from_slice(weights)).unwrap();
        scorer.score(model, &weighted).unwrap().value
    };
    let slope = |i: usize| {
        let (mut more, mut less) = (weights.to_vec(), weights.to_vec());
        (more[i], less[i]) = (weights[i] + 1e-4, weights[i] - 1e-4);
        (at(&more) - at(&less)) / 2e-4
    };
    (0..weights.len()).map(|i| (weights[i] * slope(i)).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn standard_errors_are_those_of_the_slopes_of_the_weighted_scores() {
    let check = |model: &dyn tove_learn::Model, samples: &Samples, scorers: &[Scorer]| {
        let n = samples.len();
        for weights in [vec![1.0; n], Key::new(9).uniform([n], DType::F64).to_f64_vec()] {
            let weights: Vec<f64> = weights.iter().map(|w| w + 0.1).collect();
            let weighted = samples.clone().weighted(&Tensor::from_slice(&weights)).unwrap();
            let evaluation = Evaluation::new(model, &weighted).unwrap();
            for &scorer in scorers {
                let (found, wanted) =
                    (scorer.standard_error(&evaluation).unwrap(), by_differences(model, samples, &weights, scorer));
                assert!(wanted > 0.0 && (found / wanted - 1.0).abs() < 1e-5, "{scorer}: {found} {wanted}");
            }
        }
    };
    let (x, y) = noisy_classes(60, 1, 2);
    let model = tove_learn::LogisticRegression::default().fit(&x, &y).unwrap();
    let (x, y) = noisy_classes(50, 2, 2);
    // Ties in the ranking: the same row again with the other class.
    let twice = Tensor::concat(&[&x, &x], 0);
    let other: Vec<i64> = y.to_vec::<i64>().iter().map(|class| 1 - class).collect();
    let other = Tensor::concat(&[&y, &Tensor::from_slice(&other)], 0);
    let named = |names: &[&str]| names.iter().map(|name| Scorer::named(name).unwrap()).collect::<Vec<_>>();
    let two = named(&[
        "accuracy",
        "balanced_accuracy",
        "f1",
        "f1_macro",
        "f1_micro",
        "roc_auc",
        "neg_log_loss",
        "precision",
        "recall",
        "fbeta(2)",
        "fbeta(0.5)",
        "jaccard",
        "matthews_corrcoef",
        "cohen_kappa",
    ]);
    check(&model, &Samples::new(&x, &y).unwrap(), &two);
    check(&model, &Samples::new(&twice, &other).unwrap(), &[Scorer::RocAuc]);
    let (x, y) = noisy_classes(80, 3, 4);
    let model = tove_learn::LogisticRegression::default().fit(&x, &y).unwrap();
    let samples = Samples::new(&x, &y).unwrap();
    let several = named(&[
        "balanced_accuracy",
        "f1_macro",
        "neg_log_loss",
        "precision_macro",
        "recall_macro",
        "fbeta_macro(0.5)",
        "jaccard_macro",
        "matthews_corrcoef",
        "cohen_kappa",
        "cohen_kappa_linear",
        "cohen_kappa_quadratic",
    ]);
    check(&model, &samples, &several);
    assert_eq!(Scorer::RocAuc.standard_error(&Evaluation::new(&model, &samples).unwrap()), None);
    let y = x.narrow(1, 0, 1).squeeze(1) + Key::new(5).normal([80], DType::F64);
    let model = tove_learn::LinearRegression::default().fit(&x, &y).unwrap();
    let numbers = named(&[
        "r2",
        "mse",
        "rmse",
        "mae",
        "mape",
        "explained_variance",
        "pinball(0.2)",
        "d2_absolute_error_score",
        "d2_pinball_score(alpha=0.3)",
        "d2_tweedie_score",
    ]);
    // An odd number of samples has one median, so that the score of the absolute errors has a slope.
    let (x, y) = (x.narrow(0, 0, 79), y.narrow(0, 0, 79));
    check(&model, &Samples::new(&x, &y).unwrap(), &numbers);
    // Amounts, whose predictions are positive too.
    let y = y.abs() + 3.0;
    let model = tove_learn::LinearRegression::default().fit(&x, &y).unwrap();
    let positive =
        named(&["msle", "poisson_deviance", "gamma_deviance", "d2_poisson", "d2_gamma", "d2_tweedie_score(1.5)"]);
    check(&model, &Samples::new(&x, &y).unwrap(), &positive);
}

#[test]
fn intervals_of_standard_errors_hold_the_true_score_about_as_often_as_said() {
    // y = x + e with variances 1 and 1, predicted by x itself: R² is 1/2. 400 tests of 200 samples; the share of intervals that
    // hold it is 0.95 with a deviation of 0.011, and the normal approximation costs some more.
    let x = Tensor::from([[-1.0], [1.0]]);
    let model = tove_learn::LinearRegression::default().fit(&x, &Tensor::from([-1.0, 1.0])).unwrap();
    let mut held = 0;
    for seed in 0..400 {
        let key = Key::new(seed);
        let x = key.fold(0).normal([200, 1], DType::F64);
        let y = x.squeeze(1) + key.fold(1).normal([200], DType::F64);
        let samples = Samples::new(&x, &y).unwrap();
        let score = Scorer::R2.score(&model, &samples).unwrap().value;
        let error = Scorer::R2.standard_error(&Evaluation::new(&model, &samples).unwrap()).unwrap();
        held += usize::from((score - 0.5).abs() < 1.96 * error);
    }
    assert!((365..=392).contains(&held), "{held} of 400");
}
