//! Prediction sets and intervals against MAPIE, crepes and puncc, and their guarantees by simulation.
#![allow(clippy::unwrap_used)]

mod reading;

use reading::{assert_close, fixture, flat, items, matrix, vector};
use serde_json::Value;
use tove_learn::selection::{KFold, LeaveOneOut, Splitter};
use tove_learn::{LinearRegression, Samples};
use tove_tensor::random::{fill_uniform, permutation};
use tove_tensor::{Key, Tensor};
use tove_trust::Result;
use tove_trust::conformal::{
    ClassRows, CoverageClaim, CrossConformalClassifier, CrossConformalRegressor, CrossMethod, FalseNegativeControl,
    Forecast, PredictionIntervals, PredictionSets, Proportion, RiskControl, SetScore, SplitConformalClassifier,
    SplitConformalRegressor, ThresholdSets, coverage_range, cross_fit, tuned_raps,
};

/// The sets as texts of zeros and ones.
fn bits(sets: &PredictionSets) -> Vec<String> {
    sets.rows().map(|row| row.iter().map(|&member| if member { '1' } else { '0' }).collect()).collect()
}

fn texts(value: &Value) -> Vec<String> {
    items(value).iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

struct Classes {
    p: Tensor,
    y: Tensor,
    p_new: Tensor,
    all: Value,
}

fn classes() -> Classes {
    let all = fixture("conformal.json")["classification"].clone();
    Classes { p: matrix(&all["p_cal"]), y: vector(&all["y_cal"]), p_new: matrix(&all["p_test"]), all }
}

/// The sets with the next class by falling probability added, as packages do that include the class which passes the quantile.
fn with_next(sets: &PredictionSets, p: &Tensor) -> Vec<String> {
    let add = |(row, p): (&[bool], &[f64])| {
        let mut order: Vec<usize> = (0..p.len()).collect();
        order.sort_by(|&a, &b| p[b].total_cmp(&p[a]));
        let next = order.into_iter().find(|&class| !row[class]);
        (0..p.len()).map(|class| if row[class] || Some(class) == next { '1' } else { '0' }).collect()
    };
    sets.rows().zip(p.to_f64_vec().chunks_exact(sets.classes())).map(add).collect()
}

#[test]
fn k7_split_conformal_sets_are_those_of_mapie_and_cover_as_promised() -> Result<()> {
    // The sets of MAPIE's LAC score, and of puncc's, exactly.
    let data = classes();
    let mut model = Vec::new();
    for (place, alpha) in flat(&data.all["alphas"]).into_iter().enumerate() {
        let fitted = SplitConformalClassifier::new(alpha).fit(&data.p, &data.y)?;
        let sets = fitted.sets(&data.p_new)?;
        assert_eq!(bits(&sets), texts(&data.all["mapie"]["lac"][place]), "MAPIE, alpha {alpha}");
        assert_eq!(bits(&sets), texts(&data.all["puncc"]["lac"][place]), "puncc, alpha {alpha}");
        // {k : p_k ≥ 1 − q} with q the ⌈(n + 1)(1 − α)⌉-th smallest score, written out.
        let (p, y) = (data.p.to_f64_vec(), data.y.to_f64_vec());
        let mut scores: Vec<f64> = y.iter().enumerate().map(|(row, &y)| 1.0 - p[row * 10 + y as usize]).collect();
        scores.sort_by(f64::total_cmp);
        let q = scores[((scores.len() + 1) as f64 * (1.0 - alpha)).ceil() as usize - 1];
        let plain: Vec<bool> = data.p_new.to_f64_vec().iter().map(|p| 1.0 - p <= q).collect();
        assert_eq!(sets.tensor().to_vec::<bool>(), plain);
        model.push(fitted);
    }
    // Mean coverage over 1000 splits lies in [1 − α, 1 − α + 1/(n + 1)] within noise: for a calibrated model, an overconfident one, one
    // that prefers wrong classes, and the real predictions of the fixture.
    let pool = generated(3000);
    let real_p: Vec<f64> = [&data.all["p_cal"], &data.all["p_test"]].into_iter().flat_map(flat).collect();
    let real_y: Vec<usize> =
        [&data.all["y_cal"], &data.all["y_test"]].into_iter().flat_map(flat).map(|y| y as usize).collect();
    let overconfident = pool.0.chunks_exact(4).flat_map(|row| power(row, 6.0)).collect::<Vec<f64>>();
    let wrong = pool.0.chunks_exact(4).flat_map(|row| [row[1], row[2], row[3], row[0]]).collect::<Vec<f64>>();
    let labels = &pool.1;
    for (name, p, y, m) in [
        ("calibrated", &pool.0, labels, 4),
        ("overconfident", &overconfident, labels, 4),
        ("wrong", &wrong, labels, 4),
        ("real", &real_p, &real_y, 10),
    ] {
        for (n, alpha) in [(24, 0.1), (104, 0.1), (61, 0.25)] {
            let (mean, error) = mean_coverage(p, y, m, n, alpha)?;
            let (least, most) = (1.0 - alpha, 1.0 - alpha + 1.0 / (n + 1) as f64);
            let noise = 4.0 * error;
            assert!(least - noise <= mean && mean <= most + noise, "{name}, n {n}, alpha {alpha}: {mean} ± {error}");
            assert!(noise < 0.012, "{noise}"); // small enough to fail for the uncorrected quantile, which covers 88 % for n = 24
        }
    }
    Ok(())
}

/// Probabilities of four classes, and labels drawn from them: a calibrated model.
fn generated(n: usize) -> (Vec<f64>, Vec<usize>) {
    let mut u = vec![0.0f64; 5 * n];
    fill_uniform::<f64>(Key::new(11), &mut u);
    let (mut p, mut y) = (Vec::new(), Vec::new());
    for u in u.chunks_exact(5) {
        let weights: Vec<f64> = u[..4].iter().map(|u| -(1.0 - u).ln()).collect();
        let total: f64 = weights.iter().sum();
        let row: Vec<f64> = power(&weights.iter().map(|weight| weight / total).collect::<Vec<f64>>(), 2.0);
        let mut sum = 0.0;
        y.push(
            row.iter()
                .position(|p| {
                    sum += p;
                    u[4] < sum
                })
                .unwrap_or(3),
        );
        p.extend(row);
    }
    (p, y)
}

fn power(row: &[f64], exponent: f64) -> Vec<f64> {
    let total: f64 = row.iter().map(|p| p.powf(exponent)).sum();
    row.iter().map(|p| p.powf(exponent) / total).collect()
}

/// Mean coverage of 1000 random splits into n calibration rows and 100 others, and its standard error.
fn mean_coverage(p: &[f64], y: &[usize], m: usize, n: usize, alpha: f64) -> Result<(f64, f64)> {
    let take = |rows: &[i64]| {
        let row = |&row: &i64| p[row as usize * m..(row as usize + 1) * m].to_vec();
        let labels: Vec<f64> = rows.iter().map(|&row| y[row as usize] as f64).collect();
        (
            Tensor::from_vec(rows.iter().flat_map(row).collect::<Vec<f64>>(), [rows.len(), m]),
            Tensor::from_slice(&labels),
        )
    };
    let mut shares = Vec::new();
    for split in 0..1000 {
        let order = permutation(Key::new(5).fold(split), y.len());
        let ((p_cal, y_cal), (p_new, y_new)) = (take(&order[..n]), take(&order[n..n + 100]));
        let covered = SplitConformalClassifier::new(alpha).fit(&p_cal, &y_cal)?.sets(&p_new)?.covers(&y_new)?;
        shares.push(covered.iter().filter(|&&hit| hit).count() as f64 / 100.0);
    }
    let mean = shares.iter().sum::<f64>() / 1000.0;
    let variance = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / 999.0;
    Ok((mean, (variance / 1000.0).sqrt()))
}

#[test]
fn k6_threshold_sets_shrink_and_claim_nothing() -> Result<()> {
    let data = classes();
    let p = data.p_new.to_f64_vec();
    let mut last = vec![true; p.len()];
    for step in 0..=100 {
        let gamma = f64::from(step) / 100.0;
        let sets = ThresholdSets::new(gamma)?.sets(&data.p_new)?;
        let members = sets.tensor().to_vec::<bool>();
        assert_eq!(members, p.iter().map(|&p| p > gamma).collect::<Vec<bool>>());
        assert!(members.iter().zip(&last).all(|(now, before)| *before || !now), "a set grew at {gamma}");
        assert_eq!((sets.claim(), sets.claim().level()), (CoverageClaim::None, None));
        let printed = sets.to_string();
        assert!(!["cover", "probab", "%", "least"].iter().any(|word| printed.contains(word)), "{printed}");
        last = members;
    }
    assert!(last.iter().all(|member| !member)); // at 1 all sets are empty
    // A probability equal to the threshold is outside, and conformal sets do claim.
    assert!(ThresholdSets::new(0.5)?.sets(&Tensor::from([[0.5, 0.5]]))?.classes_of(0).is_empty());
    let sets = SplitConformalClassifier::new(0.1).fit(&data.p, &data.y)?.sets(&data.p_new)?;
    assert!(sets.to_string().contains("covered with probability at least 90 %"), "{sets}");
    assert!(ThresholdSets::new(1.5).is_err() && ThresholdSets::new(f64::NAN).is_err());
    Ok(())
}

#[test]
fn aps_is_that_of_mapie_for_the_same_random_numbers() -> Result<()> {
    let data = classes();
    let (u, u_new) = (vector(&data.all["u_cal"]), vector(&data.all["u_test"]));
    let k = u_new.numel();
    for (place, alpha) in flat(&data.all["alphas"]).into_iter().enumerate() {
        let aps = SplitConformalClassifier::new(alpha).score(SetScore::Aps { randomized: true });
        let fitted = aps.fit(ClassRows::with_uniforms(&data.p, &u), &data.y)?;
        let sets = |u: &Tensor| fitted.sets(ClassRows::with_uniforms(&data.p_new, u));
        let wanted = |name: &str| texts(&data.all["mapie"][name][place]);
        assert_eq!(bits(&sets(&u_new)?), wanted("aps_randomized"), "alpha {alpha}");
        // MAPIE's sets that are not randomized are calibrated with random numbers all the same: the class that passes the quantile is
        // kept (u = 1) or left out (u = 0), but never the first.
        assert_eq!(bits(&sets(&Tensor::from_slice(&vec![1.0; k]))?), wanted("aps_last"), "alpha {alpha}");
        let fitted = aps.never_empty().fit(ClassRows::with_uniforms(&data.p, &u), &data.y)?;
        let zeros = Tensor::from_slice(&vec![0.0; k]);
        let sets = fitted.sets(ClassRows::with_uniforms(&data.p_new, &zeros))?;
        assert_eq!(bits(&sets), wanted("aps_without_last"), "alpha {alpha}");
    }
    Ok(())
}

#[test]
fn raps_is_that_of_mapie_and_puncc_up_to_the_last_class() -> Result<()> {
    let data = classes();
    for case in items(&data.all["mapie"]["raps"]) {
        let rows: Vec<i64> = flat(&case["rows"]).iter().map(|&row| row as i64).collect();
        let rows = Tensor::from_slice(&rows);
        let (p, y) = (data.p.index_select(0, &rows), data.y.index_select(0, &rows));
        let (lambda, k_star) = (case["lambda"].as_f64().unwrap(), case["k_star"].as_f64().unwrap());
        // MAPIE chooses k on the rows that it holds out, as we do; its search for the penalty uses the penalty itself as k.
        let held: Vec<i64> = (0..170).filter(|row| !rows.to_vec::<i64>().contains(row)).collect();
        let held = Tensor::from_slice(&held);
        let alpha = case["alpha"].as_f64().unwrap();
        let tuned = tuned_raps(&data.p.index_select(0, &held), &data.y.index_select(0, &held), alpha, true)?;
        assert!(matches!(tuned, SetScore::Raps { k_reg, .. } if k_reg == k_star as usize), "{tuned:?}");
        let score = SetScore::Raps { lambda, k_reg: k_star as usize, randomized: true };
        let raps = SplitConformalClassifier::new(case["alpha"].as_f64().unwrap()).score(score);
        let (u, zeros) = (vector(&case["u"]), Tensor::from_slice(&[0.0; 80]));
        let fitted = raps.fit(ClassRows::with_uniforms(&p, &u), &y)?;
        assert_close(&[fitted.cutoff().unwrap().value], &[case["quantile"].as_f64().unwrap()], 1e-14);
        let sets = fitted.sets(ClassRows::with_uniforms(&data.p_new, &zeros))?;
        assert_eq!(with_next(&sets, &data.p_new), texts(&case["last"]));
        let sets = raps
            .never_empty()
            .fit(ClassRows::with_uniforms(&p, &u), &y)?
            .sets(ClassRows::with_uniforms(&data.p_new, &zeros))?;
        assert_eq!(bits(&sets), texts(&case["without_last"]));
    }
    let score = SetScore::Raps { lambda: 0.05, k_reg: 2, randomized: false };
    for (place, alpha) in flat(&data.all["alphas"]).into_iter().enumerate() {
        let fitted = SplitConformalClassifier::new(alpha).score(score).fit(&data.p, &data.y)?;
        let wanted = &data.all["puncc"]["raps"][place];
        assert_close(&[fitted.cutoff().unwrap().value], &[wanted["quantile"].as_f64().unwrap()], 1e-14);
        assert_eq!(with_next(&fitted.sets(&data.p_new)?, &data.p_new), texts(&wanted["sets"]), "alpha {alpha}");
    }
    Ok(())
}

#[test]
fn sets_by_group_and_by_class_are_those_of_crepes() -> Result<()> {
    let data = classes();
    let crepes = &data.all["crepes"];
    let (groups, new) = (vector(&crepes["g_cal"]), vector(&crepes["g_test"]));
    let by_group = SplitConformalClassifier::new(crepes["group_alpha"].as_f64().unwrap());
    let sets = by_group.fit_by_group(&data.p, &data.y, &groups)?.sets_by_group(&data.p_new, &new)?;
    assert_eq!(bits(&sets), texts(&crepes["by_group"]));
    let by_class = SplitConformalClassifier::new(crepes["class_alpha"].as_f64().unwrap());
    let sets = by_class.fit_by_class(&data.p, &data.y)?.sets(&data.p_new)?;
    assert_eq!(bits(&sets), texts(&crepes["by_class"]));
    Ok(())
}

#[test]
fn cross_conformal_sets_follow_the_published_rule() -> Result<()> {
    let cross = &fixture("conformal.json")["classification"]["cross"];
    let fitted = CrossConformalClassifier::new(cross["alpha"].as_f64().unwrap()).fit(
        &matrix(&cross["seen"]),
        &vector(&cross["folds"]),
        &vector(&cross["y"]),
    )?;
    let later: Vec<Tensor> = items(&cross["later"]).iter().map(matrix).collect();
    let sets = bits(&fitted.sets(&later)?);
    assert_eq!(sets, texts(&cross["rule"]));
    // MAPIE asks for α(n − 1) rows, where the p-value asks for more than α(n + 1) − 1: for n = 129 and α = 0.1, 13 rows both.
    assert_eq!(sets, texts(&cross["mapie"]));
    assert!(fitted.claim().level().is_some_and(|level| level > 0.7 && level < 0.8));
    Ok(())
}

fn ends(intervals: &PredictionIntervals) -> Vec<f64> {
    intervals.tensor().to_f64_vec()
}

#[test]
fn intervals_are_those_of_mapie_crepes_and_puncc() -> Result<()> {
    let all = &fixture("conformal.json")["regression"];
    let read = |name: &str, part: &str| vector(&all[name][part]);
    let (y, center, new) = (read("y", "cal"), read("center", "cal"), read("center", "test"));
    let intervals = SplitConformalRegressor::new(0.1).fit(&center, &y)?.intervals(&new)?;
    assert_close(&ends(&intervals), &flat(&all["mapie_absolute"]), 1e-13);
    assert_close(&ends(&intervals), &flat(&all["crepes_absolute"]), 1e-13);
    let (low, high) = (read("low", "cal"), read("high", "cal"));
    let (low_new, high_new) = (read("low", "test"), read("high", "test"));
    let quantiles = Forecast::Quantiles(&low, &high);
    let quantiles_new = Forecast::Quantiles(&low_new, &high_new);
    let intervals = SplitConformalRegressor::new(0.1).fit(quantiles, &y)?.intervals(quantiles_new)?;
    assert_close(&ends(&intervals), &flat(&all["mapie_cqr"]), 1e-13);
    assert_close(&ends(&intervals), &flat(&all["puncc_cqr"]), 1e-13);
    let intervals = SplitConformalRegressor::new(0.1).asymmetric().fit(quantiles, &y)?.intervals(quantiles_new)?;
    assert_close(&ends(&intervals), &flat(&all["mapie_cqr_asymmetric"]), 1e-13);
    let (scale, scale_new) = (read("sigma", "cal"), read("sigma", "test"));
    let groups = &all["groups"];
    let normalized = SplitConformalRegressor::new(groups["alpha"].as_f64().unwrap());
    let fitted = normalized.fit_by_group(Forecast::Scaled(&center, &scale), &y, &vector(&groups["cal"]))?;
    let intervals = fitted.intervals_by_group(Forecast::Scaled(&new, &scale_new), &vector(&groups["test"]))?;
    assert_close(&ends(&intervals), &flat(&all["crepes_normalized_by_group"]), 1e-13);
    Ok(())
}

#[test]
fn cv_plus_and_jackknife_plus_are_those_of_mapie_from_the_rows_on() -> Result<()> {
    let cross = &fixture("conformal.json")["cross"];
    let (x, y, new) = (matrix(&cross["x"]), vector(&cross["y"]), matrix(&cross["x_new"]));
    let samples = Samples::new(&x, &y)?;
    let leave_one_out: &dyn Splitter = &LeaveOneOut;
    for (name, method, splitter) in [
        ("cv_plus", CrossMethod::Plus, &KFold::new(5) as &dyn Splitter),
        ("jackknife_plus", CrossMethod::Plus, leave_one_out),
        ("cv_minmax", CrossMethod::MinMax, &KFold::new(5)),
    ] {
        let models = cross_fit(&LinearRegression::default(), &samples, splitter)?;
        let fitted = CrossConformalRegressor::new(cross["alpha"].as_f64().unwrap()).method(method).fit(
            &models.out_of_fold_predictions(&x)?,
            &models.folds(),
            &y,
        )?;
        let intervals = fitted.intervals(&models.fold_predictions(&new)?)?;
        assert_close(&ends(&intervals), &flat(&cross[name]), 1e-9);
        let level = fitted.claim().level().unwrap();
        assert!((level - if method == CrossMethod::MinMax { 0.85 } else { 0.7 }).abs() < 0.2, "{name}: {level}");
    }
    Ok(())
}

#[test]
fn false_negative_control_is_that_of_mapie_without_its_grid() -> Result<()> {
    let risk = &fixture("conformal.json")["risk"];
    let (scores, truth) = (matrix(&risk["scores"]), matrix(&risk["truth"]));
    let (s, t) = (scores.to_f64_vec(), truth.to_f64_vec());
    let grid: Vec<f64> = (0..100).map(|step| f64::from(step) * 0.01).collect();
    // The share of the true labels of a row whose score is not above the threshold; parameters are negative thresholds.
    let missed = |row: usize, threshold: f64| {
        let labels = (row * 6..row * 6 + 6).filter(|&place| t[place] == 1.0);
        labels.clone().filter(|&place| s[place] <= threshold).count() as f64 / labels.count() as f64
    };
    let losses: Vec<f64> =
        (0..150).flat_map(|row| grid.iter().rev().map(move |&g| missed(row, g)).collect::<Vec<f64>>()).collect();
    let falling: Vec<f64> = grid.iter().rev().map(|threshold| -threshold).collect();
    for (target, wanted) in flat(&risk["targets"]).into_iter().zip(flat(&risk["mapie"])) {
        let losses = Tensor::from_vec(losses.clone(), [150, 100]);
        let choice = RiskControl::fit(&Tensor::from_slice(&falling), &losses, 1.0, 1.0 - target)?;
        assert_close(&[-choice.lambda], &[wanted], 1e-12);
        // All thresholds, not only those of a grid: at most one step larger.
        let control = FalseNegativeControl::fit(&scores, &truth, 1.0 - target)?;
        assert!(
            control.threshold() > wanted && control.threshold() <= wanted + 0.01 + 1e-12,
            "{}",
            control.threshold()
        );
    }
    Ok(())
}

#[test]
fn exact_intervals_are_those_of_scipy() -> Result<()> {
    let all = fixture("conformal.json");
    for case in items(&all["clopper_pearson"]).iter().map(flat) {
        let share = Proportion::new(case[0] as usize, case[1] as usize, case[2])?;
        assert_close(&[share.low, share.high], &case[3..], 1e-10);
    }
    for case in items(&all["coverage_ranges"]).iter().map(flat) {
        let (low, high) = coverage_range(case[0] as usize, case[1], 0.9)?;
        assert_close(&[low, high], &case[2..], 1e-9);
    }
    Ok(())
}
