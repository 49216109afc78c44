//! Parity with foolbox: a small net, the same starts, steps and ranges.

use serde_json::Value;
use tove_tensor::{DType, Tensor, TryOps};
use tove_trust::Result;
use tove_trust::robustness::{AttackNorm, Fgsm, InputRules, Pgd};

use crate::toys::{labels, predicted};

struct Fixture(Value);

impl Fixture {
    fn read() -> Fixture {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/attacks_foolbox.json");
        Fixture(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    }

    fn tensor(value: &Value) -> Tensor {
        let rows = value.as_array().unwrap();
        let flat = |row: &Value| {
            row.as_array()
                .map_or_else(|| vec![row.as_f64().unwrap()], |row| row.iter().map(|v| v.as_f64().unwrap()).collect())
        };
        let values: Vec<f64> = rows.iter().flat_map(flat).collect();
        let shape = if rows[0].is_array() { vec![rows.len(), values.len() / rows.len()] } else { vec![rows.len()] };
        Tensor::from_vec(values, shape).to_dtype(DType::F32)
    }

    fn get(&self, name: &str) -> Tensor {
        Fixture::tensor(&self.0[name])
    }

    fn labels(&self) -> Tensor {
        self.get("labels").to_dtype(DType::I64)
    }

    fn net(&self) -> impl Fn(&Tensor) -> Result<Tensor> + use<> {
        let [w1, b1, w2, b2] = ["w1", "b1", "w2", "b2"].map(|name| self.get(name));
        move |x: &Tensor| {
            let hidden = x.try_matmul(&w1.t())?.try_add(&b1)?.tanh();
            Ok(hidden.try_matmul(&w2.t())?.try_add(&b2)?)
        }
    }

    /// Compares inputs norm-wise to 1e-5, and the successes.
    fn compare(&self, name: &str, inputs: &Tensor) {
        let expected = Fixture::tensor(&self.0[name]["x"]);
        let (a, b) = (inputs.to_f64_vec(), expected.to_f64_vec());
        let gap = a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
        let size = b.iter().map(|b| b * b).sum::<f64>().sqrt();
        assert!(gap <= 1e-5 * size, "{name}: {gap:e} of {size:e}");
        let wrong: Vec<bool> =
            self.0[name]["success"].as_array().unwrap().iter().map(|v| v.as_bool().unwrap()).collect();
        let truth = self.labels().to_vec::<i64>();
        let found: Vec<bool> = predicted(&self.net(), inputs).iter().zip(truth).map(|(a, b)| *a as i64 != b).collect();
        assert_eq!(found, wrong, "{name}");
    }

    fn eps(&self, name: &str) -> f64 {
        self.0[name]["eps"].as_f64().unwrap()
    }
}

fn range() -> InputRules {
    InputRules::range(0.0, 1.0)
}

/// The l∞ and l2 one-step attacks of foolbox.
pub fn one_step_attacks_agree() {
    let fixture = Fixture::read();
    let (net, x, y) = (fixture.net(), fixture.get("x"), fixture.labels());
    let scores = net(&x).unwrap();
    assert!(scores.allclose(&fixture.get("scores"), 1e-5, 1e-5));
    for (name, norm) in [("fgsm", AttackNorm::LInf), ("fgm", AttackNorm::L2)] {
        let step = Fgsm::new(norm).rules(range()).perturb(&net, &x, &y, fixture.eps(name)).unwrap();
        fixture.compare(name, &step);
        // All rows are right at first, so that an attack gives the same.
        let attack = Fgsm::new(norm).rules(range()).run(&net, &x, &y, fixture.eps(name)).unwrap();
        assert_eq!(attack.inputs.to_vec::<f32>(), step.to_vec::<f32>());
    }
}

/// PGD of foolbox in this norm, from the input and from given starts.
pub fn projected_gradients_agree(norm: AttackNorm) {
    let fixture = Fixture::read();
    let (net, x, y) = (fixture.net(), fixture.get("x"), fixture.labels());
    let (plain, started) =
        if norm == AttackNorm::L2 { ("l2_pgd", "l2_pgd_started") } else { ("linf_pgd", "linf_pgd_started") };
    let attack = Pgd::new(norm).steps(20).relative_step(0.15).random_start(false).rules(range());
    fixture.compare(plain, &attack.perturb(&net, &x, &y, fixture.eps(plain)).unwrap());
    let starts = Fixture::tensor(&fixture.0["starts"][norm.name()]);
    fixture.compare(started, &attack.perturb_from(&net, &x, &y, fixture.eps(started), &starts).unwrap());
    // A search that ends early breaks the same rows.
    let found = attack.run(&net, &x, &y, fixture.eps(plain)).unwrap();
    let wrong = fixture.0[plain]["success"].as_array().unwrap().iter().map(|v| v.as_bool().unwrap());
    assert!(found.success.iter().zip(wrong).all(|(own, other)| *own || !other));
    assert!(labels(&predicted(&net, &x)).to_vec::<i64>() == y.to_vec::<i64>());
}
