//! Least squares and ridge against LAPACK, scikit-learn and statsmodels, the hard cases among them.
#![allow(clippy::unwrap_used)]

mod common;

use common::{FitWeighted, assert_close, fixture, large, matrix, numbers};
use serde_json::Value;
use tove_learn::linear::{LinearRegression, Ridge, RidgeCv, RidgeSolver};
use tove_learn::{Csr, Fit, Model, Predict};
use tove_tensor::{DType, Key, Tensor, num_threads, set_num_threads};

fn cases() -> Vec<(String, Tensor, Tensor, Value)> {
    let all = fixture("linear.json");
    let cases = all["cases"].as_object().unwrap();
    cases
        .iter()
        .map(|(name, case)| {
            let (x, y) = if name == "diabetes" {
                common::data("diabetes")
            } else {
                (matrix(&case["x"]), Tensor::from_slice(&numbers(&case["y"])))
            };
            (name.clone(), x, y, case.clone())
        })
        .collect()
}

/// Coefficients in units of their columns' spread, and the intercept in those of the target: badly scaled columns count too.
fn scaled(x: &Tensor, coef: &[f64]) -> Vec<f64> {
    let d = coef.len();
    let rows = x.to_f64_vec();
    let n = rows.len() / d;
    (0..d)
        .map(|j| {
            let mean = (0..n).map(|i| rows[i * d + j]).sum::<f64>() / n as f64;
            let spread = ((0..n).map(|i| (rows[i * d + j] - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
            coef[j] * spread.max(1e-30)
        })
        .collect()
}

#[test]
fn least_squares_like_lapack_on_every_case() {
    for (name, x, y, case) in cases() {
        let model = LinearRegression::default().fit(&x, &y).unwrap();
        let wanted = numbers(&case["lstsq"]["coef"]);
        let tolerance = if name == "near_collinear" { 1e-7 } else { 1e-9 };
        println!("{name}: condition {:.2e} rank {}", model.condition(), model.rank());
        assert_close(&scaled(&x, &model.coef().to_f64_vec()), &scaled(&x, &wanted), tolerance);
        if name != "shifted" {
            assert_close(&model.intercept().to_f64_vec(), &numbers(&case["lstsq"]["intercept"]), 1e-7);
        }
        let rank = case["lstsq"]["rank"].as_u64().unwrap() as usize;
        assert_eq!(model.rank(), rank, "{name}");
        let warned = !model.summary().warnings.is_empty();
        assert_eq!(warned, rank < x.dims()[1], "{name}"); // dependent columns, as always with few samples
    }
}

#[test]
fn ridge_like_scikit_learn_on_every_case() {
    for (name, x, y, case) in cases() {
        for entry in case["ridge"].as_array().unwrap() {
            let alpha = entry["alpha"].as_f64().unwrap();
            let wanted = numbers(&entry["coef"]);
            let model = Ridge::default().alpha(alpha).fit(&x, &y).unwrap();
            let found = model.coef().to_f64_vec();
            println!("{name} {alpha}: {:e}", common::error(&scaled(&x, &found), &scaled(&x, &wanted)));
            // scikit-learn's own singular values lose digits on columns with a mean of 10⁶, or of lengths 10¹⁶ apart.
            let hard = ["shifted", "badly_scaled"].contains(&name.as_str());
            assert_close(&scaled(&x, &found), &scaled(&x, &wanted), if hard { 1e-7 } else { 1e-9 });
            let svd = Ridge::default().alpha(alpha).solver(RidgeSolver::Svd).fit(&x, &y).unwrap();
            assert_close(&scaled(&x, &svd.coef().to_f64_vec()), &scaled(&x, &wanted), if hard { 1e-6 } else { 1e-9 });
            let lsqr = Ridge::default().alpha(alpha).solver(RidgeSolver::Lsqr).fit(&x, &y).unwrap();
            if !["badly_scaled", "shifted", "diabetes"].contains(&name.as_str()) {
                assert_close(&lsqr.coef().to_f64_vec(), &wanted, 1e-6);
            }
        }
        if let Some(bare) = case.get("ridge_bare") {
            let model = Ridge::default().alpha(0.7).fit_intercept(false).fit(&x, &y).unwrap();
            assert_close(&model.coef().to_f64_vec(), &numbers(&bare["coef"]), 1e-9);
            assert_eq!(model.intercept().item::<f64>(), 0.0);
        }
    }
}

#[test]
fn ridge_path_and_leave_one_out_like_scikit_learn() {
    for (name, x, y, case) in cases() {
        let Some(cv) = case.get("ridge_cv") else { continue };
        let alphas = numbers(&cv["alphas"]);
        let path = Ridge::default().path(&x, &y, &alphas).unwrap();
        for (place, &alpha) in alphas.iter().enumerate() {
            let one = Ridge::default().alpha(alpha).fit(&x, &y).unwrap();
            let row = path.coefs.narrow(0, place, 1).to_f64_vec();
            assert_close(&scaled(&x, &row), &scaled(&x, &one.coef().to_f64_vec()), 1e-8);
        }
        let model = RidgeCv::default().with_alphas(&alphas).fit(&x, &y).unwrap();
        if ["constant_target", "badly_scaled"].contains(&name.as_str()) {
            continue; // all errors are zero; eigenvalues 10³² apart: both choose among rounding errors
        }
        println!("{name}: {:?}", model.leave_one_out_errors());
        assert_close(model.leave_one_out_errors(), &numbers(&cv["errors"]), 1e-7);
        assert_eq!(model.alpha(), cv["alpha"].as_f64().unwrap(), "{name}");
        assert_close(&scaled(&x, &model.coef().to_f64_vec()), &scaled(&x, &numbers(&cv["coef"])), 1e-7);
    }
}

#[test]
fn leave_one_out_errors_are_those_of_fits_without_the_sample() {
    let (x, y) = (Key::new(3).normal([25, 3], DType::F64), Key::new(4).normal([25], DType::F64));
    for intercept in [true, false] {
        let model = RidgeCv::default().with_alphas(&[0.5]).fit_intercept(intercept).fit(&x, &y).unwrap();
        let mut sum = 0.0;
        for left in 0..25usize {
            let rows: Vec<i64> = (0..25).filter(|&row| row != left as i64).collect();
            let rows = Tensor::from_slice(&rows);
            let part = Ridge::default().alpha(0.5).fit_intercept(intercept);
            let part = part.fit(x.index_select(0, &rows), &y.index_select(0, &rows)).unwrap();
            let guess = part.predict(x.narrow(0, left, 1)).unwrap().at::<f64>(&[0]);
            sum += (y.at::<f64>(&[left]) - guess).powi(2) / 25.0;
        }
        assert_close(model.leave_one_out_errors(), &[sum], 1e-10);
    }
}

#[test]
fn weights_and_several_outputs_like_scikit_learn() {
    let all = fixture("linear.json");
    let x = matrix(&all["cases"]["plain"]["x"]);
    let case = &all["weighted"];
    let (y, w) = (matrix(&case["y"]), Tensor::from_slice(&numbers(&case["weights"])));
    let linear = LinearRegression::default().fit_weighted(&x, &y, &w).unwrap();
    assert_eq!(linear.coef().dims(), [3, 5]);
    assert_close(&linear.coef().to_f64_vec(), &numbers(&case["linear"]["coef"]), 1e-10);
    assert_close(&linear.intercept().to_f64_vec(), &numbers(&case["linear"]["intercept"]), 1e-10);
    let ridge = Ridge::default().alpha(2.0).fit_weighted(&x, &y, &w).unwrap();
    assert_close(&ridge.coef().to_f64_vec(), &numbers(&case["ridge"]["coef"]), 1e-10);
    assert_eq!(ridge.predict(&x).unwrap().dims(), [40, 3]);
    let first = Tensor::from_slice(&numbers(&all["cases"]["plain"]["y"]));
    let cv = RidgeCv::default().fit_weighted(&x, &first, &w).unwrap();
    assert_eq!(cv.alpha(), case["ridge_cv"]["alpha"].as_f64().unwrap());
    assert_close(&cv.coef().to_f64_vec(), &numbers(&case["ridge_cv"]["coef"]), 1e-10);
}

#[test]
fn standard_errors_like_statsmodels() {
    for (name, x, y, case) in cases() {
        let Some(ols) = case.get("ols") else { continue };
        let model = LinearRegression::default().fit(&x, &y).unwrap();
        let report = model.report(&x, &y).unwrap();
        assert_close(&report.estimates, &numbers(&ols["params"]), 1e-9);
        assert_close(&report.standard_errors, &numbers(&ols["bse"]), 1e-9);
        assert_close(&report.t_values, &numbers(&ols["tvalues"]), 1e-9);
        assert_close(
            &[report.residual_variance, report.r_squared],
            &[ols["scale"].as_f64().unwrap(), ols["r2"].as_f64().unwrap()],
            1e-10,
        );
        assert!(report.to_string().contains("intercept"), "{name}");
    }
    let x = Tensor::from([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [4.0, 8.0]]);
    let y = Tensor::from([1.0, 2.0, 3.0, 5.0]);
    let error = LinearRegression::default().fit(&x, &y).unwrap().report(&x, &y).unwrap_err().to_string();
    assert!(error.contains("dependent"), "{error}");
}

/// A tall matrix with a given condition number, its coefficients, and a target with little noise.
fn ill_conditioned(n: usize, d: usize, condition: f64) -> (Tensor, Tensor, Vec<f64>) {
    let noise = Key::new(21).normal([n, d], DType::F64);
    let turn = tove_tensor::linalg::qr(&Key::new(22).normal([d, d], DType::F64)).unwrap().q;
    let scales: Vec<f64> = (0..d).map(|j| condition.powf(-(j as f64) / (d - 1) as f64)).collect();
    let x = (&noise * &Tensor::from_slice(&scales)).matmul(&turn);
    let w = Key::new(23).normal([d], DType::F64);
    let y = &x.matmul(&w) + 3.0;
    (x, y, w.to_f64_vec())
}

#[test]
fn coefficients_at_condition_ten_million_are_as_good_as_lapacks() {
    let (x, y, w) = ill_conditioned(3000, 20, 1e7);
    let model = LinearRegression::default().fit(&x, &y).unwrap();
    assert!(model.condition() > 1e5, "{:e}", model.condition());
    // The truth is known: LAPACK's own error here is about κ ε ≈ 1e-9.
    let mine = common::error(&model.coef().to_f64_vec(), &w);
    let centred = &x - &x.mean_axes(&[0], true);
    let reference = tove_tensor::linalg::lstsq(&centred, &(&y - &y.mean()), None).unwrap().solution.to_f64_vec();
    let theirs = common::error(&reference, &w);
    println!("error {mine:e}, by singular values {theirs:e}");
    assert!(mine < 1e-8 && mine < 5.0 * theirs.max(1e-11));
    let residual = (model.predict(&x).unwrap() - &y).norm(2.0).item::<f64>() / y.norm(2.0).item::<f64>();
    assert!(residual < 1e-13, "{residual:e}");
}

#[test]
fn dense_sparse_and_single_precision_agree_and_the_number_of_threads_does_not_matter() {
    let x = Key::new(31).normal([500, 12], DType::F64).relu();
    let y = Key::new(32).normal([500], DType::F64);
    let sparse = Csr::from_dense(&x).unwrap();
    let dense = LinearRegression::default().fit(&x, &y).unwrap();
    let from_sparse = LinearRegression::default().fit(&sparse, &y).unwrap();
    assert_close(&from_sparse.coef().to_f64_vec(), &dense.coef().to_f64_vec(), 1e-12);
    let lsqr = Ridge::default().solver(RidgeSolver::Lsqr).fit(&sparse, &y).unwrap();
    let ridge = Ridge::default().fit(&x, &y).unwrap();
    assert_close(&lsqr.coef().to_f64_vec(), &ridge.coef().to_f64_vec(), 1e-9);
    let single = LinearRegression::default().fit(x.to_dtype(DType::F32), &y).unwrap();
    assert_eq!(single.coef().dtype(), DType::F32);
    assert_close(&single.coef().to_f64_vec(), &dense.coef().to_f64_vec(), 1e-6);
    // Enough rows for several parts, and the same bits for any number of threads.
    let x = Key::new(33).normal([20_000, 12], DType::F64).relu();
    let y = Key::new(34).normal([20_000], DType::F64);
    let sparse = Csr::from_dense(&x).unwrap();
    let before = num_threads();
    let fits: Vec<[Vec<f64>; 3]> = [1, 2, 3, 8]
        .into_iter()
        .map(|threads| {
            set_num_threads(threads);
            let dense = LinearRegression::default().fit(&x, &y).unwrap();
            let from_sparse = LinearRegression::default().fit(&sparse, &y).unwrap();
            let lsqr = Ridge::default().solver(RidgeSolver::Lsqr).fit(&sparse, &y).unwrap();
            [dense.coef(), from_sparse.coef(), lsqr.coef()].map(Tensor::to_f64_vec)
        })
        .collect();
    set_num_threads(before);
    fits.iter().for_each(|fit| assert_eq!(*fit, fits[0]));
}

/// A wide sparse matrix, where no Gram matrix is formed.
#[test]
fn wide_sparse_rows_are_solved_by_iterations() {
    let (n, d) = (300usize, 3000usize);
    let picks = Key::new(41).uniform([n, 8], DType::F64).to_f64_vec();
    let (mut indptr, mut indices) = (vec![0], Vec::new());
    for row in picks.chunks(8) {
        let mut columns: Vec<u32> = row.iter().map(|u| (u * d as f64) as u32).collect();
        columns.sort_unstable();
        columns.dedup();
        indices.extend(columns);
        indptr.push(indices.len());
    }
    let count = indices.len();
    let x = Csr::new(indptr, indices, Tensor::ones([count], DType::F64), d).unwrap();
    let y = Key::new(42).normal([n], DType::F64);
    let sparse = Ridge::default().alpha(0.5).fit(&x, &y).unwrap();
    let dense = Ridge::default().alpha(0.5).fit(x.to_dense().unwrap(), &y).unwrap();
    assert_close(&sparse.coef().to_f64_vec(), &dense.coef().to_f64_vec(), 1e-8);
    assert_close(&sparse.intercept().to_f64_vec(), &dense.intercept().to_f64_vec(), 1e-8);
}

#[test]
fn california_housing_like_lapack_and_scikit_learn() {
    let Some(folder) = large("california-housing") else { return };
    let (x, y) = common::table(&folder.join("california_housing.csv"));
    let wanted = &fixture("linear.json")["california"];
    let model = LinearRegression::default().fit(&x, &y).unwrap();
    assert_close(&scaled(&x, &model.coef().to_f64_vec()), &scaled(&x, &numbers(&wanted["linear"]["coef"])), 1e-10);
    assert_close(&scaled(&x, &model.coef().to_f64_vec()), &scaled(&x, &numbers(&wanted["sklearn"]["coef"])), 1e-9);
    let ridge = Ridge::default().alpha(10.0).fit(&x, &y).unwrap();
    assert_close(&scaled(&x, &ridge.coef().to_f64_vec()), &scaled(&x, &numbers(&wanted["ridge"]["coef"])), 1e-9);
}

/// These fits look for gaps on their way; each of the ways must find them.
#[test]
fn features_that_are_not_finite_are_refused_by_every_solver() {
    for (n, d) in [(40, 3), (3, 8)] {
        let y = Key::new(2).normal([n], DType::F64);
        let weights = Tensor::from_vec((0..n).map(|row| if row == 1 { 0.0 } else { 1.0 }).collect(), [n]);
        for (gap, dtype) in [(f64::NAN, DType::F64), (f64::INFINITY, DType::F64), (f64::NEG_INFINITY, DType::F32)] {
            let mut values = Key::new(1).normal([n, d], DType::F64).to_f64_vec();
            values[d + 2] = gap; // in the row of weight 0
            let x = Tensor::from_vec(values, [n, d]).to_dtype(dtype);
            let sparse = Csr::from_dense(&x).unwrap();
            let mut errors = Vec::new();
            for solver in [RidgeSolver::Auto, RidgeSolver::Cholesky, RidgeSolver::Svd, RidgeSolver::Lsqr] {
                for intercept in [true, false] {
                    let ridge = Ridge::default().solver(solver).fit_intercept(intercept);
                    errors.push(ridge.fit(&x, &y).map(drop));
                    errors.push(ridge.fit(&sparse, &y).map(drop));
                    errors.push(ridge.fit_weighted(&x, &y, &weights).map(drop));
                }
            }
            for positive in [false, true] {
                let plain = LinearRegression::default().positive(positive);
                errors.push(plain.fit(&x, &y).map(drop));
                errors.push(plain.fit(&sparse, &y).map(drop));
                errors.push(plain.fit_weighted(&sparse, &y, &weights).map(drop));
            }
            for (place, error) in errors.into_iter().enumerate() {
                let error = error.expect_err(&format!("{gap} in {n} rows, fit {place}")).to_string();
                assert!(error.contains("row 1"), "{error}");
            }
        }
    }
    // Numbers whose squares are too large are no gaps.
    let x = Tensor::from([[1e200], [2e200], [4e200]]);
    let y = Tensor::from([1.0, 2.0, 4.0]);
    let error = Ridge::default().fit(&x, &y).err().map(|error| error.to_string());
    assert!(!error.clone().unwrap_or_default().contains("row"), "{error:?}");
}
