//! What conformal prediction refuses, with its explanations, and what its files hold.
#![allow(clippy::unwrap_used)]

mod calibration_rows;

use calibration_rows::{SCORES, mapped, rows, vector};
use serde_json::{Value, json};
use tove_learn::selection::Fold;
use tove_tensor::{DType, Key, Tensor};
use tove_trust::Result;
use tove_trust::conformal::{
    ClassRows, CoverageClaim, CrossConformalClassifier, CrossConformalRegressor, CrossFitted, FalseNegativeControl,
    FittedConformalClassifier, FittedConformalRegressor, FittedCrossConformalClassifier, FittedCrossConformalRegressor,
    Forecast, PredictionIntervals, PredictionSets, Proportion, RiskControl, SetScore, SmallGroups,
    SplitConformalClassifier, SplitConformalRegressor, ThresholdSets, needed_size,
};

/// Everything that a file may hold, with the type that reads it.
type Read = fn(&Value) -> Result<Value>;

fn stored() -> Result<Vec<(Value, Read)>> {
    let (p, y, g) = rows(200, Key::new(8));
    let w = vector(&(0..200).map(|row| 1.0 + f64::from(row)).collect::<Vec<f64>>());
    let folds = Tensor::from_slice(&(0..200).map(|row| row % 4).collect::<Vec<i64>>());
    let numbers = y.to_dtype(DType::F64);
    let center = vector(&vec![1.5; 200]);
    let classifier: Read = |value| Ok(FittedConformalClassifier::from_json(value)?.to_json());
    let regressor: Read = |value| Ok(FittedConformalRegressor::from_json(value)?.to_json());
    let sets = SplitConformalClassifier::new(0.1).score(SCORES[4]).seed(u64::MAX);
    let lines = SplitConformalRegressor::new(0.1);
    Ok(vec![
        (sets.fit(&p, &y)?.to_json(), classifier),
        (sets.fit_by_class(&p, &y)?.to_json(), classifier),
        (sets.fit_by_group(&p, &y, &g)?.to_json(), classifier),
        (sets.small_groups(SmallGroups::Marginal).fit_weighted(&p, &y, &w)?.to_json(), classifier),
        (lines.fit(&center, &numbers)?.to_json(), regressor),
        (lines.clone().asymmetric().fit_by_group(&center, &numbers, &g)?.to_json(), regressor),
        (lines.fit_weighted(Forecast::Scaled(&center, &center), &numbers, &w)?.to_json(), regressor),
        (CrossConformalRegressor::new(0.1).fit(&center, &folds, &numbers)?.to_json(), |value| {
            Ok(FittedCrossConformalRegressor::from_json(value)?.to_json())
        }),
        (CrossConformalClassifier::new(0.1).fit(&p, &folds, &y)?.to_json(), |value| {
            Ok(FittedCrossConformalClassifier::from_json(value)?.to_json())
        }),
        (FalseNegativeControl::fit(&p, &mapped(&p, |p| f64::from(u8::from(p > 0.25))), 0.2)?.to_json(), |value| {
            Ok(FalseNegativeControl::from_json(value)?.to_json())
        }),
    ])
}

#[test]
fn files_come_back_and_damaged_ones_are_refused() -> Result<()> {
    for (value, read) in stored()? {
        let text = value.to_string();
        let again: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read(&again)?.to_string(), text);
        // Any field missing, null, of another type or out of its range.
        for field in value.as_object().unwrap().keys() {
            let mut damaged = value.clone();
            damaged.as_object_mut().unwrap().remove(field);
            assert!(read(&damaged).is_err(), "{field} missing");
            for wrong in [Value::Null, json!("x"), json!(-1), json!([]), json!({}), json!([null]), json!([[-1]])] {
                let mut damaged = value.clone();
                damaged[field] = wrong.clone();
                // −1 is a valid threshold or risk.
                assert!(
                    read(&damaged).is_err() || ["threshold", "risk"].contains(&field.as_str()),
                    "{field} = {wrong}"
                );
            }
        }
        let mut newer = value.clone();
        newer["version"] = json!(99);
        assert!(read(&newer).unwrap_err().to_string().contains("update tove"));
        assert!(read(&json!([])).is_err());
    }
    // What comes back answers with the same bits.
    let ((p, y, g), (new, _, g_new)) = (rows(200, Key::new(8)), rows(50, Key::new(9)));
    let fitted = SplitConformalClassifier::new(0.1).score(SCORES[2]).fit_by_group(&p, &y, &g)?;
    let again = FittedConformalClassifier::from_json(&fitted.to_json())?;
    assert_eq!(again.sets_by_group(&new, &g_new)?, fitted.sets_by_group(&new, &g_new)?);
    Ok(())
}

#[test]
fn what_cannot_be_said_is_refused_with_an_explanation() -> Result<()> {
    let (p, y, g) = rows(30, Key::new(2));
    let few = SplitConformalClassifier::new(0.01).fit(&p, &y).unwrap_err().to_string();
    assert!(
        few.contains("has 30 rows") && few.contains("at least 99") && few.contains("alpha of at least 0.0323"),
        "{few}"
    );
    // Groups by name, with their size and the size needed; or merged.
    let mut odd = g.to_vec::<i64>();
    odd[0] = -7;
    let odd = Tensor::from_slice(&odd);
    let by_group = SplitConformalClassifier::new(0.2);
    let small = by_group.fit_by_group(&p, &y, &odd).unwrap_err().to_string();
    assert!(small.contains("group -7 has 1 row") && small.contains("at least 4"), "{small}");
    let merged = by_group.clone().small_groups(SmallGroups::Marginal).fit_by_group(&p, &y, &odd)?;
    assert!(merged.group_cutoffs()[0].marginal && merged.group_cutoffs()[0].cutoff.n == 30);
    assert_eq!((merged.group_cutoffs()[1].marginal, merged.claim()), (false, CoverageClaim::None));
    // Nothing is claimed of rows among which there are small or unknown groups; the others have their claim.
    assert_eq!(merged.sets_by_group(&p, &mapped(&odd, |group| group + 100.0))?.claim(), CoverageClaim::None);
    assert_eq!(merged.sets_by_group(&p, &odd)?.claim(), CoverageClaim::None);
    assert_eq!(merged.sets_by_group(&p, &g)?.claim(), CoverageClaim::ByGroup { level: 0.8 });
    let fitted = by_group.fit_by_group(&p, &y, &g)?;
    let unknown = fitted.sets_by_group(&p, &odd).unwrap_err().to_string();
    assert!(unknown.contains("group -7 was not among the calibration rows"), "{unknown}");
    assert!(fitted.sets(&p).unwrap_err().to_string().contains("by group"));
    let missing = SplitConformalClassifier::new(0.2).fit_by_class(&p, &Tensor::from_slice(&[0i64; 30])).unwrap_err();
    assert!(missing.to_string().contains("class 1 has 0 rows"), "{missing}");
    let plain = SplitConformalClassifier::new(0.2).fit(&p, &y)?;
    assert!(plain.sets_by_group(&p, &g).is_err() && plain.sets_weighted(&p, &vector(&[1.0; 30])).is_err());
    assert!(
        plain
            .sets(&Tensor::from([[0.5, 0.5]]))
            .unwrap_err()
            .to_string()
            .contains("2 classes; it was calibrated with 4")
    );
    for alpha in [0.0, 1.0, -0.5, f64::NAN, f64::INFINITY] {
        assert!(SplitConformalClassifier::new(alpha).fit(&p, &y).is_err() && needed_size(alpha).is_err());
        assert!(SplitConformalRegressor::new(alpha).fit(&vector(&[1.0; 30]), &vector(&[1.0; 30])).is_err());
    }
    let tool = SplitConformalClassifier::new(0.2);
    for lambda in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(tool.clone().score(SetScore::Raps { lambda, k_reg: 1, randomized: false }).fit(&p, &y).is_err());
    }
    let u = vector(&[0.5; 30]);
    assert!(tool.fit(ClassRows::with_uniforms(&p, &u), &y).unwrap_err().to_string().contains("not randomized"));
    let aps = tool.clone().score(SetScore::Aps { randomized: true });
    assert!(aps.fit(ClassRows::with_uniforms(&p, &vector(&[1.5; 30])), &y).is_err());
    assert!(aps.fit(ClassRows::with_uniforms(&p, &vector(&[0.5; 29])), &y).is_err());
    assert!(tool.fit(&mapped(&p, |p| 2.0 * p), &y).is_err() && tool.fit(&p, &mapped(&y, |y| y + 1.0)).is_err());
    assert!(
        tool.fit_weighted(&p, &y, &vector(&[-1.0; 30])).is_err()
            && tool.fit_weighted(&p, &y, &vector(&[0.0; 30])).is_err()
    );
    assert!(tool.fit_weighted(&p, &y, &vector(&[f64::MAX; 30])).unwrap_err().to_string().contains("overflows"));
    // Regression.
    let (one, lines) = (vector(&[1.0; 30]), SplitConformalRegressor::new(0.2));
    assert!(
        lines
            .fit(Forecast::Scaled(&one, &vector(&[0.0; 30])), &one)
            .unwrap_err()
            .to_string()
            .contains("difficulty of row 0")
    );
    assert!(lines.fit(&vector(&[f64::NAN; 30]), &one).is_err() && lines.fit(&one, &vector(&[1.0; 29])).is_err());
    assert!(lines.fit(&vector(&[-1e308; 30]), &vector(&[1e308; 30])).unwrap_err().to_string().contains("another unit"));
    assert!(
        lines.fit(&one, &one)?.intervals(Forecast::Scaled(&one, &one)).unwrap_err().to_string().contains("\"point\"")
    );
    let asymmetric = SplitConformalRegressor::new(0.06).asymmetric().fit(&one, &one).unwrap_err().to_string();
    assert!(asymmetric.contains("alpha = 0.03 needs at least 33"), "{asymmetric}");
    // Constant scores: the interval has width 0 and covers all.
    assert_eq!(lines.fit(&one, &one)?.intervals(&one)?.widths(), [0.0; 30]);
    // Folds, risks, shares, sets and intervals.
    let cross = CrossConformalRegressor::new(0.2);
    for folds in [[0i64; 30], [5; 30]] {
        assert!(cross.fit(&one, &Tensor::from_slice(&folds), &one).unwrap_err().to_string().contains("without gaps"));
    }
    let halves = Tensor::from_slice(&(0..30).map(|row| row % 2).collect::<Vec<i64>>());
    assert!(
        CrossConformalRegressor::new(0.02).fit(&one, &halves, &one).unwrap_err().to_string().contains("at least 49")
    );
    assert!(cross.fit(&one, &halves, &one)?.intervals(&Tensor::from([[1.0, 2.0, 3.0]])).is_err());
    let fold = |train: &[usize], test: &[usize]| Fold { train: train.to_vec(), test: test.to_vec() };
    for folds in [
        vec![fold(&[1], &[0])],
        vec![fold(&[1], &[0]), fold(&[1], &[0])],
        vec![fold(&[0], &[0]), fold(&[0], &[1])],
        vec![fold(&[9], &[0]), fold(&[0], &[1])],
    ] {
        assert!(CrossFitted::new(2, &folds, |_| Ok(())).is_err(), "{folds:?}");
    }
    let (lambdas, losses) = (vector(&[0.0, 1.0]), Tensor::from([[0.5, 0.6], [0.5, 0.0]]));
    assert!(RiskControl::fit(&lambdas, &losses, 1.0, 0.5).unwrap_err().to_string().contains("row 0 rises"));
    let few = RiskControl::fit(&lambdas, &Tensor::from([[0.5, 0.0]]), 1.0, 0.1).unwrap_err().to_string();
    assert!(few.contains("at least 9 rows"), "{few}");
    let bad =
        RiskControl::fit(&lambdas, &Tensor::from_vec(vec![1.0; 200], [100, 2]), 1.0, 0.1).unwrap_err().to_string();
    assert!(bad.contains("most careful parameter has a mean loss of 1"), "{bad}");
    assert!(
        RiskControl::fit(&lambdas, &losses, f64::NAN, 0.1).is_err()
            && RiskControl::fit(&vector(&[1.0, 1.0]), &losses, 1.0, 0.1).is_err()
    );
    assert!(
        FalseNegativeControl::fit(&p, &mapped(&p, |_| 0.0), 0.2)
            .unwrap_err()
            .to_string()
            .contains("no row has a true label")
    );
    assert!(Proportion::new(1, 2, 1.0).is_err());
    assert!(
        PredictionSets::new(&Tensor::from([[0.0, 0.5]])).is_err() && PredictionSets::new(&Tensor::from([1.0])).is_err()
    );
    assert!(PredictionIntervals::new(&vector(&[f64::NAN]), &vector(&[1.0])).is_err());
    assert!(ThresholdSets::new(0.5)?.sets(&Tensor::zeros([0, 3], DType::F64)).is_err());
    Ok(())
}
