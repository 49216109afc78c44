//! Conditioning as a user of the estimators meets it: syllabus A14. What the decompositions report themselves is tested beside them.
#![allow(clippy::unwrap_used)]

use tove_learn::linear::{LinearRegression, Ridge};
use tove_learn::{Csr, Fit, Model, Predict};
use tove_tensor::linalg::{ILL_CONDITIONED, ILL_CONDITIONED_F32, Norm};
use tove_tensor::{DType, Tensor};

/// Two columns of equal length with mean 0, c and c + δu with u orthogonal to c: their condition number is √(1 + 4/δ²) or, within
/// δ², 2/δ. For 2 rows the mean is not 0 and the fit must be one without an intercept.
fn near_twins(rows: usize, condition: f64, dtype: DType) -> Tensor {
    let (delta, sign) = (2.0 / condition, |bit: usize| if bit.is_multiple_of(2) { 1.0 } else { -1.0 });
    let row = |i: usize| {
        let (c, u) = if rows == 2 { (1.0, sign(i)) } else { (sign(i), sign(i / 2)) };
        [c, c + delta * u]
    };
    Tensor::from_vec((0..rows).flat_map(row).collect::<Vec<f64>>(), [rows, 2]).to_dtype(dtype)
}

fn warnings(x: &Tensor, intercept: bool) -> Vec<String> {
    let rows = x.dims()[0];
    let y = Tensor::from((0..rows).map(|i| (i as f64 * 0.7).sin()).collect::<Vec<f64>>()).to_dtype(x.dtype());
    LinearRegression::default().fit_intercept(intercept).fit(x, &y).unwrap().summary().warnings.clone()
}

#[test]
fn a14_fits_warn_above_the_documented_condition_number_and_not_below() {
    tove_learn::on_warning(|_| {});
    assert_eq!((ILL_CONDITIONED, ILL_CONDITIONED_F32), (1e8, 3e3));
    for (dtype, limit) in [(DType::F64, ILL_CONDITIONED), (DType::F32, ILL_CONDITIONED_F32)] {
        // More samples than columns, with and without an intercept, and as many.
        for (rows, intercept) in [(40, true), (40, false), (4, true), (2, false)] {
            for (share, warns) in [(0.1, false), (0.8, false), (1.25, true), (20.0, true)] {
                let x = near_twins(rows, share * limit, dtype);
                let condition = x.to_dtype(DType::F64).cond(Norm::Spectral).item::<f64>();
                assert!((condition / (share * limit) - 1.0).abs() < 0.05, "{condition:e} for {:e}", share * limit);
                let heard = warnings(&x, intercept);
                let what = format!("{dtype} {rows} rows, intercept {intercept}, condition {condition:e}: {heard:?}");
                assert_eq!(heard.iter().any(|text| text.contains("condition number")), warns, "{what}");
                assert_eq!(heard.len(), usize::from(warns), "{what}");
            }
            // Equal columns have no finite condition number.
            let ones = near_twins(rows, 4.0, dtype).narrow(1, 0, 1).contiguous();
            let heard = warnings(&Tensor::concat(&[&ones, &ones], 1), intercept);
            assert!(heard.len() == 1 && heard[0].contains("1 of 2 columns are independent"), "{heard:?}");
        }
        // Fewer samples than columns: the columns are dependent however far apart the rows are.
        for delta in [1.0, 2.0 / limit] {
            let x = Tensor::from([[1.0, 1.0, 1.0], [1.0 + delta, 1.0 - delta, 1.0]]).to_dtype(dtype);
            let heard = warnings(&x, false);
            assert!(
                heard.len() == 1 && heard[0].contains("of 3 columns are independent"),
                "{dtype} {delta}: {heard:?}"
            );
        }
        // With an intercept, as many samples as columns are one too few.
        assert!(warnings(&near_twins(2, 4.0, dtype), true)[0].contains("columns are independent"));
    }
    // Many sparse columns are solved by iterations, which do not see the condition number: it is unknown, not good.
    let d = 700;
    let x = Csr::new((0..=d).collect(), (0..d as u32).collect(), Tensor::ones([d], DType::F64), d).unwrap();
    let fitted = LinearRegression::default().fit_intercept(false).fit(x, &Tensor::ones([d], DType::F64)).unwrap();
    assert!(fitted.condition().is_nan() && fitted.summary().warnings.is_empty(), "{}", fitted.condition());
}

/// A perturbation of y along the worst direction changes the coefficients by the factor 1/s_min; a ridge reduces that by a
/// hundred and more, and gives no cause for a warning.
#[test]
fn a_ridge_reduces_the_growth_of_errors_that_least_squares_warns_of() {
    tove_learn::on_warning(|_| {});
    let x = near_twins(40, 3e8, DType::F64);
    let y = x.matmul(&Tensor::from([1.0, 2.0]));
    let moved = &y + (x.narrow(1, 1, 1) - x.narrow(1, 0, 1)).reshape([40]) * (1e-8 * 3e8 / 2.0 / 40f64.sqrt());
    let growth = |fit: &dyn Fn(&Tensor) -> Vec<f64>| {
        let (a, b) = (fit(&y), fit(&moved));
        a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt() / 1e-8
    };
    let plain = growth(&|y| LinearRegression::default().fit(&x, y).unwrap().coef().to_f64_vec());
    let lifted = growth(&|y| Ridge::default().alpha(1e-6).fit(&x, y).unwrap().coef().to_f64_vec());
    assert!(plain >= 100.0 * lifted, "{plain:e} {lifted:e}");
    let ridge = Ridge::default().alpha(1e-6).fit(&x, &y).unwrap();
    assert!(ridge.summary().warnings.is_empty() && ridge.predict(&x).is_ok());
}
