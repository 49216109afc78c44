//! Drift: tests and corrections against scipy and statsmodels, profiles, reports, the classifier of old and new rows.
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use tove_tensor::{DType, Key, Tensor};
use tove_trust::drift::{
    Correction, DataColumn, DomainOptions, DriftOptions, DriftReport, DriftVerdict, ProfileOptions, ProfiledValues,
    TrainingProfile, benjamini_hochberg, compare_domains, domain_classifier, fisher_exact, holm, kolmogorov_asymptotic,
    kolmogorov_exact, pooled_chi_square, two_sample_kolmogorov, wasserstein,
};

fn fixture() -> Value {
    serde_json::from_str(include_str!("fixtures/drift.json")).unwrap()
}

fn list(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[track_caller]
fn close(found: f64, wanted: &Value, tolerance: f64) {
    let wanted = wanted.as_f64().unwrap();
    assert!((found - wanted).abs() <= tolerance * wanted.abs().max(1e-300), "found {found:e}, wanted {wanted:e}");
}

#[test]
fn two_sample_tests_equal_scipy() {
    let fixture = fixture();
    for pair in fixture["pairs"].as_object().unwrap().values() {
        let (a, b) = (list(&pair["a"]), list(&pair["b"]));
        let (d, p) = two_sample_kolmogorov(&a, &b);
        close(d, &pair["d"], 1e-14);
        close(p, &pair["p"], 1e-9);
        assert_eq!(two_sample_kolmogorov(&b, &a).0, d);
        close(wasserstein(&a, &b), &pair["wasserstein"], 1e-12);
    }
    for case in fixture["exact"].as_array().unwrap() {
        let size = |name: &str| case[name].as_u64().unwrap() as usize;
        close(kolmogorov_exact(case["d"].as_f64().unwrap(), size("m"), size("n")), &case["p"], 1e-9);
    }
    for case in fixture["asymptotic"].as_array().unwrap() {
        let size = |name: &str| case[name].as_u64().unwrap() as usize;
        let p = kolmogorov_asymptotic(case["d"].as_f64().unwrap(), size("m"), size("n"));
        // scipy has exact methods in the body, the expansion of Pelz and Good has errors of 1/n².
        assert!((p - case["p"].as_f64().unwrap()).abs() < 1e-7, "{p} {case}");
        if case["p"].as_f64().unwrap() < 1e-4 {
            close(p, &case["p"], 1e-6);
        }
    }
}

#[test]
fn exact_and_asymptotic_p_values_agree_for_large_samples() {
    for d in [0.03, 0.05, 0.08] {
        let (exact, limit) = (kolmogorov_exact(d, 1500, 2500), kolmogorov_asymptotic(d, 1500, 2500));
        assert!((exact - limit).abs() < 0.02 * exact + 1e-9, "{d}: {exact} {limit}");
    }
}

#[test]
fn tests_of_counts_and_corrections_equal_scipy_and_statsmodels() {
    let fixture = fixture();
    for case in fixture["shares"].as_array().unwrap() {
        let test = pooled_chi_square(&list(&case["a"]), &list(&case["b"]));
        assert_eq!((test.pooled, test.freedom as u64), (0, case["freedom"].as_u64().unwrap()));
        close(test.statistic, &case["statistic"], 1e-12);
        close(test.p, &case["p"], 1e-10);
    }
    for case in fixture["fisher"].as_array().unwrap() {
        let table: Vec<usize> = list(&case["table"]).iter().map(|x| *x as usize).collect();
        close(fisher_exact((table[0], table[1]), (table[2], table[3])), &case["p"], 1e-9);
    }
    for case in fixture["corrections"].as_array().unwrap() {
        let p = list(&case["p"]);
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-14 * b);
        assert!(near(&holm(&p), &list(&case["holm"])) && near(&benjamini_hochberg(&p), &list(&case["bh"])));
    }
    assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
}

#[test]
fn small_cells_are_pooled_until_the_pool_is_large_enough() {
    let test = pooled_chi_square(&[1.0, 1.0, 20.0, 30.0], &[0.0, 1.0, 25.0, 25.0]);
    assert_eq!((test.pooled, test.freedom), (3, 1)); // the pool of the two rare ones takes the next
    let one = pooled_chi_square(&[3.0], &[4.0]);
    assert_eq!((one.statistic, one.p), (0.0, 1.0));
    assert_eq!(pooled_chi_square(&[], &[]).p, 1.0);
}

/// Rows of two numeric columns and a category, the first moved by `shift`.
fn table(seed: u64, rows: usize, shift: f64) -> Vec<DataColumn> {
    let noise = Key::new(seed).normal([2, rows], DType::F64).to_f64_vec();
    let (first, second) = noise.split_at(rows);
    let first = first.iter().enumerate().map(|(row, x)| if row % 10 == 0 { f64::NAN } else { x + shift }).collect();
    let names = second.iter().map(|x| Some(["low", "middle", "high"][usize::from(*x > -0.5) + usize::from(*x > 0.5)]));
    vec![
        DataColumn::numbers("first", first),
        DataColumn::numbers("second", second.to_vec()),
        DataColumn::categories("third", names.collect::<Vec<_>>()),
    ]
}

#[test]
fn reports_find_what_moved_and_stay_quiet_otherwise() {
    let options = ProfileOptions::default();
    let profile = TrainingProfile::new(&table(1, 3000, 0.0), &options).unwrap();
    assert!(!profile.is_complete() && profile.sampled() == 2000);
    let quiet = DriftReport::new(&profile, &table(2, 500, 0.0), &DriftOptions::default()).unwrap();
    assert_eq!((quiet.verdict, quiet.tests, quiet.drifted().count()), (DriftVerdict::NotFound, 4, 0));
    assert!(quiet.to_string().contains("not a proof"));
    let moved = DriftReport::new(&profile, &table(2, 500, 1.0), &DriftOptions::default()).unwrap();
    let names: Vec<&str> = moved.drifted().map(|column| column.name.as_str()).collect();
    assert_eq!((moved.verdict, &names[..]), (DriftVerdict::Large, &["first"][..]));
    let first = moved.drifted().next().unwrap();
    assert!((first.wasserstein.unwrap() - 1.0).abs() < 0.1 && first.psi > 0.25);
    assert!(moved.to_string().contains("the guarantees do not apply"));
    let json = moved.to_json();
    assert!(json["verdict"] == "large drift" && json["columns"][0]["name"] == "first" && json["alpha"] == 0.05);
}

#[test]
fn the_family_of_tests_keeps_its_false_alarm_rate() {
    let rounds = 200;
    let alarm = |round: u64| {
        let profile = TrainingProfile::new(&table(2 * round, 150, 0.0), &ProfileOptions::default()).unwrap();
        let report = DriftReport::new(&profile, &table(2 * round + 1, 120, 0.0), &DriftOptions::default()).unwrap();
        usize::from(report.drifted().next().is_some())
    };
    let alarms: usize = (0..rounds).map(alarm).sum();
    assert!(alarms <= 18, "{alarms} false alarms of {rounds}"); // 10 expected at most, 18 is + 2.6 deviations
}

#[test]
fn missing_values_new_categories_and_absent_columns_are_named() {
    let mut now = table(2, 500, 0.0);
    let profile = TrainingProfile::new(&table(1, 1000, 0.0), &ProfileOptions::default()).unwrap();
    now[0] = DataColumn::numbers("first", vec![f64::NAN; 500]);
    now[2] = DataColumn::categories("third", (0..500).map(|row| Some(if row < 400 { "low" } else { "new" })));
    now[1].name = "other".into();
    let report = DriftReport::new(&profile, &now, &DriftOptions::default()).unwrap();
    assert_eq!((&report.absent[..], &report.ignored[..]), (&["second".to_owned()][..], &["other".to_owned()][..]));
    let column = |name: &str| report.columns.iter().find(|column| column.name == name).unwrap();
    assert!(column("first").missing_drifted && column("first").test.is_none());
    assert_eq!(column("third").unseen, [("new".to_owned(), 100)]);
    let text = report.to_string();
    assert!(text.contains("new (100 rows)") && text.contains("Absent columns: second"), "{text}");
    let few = Correction::BenjaminiHochberg;
    let options = DriftOptions { correction: few, ..DriftOptions::default() };
    assert!(DriftReport::new(&profile, &now, &options).unwrap().to_string().contains("expected to be false alarms"));
}

#[test]
fn profiles_survive_json_and_damaged_ones_are_refused() {
    let options = ProfileOptions { sample: 50, categories: 2, ..ProfileOptions::default() };
    let profile = TrainingProfile::new(&table(1, 300, 0.0), &options).unwrap();
    let json = profile.to_json();
    let again = TrainingProfile::from_json(&serde_json::from_str(&json.to_string()).unwrap()).unwrap();
    assert_eq!(again.to_json(), json);
    assert!(matches!(&again.columns()[2].values, ProfiledValues::Categories { other, .. } if *other > 0));
    let report = |profile| DriftReport::new(profile, &table(2, 100, 0.0), &DriftOptions::default()).unwrap();
    assert_eq!(report(&again), report(&profile));
    // Every entry taken out or replaced is refused, or changes nothing that the reader relies on; none panics.
    for name in ["version", "rows", "sampled", "joint", "columns"] {
        for wrong in [Value::Null, Value::from(-1), Value::from(1e300), Value::from("x"), Value::from(0)] {
            let mut json = json.clone();
            json[name] = wrong;
            assert!(TrainingProfile::from_json(&json).is_err(), "{name}");
        }
    }
    for column in 0..3 {
        for name in ["name", "missing", "kind", "sample", "categories", "counts", "other"] {
            for wrong in [Value::Null, Value::from(400), Value::from("x"), Value::from(vec![1])] {
                let mut json = json.clone();
                if json["columns"][column].get(name).is_some() && !(name == "name" && wrong == "x") {
                    json["columns"][column][name] = wrong;
                    assert!(TrainingProfile::from_json(&json).is_err(), "{column} {name}");
                }
            }
        }
    }
    let mut json = profile.to_json();
    json["version"] = Value::from(2);
    assert!(TrainingProfile::from_json(&json).unwrap_err().to_string().contains("version 2"));
}

#[test]
fn bad_tables_are_refused_with_a_reason() {
    let options = ProfileOptions::default();
    let text = |columns: &[DataColumn]| TrainingProfile::new(columns, &options).unwrap_err().to_string();
    let numbers = |name: &str, values: &[f64]| DataColumn::numbers(name, values.to_vec());
    assert!(text(&[]).contains("no columns"));
    assert!(text(&[numbers("a", &[])]).contains("no rows"));
    assert!(text(&[numbers("a", &[1.0]), numbers("b", &[1.0, 2.0])]).contains("`b` has 2 rows"));
    assert!(text(&[numbers("a", &[1.0]), numbers("a", &[1.0])]).contains("two columns"));
    assert!(text(&[numbers("a", &[1.0, f64::INFINITY])]).contains("inf in row 1"));
    let none = ProfileOptions { sample: 0, ..options };
    assert!(TrainingProfile::new(&[numbers("a", &[1.0])], &none).is_err());
    let profile = TrainingProfile::new(&[numbers("a", &[1.0, 2.0])], &options).unwrap();
    let compare = |columns: &[DataColumn], alpha| {
        DriftReport::new(&profile, columns, &DriftOptions { alpha, ..DriftOptions::default() })
    };
    assert!(compare(&[numbers("a", &[1.0])], 0.0).is_err());
    assert!(compare(&[numbers("b", &[1.0])], 0.05).unwrap_err().to_string().contains("none of the columns"));
    let other = DataColumn::categories("a", [Some("x")]);
    assert!(compare(&[other], 0.05).unwrap_err().to_string().contains("held numbers"));
    // One row, constant columns, all missing: answers without NaN.
    for values in [vec![1.0], vec![f64::NAN], vec![1e300; 3], vec![-1.7e308, 1.7e308]] {
        let report = compare(&[numbers("a", &values)], 0.05).unwrap();
        let column = &report.columns[0];
        assert!([column.p, column.adjusted, column.psi, column.missing_now].iter().all(|x| x.is_finite()));
        assert!(column.relative.is_none_or(f64::is_finite) && column.wasserstein.is_none_or(f64::is_finite));
    }
}

#[test]
fn a_classifier_sees_a_changed_correlation_that_no_column_shows() {
    let pair = |seed: u64, rows: usize, sign: f64| {
        let noise = Key::new(seed).normal([2, rows], DType::F64).to_f64_vec();
        let first: Vec<f64> = noise[..rows].to_vec();
        let second = first.iter().zip(&noise[rows..]).map(|(a, b)| 0.8 * sign * a + 0.6 * b).collect();
        vec![DataColumn::numbers("a", first), DataColumn::numbers("b", second)]
    };
    let profile = TrainingProfile::new(&pair(1, 400, 1.0), &ProfileOptions::default()).unwrap();
    let options = DomainOptions::default();
    let changed = pair(3, 300, -1.0);
    let report = DriftReport::new(&profile, &changed, &DriftOptions::default()).unwrap();
    assert_eq!(report.verdict, DriftVerdict::NotFound);
    let domain = domain_classifier(&profile, &changed, &options).unwrap();
    assert!(domain.low > 0.7 && domain.p < 1e-6 && domain.scores.len() == 300);
    assert!(domain.to_string().starts_with("old and new rows can be distinguished"));
    assert_eq!(domain.to_json()["auc"], domain.auc);
    let same = domain_classifier(&profile, &pair(4, 300, 1.0), &options).unwrap();
    assert!(same.p > 0.05 && same.low < 0.5, "{same:?}");
    let permuted = domain_classifier(&profile, &changed, &DomainOptions { permutations: 9, ..options }).unwrap();
    assert_eq!((permuted.p, permuted.auc), (0.1, domain.auc));
    let sorted = ProfileOptions { joint: false, ..ProfileOptions::default() };
    let apart = TrainingProfile::new(&pair(1, 400, 1.0), &sorted).unwrap();
    assert!(domain_classifier(&apart, &changed, &options).is_err());
}

#[test]
fn equal_rows_are_not_distinguished_and_bad_ones_are_refused() {
    let ones = Tensor::ones([20, 2], DType::F64);
    let model = tove_learn::LogisticRegression::default();
    let options = DomainOptions::default();
    let equal = compare_domains(&ones, &ones, &model, &options).unwrap();
    assert_eq!((equal.auc, equal.p), (0.5, 1.0));
    assert!(compare_domains(&ones, &Tensor::ones([20, 3], DType::F64), &model, &options).is_err());
    assert!(compare_domains(&ones, &Tensor::ones([2, 2], DType::F64), &model, &options).is_err());
    assert!(compare_domains(&ones, &Tensor::full([20, 2], f64::NAN, DType::F64), &model, &options).is_err());
    assert!(compare_domains(&ones, &ones, &model, &DomainOptions { folds: 1, ..options }).is_err());
    let constant = DataColumn::numbers("a", vec![1.0; 30]);
    let profile = TrainingProfile::new(std::slice::from_ref(&constant), &ProfileOptions::default()).unwrap();
    assert_eq!(domain_classifier(&profile, &[constant], &options).unwrap().auc, 0.5);
}
