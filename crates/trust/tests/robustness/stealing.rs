//! Surrogates trained on answers, and attacks through them.

use std::cell::Cell;

use tove_tensor::Tensor;
use tove_trust::Result;
use tove_trust::robustness::{
    AttackNorm, InputRules, LabelsOnly, ModelStealing, Pgd, QueryModel, RandomNoise, StolenAnswers, Transferred,
    agreement, transfer,
};

use crate::toys::{digits, digits_net, labels, rows, scores_of};

struct Watched<'a>(&'a dyn QueryModel, Cell<u64>);

impl QueryModel for Watched<'_> {
    fn query_scores(&self, x: &Tensor) -> Result<Tensor> {
        self.1.set(self.1.get() + x.dims()[0] as u64);
        self.0.query_scores(x)
    }
}

#[test]
fn k16_stolen_models_agree_and_transfer_lies_between_noise_and_white_box() {
    // The target has seen digits 0 to 899; the thief has other ones without labels; the rest is fresh for both.
    let (x, y) = digits(0, 900);
    let net = digits_net(&x, &y, 15, 1);
    let target = scores_of(&net);
    let (own, _) = digits(900, 450);
    let (fresh, truth) = digits(1350, 447);
    let rules = InputRules::range(0.0, 1.0);
    for answers in [StolenAnswers::Labels, StolenAnswers::Scores] {
        let watched = Watched(&target, Cell::new(0));
        let thief = ModelStealing::new(3000).answers(answers).rules(rules.clone()).noise(0.15).epochs(15).seed(5);
        let stolen = thief.steal(&watched, &own).unwrap();
        assert_eq!((watched.1.get(), stolen.queries), (3000, 3000));
        let agreed = agreement(&target, &stolen, &fresh).unwrap();
        assert!(agreed > 0.9, "{answers:?}: {agreed}");
        for (norm, eps) in [(AttackNorm::LInf, 0.15), (AttackNorm::L2, 0.9)] {
            let pgd = Pgd::new(norm).steps(20).rules(rules.clone());
            let moved = transfer(&target, &fresh, &truth, |x, y| pgd.perturb(&stolen, x, y, eps)).unwrap();
            let transferred = Transferred::success_rate(&moved).unwrap();
            let white_box = pgd.run(&target, &fresh, &truth, eps).unwrap().success_rate().unwrap();
            // Noise of the same size at least: no attack succeeds by being larger. Noise on blank pixels is cut off at 0 in part, so it
            // needs a larger budget.
            let budget = if norm == AttackNorm::L2 { 1.5 * eps } else { eps };
            let noise = RandomNoise::new(norm).rules(rules.clone()).run(&target, &fresh, &truth, budget).unwrap();
            let attacked = pgd.perturb(&stolen, &fresh, &truth, eps).unwrap();
            assert!(sizes(norm, &fresh, &attacked).iter().all(|size| *size <= eps * (1.0 + 1e-6)));
            let mut drawn = sizes(norm, &fresh, &noise.inputs);
            drawn.sort_by(f64::total_cmp);
            assert!(drawn[drawn.len() / 2] > 0.99 * eps, "{norm:?}: {}", drawn[drawn.len() / 2]);
            let noise = noise.success_rate().unwrap();
            println!(
                "{answers:?} {norm:?}: agreement {agreed:.3}, noise {noise:.3} < transfer {transferred:.3} < white-box {white_box:.3}"
            );
            assert!(noise + 0.1 < transferred && transferred < white_box);
        }
    }
    // No guarantee is stated.
    assert!(include_str!("../../src/robustness/stealing.rs").contains("nothing guarantees a success"));
}

/// Sizes of the changes.
fn sizes(norm: AttackNorm, x: &Tensor, other: &Tensor) -> Vec<f64> {
    rows(x)
        .iter()
        .zip(rows(other))
        .map(|(x, other)| norm.of(&x.iter().zip(other).map(|(x, other)| other - x).collect::<Vec<f64>>()))
        .collect()
}

#[test]
fn thieves_who_see_labels_only_and_softmax_regression_work_too() {
    let (x, y) = digits(0, 900);
    let net = digits_net(&x, &y, 15, 1);
    let target = scores_of(&net);
    let (own, _) = digits(900, 450);
    let thief = ModelStealing::new(2000).hidden(&[]).rules(InputRules::range(0.0, 1.0)).epochs(20);
    let stolen = thief.steal(&LabelsOnly(&target), &own).unwrap();
    assert!(agreement(&target, &stolen, &digits(1350, 447).0).unwrap() > 0.88);
    assert!(thief.clone().answers(StolenAnswers::Scores).steal(&LabelsOnly(&target), &own).is_err());
}

#[test]
fn empty_thefts_are_refused() {
    let model = |x: &Tensor| -> Result<Tensor> { Ok(Tensor::zeros([x.dims()[0], 2], x.dtype())) };
    let x = Tensor::from([[0.5, 0.5]]);
    let text = |thief: ModelStealing| thief.steal(&model, &x).err().unwrap().to_string();
    assert!(text(ModelStealing::new(0)).contains("at least one"));
    assert!(text(ModelStealing::new(5).epochs(0)).contains("at least one"));
    assert!(text(ModelStealing::new(5).noise(f64::NAN)).contains("noise"));
    assert!(text(ModelStealing::new(5)).contains("same class"));
    let other = transfer(&model, &x, &labels(&[0]), |_, _| Ok(Tensor::from([0.5, 0.5])));
    assert!(other.err().unwrap().to_string().contains("one perturbed input per row"));
    assert_eq!(Transferred::success_rate(&[]), None);
}
