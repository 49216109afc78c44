//! Adversarial training.

use std::sync::atomic::{AtomicU64, Ordering};

use tove_data::TensorDataset;
use tove_nn::{
    Classification, Layer, Linear, Mlp, Module, ModuleExt, Pass, Progress, Rng, Sequential, Trainer, evaluate,
};
use tove_optim::Adam;
use tove_tensor::io::{WriteOptions, read_npz, write_npz};
use tove_tensor::{DType, Tensor};
use tove_trust::Result;
use tove_trust::robustness::{
    AdversarialTask, AttackLoss, AttackNorm, DifferentiableModel, InputRules, Pgd, gradient_maps, trade_off_curve,
};

use crate::toys::{digits, labels, rows};

fn range() -> InputRules {
    InputRules::range(0.0, 1.0)
}

/// Trains on digits at inputs attacked within `eps`.
fn trained(eps: f64, epochs: usize) -> Mlp {
    let (x, y) = digits(0, 1000);
    let set = TensorDataset::new(x, y).unwrap();
    let mut net = Mlp::new(&[64, 64, 10], &mut Rng::new(2));
    let inner = Pgd::new(AttackNorm::LInf).steps(5).rules(range());
    let task = AdversarialTask::new(Classification::new(), inner, eps);
    let mut trainer = Trainer::new(Adam::new(3e-3)).epochs(epochs).batch_size(64).progress(Progress::Silent);
    trainer.fit(&mut net, &task, &set, None).unwrap();
    net
}

struct Trained(Mlp);

impl DifferentiableModel for Trained {
    fn scores(&self, x: &Tensor) -> Result<Tensor> {
        Ok(self.0.forward(x, &Pass::eval())?)
    }
}

/// A layer that counts the forward passes through it.
#[derive(Module)]
struct Counted {
    inner: Linear,
    #[module(skip)]
    calls: AtomicU64,
}

impl Layer for Counted {
    fn forward(&self, x: &Tensor, pass: &Pass) -> tove_nn::Result<Tensor> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.inner.forward(x, pass)
    }
}

#[test]
fn k17_adversarial_training_is_robust_costs_its_inner_steps_and_trades_accuracy() {
    let (fresh, truth) = digits(1000, 797);
    let attack = Pgd::new(AttackNorm::LInf).steps(20).restarts(2).rules(range());
    let budgets = [0.0, 0.15, 0.25, 0.4];
    let curve =
        trade_off_curve(&budgets, |eps| Ok(Trained(trained(eps, 12))), |model| attack.run(model, &fresh, &truth, 0.15));
    let curve = curve.unwrap();
    curve.iter().for_each(|point| {
        println!("trained at {}: clean {:.3}, robust {:.3}", point.training_eps, point.clean, point.robust)
    });
    // Robust accuracy is clearly up against ordinary training.
    assert!(curve[0].clean > 0.9 && curve[1].clean > 0.8);
    assert!(curve[1].robust > curve[0].robust + 0.2, "{curve:?}");
    assert!(curve.iter().all(|point| point.attack == attack.name() && point.robust <= point.clean));
    // Clean accuracy falls for large budgets.
    assert!(curve[3].clean < curve[0].clean - 0.05 && curve[3].clean < curve[1].clean, "{curve:?}");

    // Passes are counted: k inner ones and one for the parameters at each step; so they grow with k.
    let (x, y) = digits(0, 96);
    let set = TensorDataset::new(x, y).unwrap();
    let passes = |steps: usize| {
        let mut net = Counted { inner: Linear::new(64, 10, &mut Rng::new(0)), calls: AtomicU64::new(0) };
        let inner = Pgd::new(AttackNorm::LInf).steps(steps).rules(range());
        let task = AdversarialTask::new(Classification::new(), inner, 0.1);
        let mut trainer = Trainer::new(Adam::new(1e-3)).epochs(1).batch_size(32).progress(Progress::Silent);
        trainer.fit(&mut net, &task, &set, None).unwrap();
        net.calls.into_inner()
    };
    for steps in [1, 2, 5, 10] {
        assert_eq!(passes(steps), 3 * (steps as u64 + 1));
    }

    // Maps of input gradients are written and read back.
    let model = Trained(trained(0.1, 2));
    let few = fresh.narrow(0, 0, 6).contiguous();
    let maps = gradient_maps(&model, &few, &truth.narrow(0, 0, 6).contiguous(), AttackLoss::CrossEntropy).unwrap();
    let path = std::env::temp_dir().join(format!("tove-gradient-maps-{}.npz", std::process::id()));
    write_npz(&path, &[("maps", &maps.reshape([6, 8, 8]))], WriteOptions::overwriting()).unwrap();
    let back = read_npz(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!((back[0].0.as_str(), back[0].1.dims()), ("maps", &[6, 8, 8][..]));
    assert_eq!(back[0].1.to_vec::<f32>(), maps.to_vec::<f32>());
    for map in rows(&maps) {
        assert_eq!(map.iter().fold(0.0f64, |most, v| v.abs().max(most)), 1.0);
    }
}

#[test]
fn a_budget_of_zero_is_ordinary_training_and_parameters_get_one_gradient() {
    let (x, y) = digits(0, 200);
    let set = TensorDataset::new(x, y).unwrap();
    let run = |adversarial: bool| {
        let mut net = Mlp::new(&[64, 16, 10], &mut Rng::new(2));
        let mut trainer = Trainer::new(Adam::new(3e-3)).epochs(2).progress(Progress::Silent);
        let task = AdversarialTask::new(Classification::new(), Pgd::new(AttackNorm::L2), 0.0);
        match adversarial {
            true => trainer.fit(&mut net, &task, &set, None).unwrap(),
            false => trainer.fit(&mut net, &Classification::new(), &set, None).unwrap(),
        };
        net.layers[0].weight.to_vec::<f32>()
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn training_repeats_mixes_in_the_clean_loss_and_reports_robust_accuracy() {
    let (x, y) = digits(0, 200);
    let set = TensorDataset::new(x, y).unwrap();
    let inner = || Pgd::new(AttackNorm::LInf).steps(3).rules(range());
    let run = |clean: f64| {
        let mut net = Mlp::new(&[64, 16, 10], &mut Rng::new(2)).dropout(0.1);
        let task = AdversarialTask::new(Classification::new(), inner(), 0.1).clean_weight(clean);
        let mut trainer = Trainer::new(Adam::new(3e-3)).epochs(3).progress(Progress::Silent);
        let report = trainer.fit(&mut net, &task, &set, Some(&set)).unwrap();
        assert!(report.score("robust accuracy").unwrap() <= report.score("accuracy").unwrap());
        net.layers[0].weight.to_vec::<f32>()
    };
    assert_eq!(run(0.5), run(0.5));
    assert_ne!(run(0.5), run(0.0));
    let refused = |task: AdversarialTask<Classification>| {
        let mut net = Sequential::new().add(Linear::new(64, 10, &mut Rng::new(0)));
        let before = net.parameters()[0].to_vec::<f32>();
        let mut trainer = Trainer::new(Adam::new(3e-3)).epochs(1).progress(Progress::Silent);
        let error = trainer.fit(&mut net, &task, &set, None).unwrap_err().to_string();
        assert_eq!(net.parameters()[0].to_vec::<f32>(), before);
        error
    };
    let task = |eps: f64| AdversarialTask::new(Classification::new(), inner(), eps);
    assert!(refused(task(-1.0)).contains("budget"));
    assert!(refused(task(9.0)).contains("beyond the data range"));
    assert!(refused(task(0.1).clean_weight(2.0)).contains("clean_weight"));
    let net = Mlp::new(&[64, 16, 10], &mut Rng::new(2));
    let scores = evaluate(&net, &task(0.1), &set, 64).unwrap();
    println!("{scores:?}");
}

#[test]
fn an_attack_can_start_from_every_layer_of_a_net() {
    // Embeddings: perturb what the second part takes, with the first part fixed.
    let net = trained(0.0, 2);
    let head = |h: &Tensor| -> Result<Tensor> { Ok(net.layers[1].forward(h, &Pass::eval())?) };
    let hidden = net.features(&digits(0, 8).0, &Pass::eval()).unwrap().detach();
    let found = Pgd::new(AttackNorm::L2).run(&head, &hidden, &labels(&[0, 1, 2, 3, 4, 5, 6, 7]), 5.0).unwrap();
    assert_eq!((found.inputs.dims(), found.inputs.dtype()), (&[8, 64][..], DType::F32));
    assert!(found.robust_accuracy() < 0.5);
}
