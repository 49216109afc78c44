//! Parity with the Adversarial Robustness Toolbox on a logistic regression of the wine data.

use serde_json::Value;
use tove_tensor::{DType, Tensor, TryOps};
use tove_trust::robustness::{AttackNorm, Fgsm, InputRules, Pgd};

fn tensor(value: &Value) -> Tensor {
    let rows = value.as_array().unwrap();
    let width = rows[0].as_array().map_or(0, Vec::len);
    let flat = |row: &Value| row.as_array().cloned().unwrap_or_else(|| vec![row.clone()]);
    let values: Vec<f64> = rows.iter().flat_map(flat).map(|v| v.as_f64().unwrap()).collect();
    if width == 0 { Tensor::from(values) } else { Tensor::from_vec(values, [rows.len(), width]) }
}

#[test]
fn attacks_on_a_logistic_regression_equal_those_of_art() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/attacks_art.json");
    let fixture: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let get = |name: &str| tensor(&fixture[name]);
    let (coef, intercept) = (get("coef").t().contiguous(), get("intercept"));
    let model = |x: &Tensor| Ok(x.try_matmul(&coef)?.try_add(&intercept)?);
    let (x, y) = (get("x"), get("y").to_dtype(DType::I64));
    let close = |name: &str, found: &Tensor| {
        let expected = tensor(&fixture[name]["x"]);
        let gap = (found - &expected).abs().max().item::<f64>();
        assert!(gap < 1e-6, "{name}: {gap:e}"); // ART computes in single precision
    };
    let eps = |name: &str| fixture[name]["eps"].as_f64().unwrap();
    for (name, norm) in [("fgm_inf", AttackNorm::LInf), ("fgm_2", AttackNorm::L2)] {
        let step = Fgsm::new(norm).rules(InputRules::range(0.0, 1.0)).perturb(&model, &x, &y, eps(name)).unwrap();
        close(name, &step);
    }
    let range = InputRules::range(0.0, 1.0);
    for (name, norm, rules) in
        [("pgd_inf", AttackNorm::LInf, range), ("pgd_2", AttackNorm::L2, InputRules::unbounded())]
    {
        let part = fixture[name]["step"].as_f64().unwrap() / eps(name);
        let attack = Pgd::new(norm).steps(12).relative_step(part).random_start(false).rules(rules);
        close(name, &attack.perturb(&model, &x, &y, eps(name)).unwrap());
    }
}
