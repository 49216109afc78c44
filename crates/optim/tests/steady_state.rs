//! What holds for every rule: nothing is allocated in steady state, a run goes on from its state bit by bit, results do
//! not depend on the number of threads, parameters without gradients stay, groups and changes of the list are checked.
#![allow(unsafe_code, reason = "an allocator that counts")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::scattered;
use tove_optim::rules::{Step, StepRule};
use tove_optim::{
    Adagrad, Adam, AdamW, Group, NesterovLookAhead, Optimizer, OptimizerState, RmsProp, Sgd, clip_norm, clip_value,
};
use tove_tensor::{DType, Tensor, set_num_threads};

struct Counting;

thread_local! {
    static COUNT: Cell<Option<usize>> = const { Cell::new(None) };
}

// SAFETY: everything is handed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|count| count.set(count.get().map(|count| count + 1)));
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: by the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations that this thread makes meanwhile.
fn allocations(work: impl FnOnce()) -> usize {
    COUNT.set(Some(0));
    work();
    COUNT.take().unwrap_or_default()
}

fn rules() -> Vec<Box<dyn Optimizer>> {
    vec![
        Box::new(Sgd::new(0.05)),
        Box::new(Sgd::new(0.05).with(|s| s.momentum(0.9).weight_decay(0.1))),
        Box::new(Sgd::new(0.05).with(|s| s.momentum(0.9).nesterov(true).rate_in_velocity(true))),
        Box::new(NesterovLookAhead::new(0.05)),
        Box::new(Adagrad::new(0.05)),
        Box::new(RmsProp::new(0.05)),
        Box::new(RmsProp::new(0.05).with(|s| s.centered(true))),
        Box::new(RmsProp::new(0.05).with(|s| s.momentum(0.5))),
        Box::new(RmsProp::new(0.05).with(|s| s.momentum(0.5).centered(true))),
        Box::new(Adam::new(0.05).with(|s| s.weight_decay(0.1))),
        Box::new(Adam::new(0.05).with(|s| s.bias_correction(false))),
        Box::new(AdamW::new(0.05)),
    ]
}

fn leaves(sizes: &[usize], dtype: DType) -> Vec<Tensor> {
    let leaf = |(&size, seed)| Tensor::from(scattered(size, f64::from(seed) * 0.3)).to_dtype(dtype).requires_grad();
    sizes.iter().zip(1..).map(leaf).collect()
}

fn give_gradients(leaves: &[Tensor], step: usize) {
    for (index, leaf) in leaves.iter().enumerate() {
        let gradient = scattered(leaf.numel(), step as f64 * 0.17 + index as f64 * 0.41);
        leaf.set_grad(Some(Tensor::from(gradient).to_dtype(leaf.dtype())));
    }
}

fn step(rule: &mut dyn Optimizer, leaves: &mut [Tensor], number: usize) {
    let mut list: Vec<&mut Tensor> = leaves.iter_mut().collect();
    rule.look_ahead(&mut list).expect("a half step");
    give_gradients(leaves, number);
    let mut list: Vec<&mut Tensor> = leaves.iter_mut().collect();
    rule.step(&mut list).expect("a step");
}

fn values(leaves: &[Tensor]) -> Vec<Vec<f64>> {
    leaves.iter().map(|leaf| leaf.detach().to_f64_vec()).collect()
}

#[test]
fn nothing_is_allocated_in_steady_state() {
    for dtype in [DType::F32, DType::F64] {
        for mut rule in rules() {
            let mut leaves = leaves(&[7, 40_000, 0, 33], dtype);
            for number in 0..3 {
                step(&mut *rule, &mut leaves, number);
            }
            let mut list: Vec<&mut Tensor> = leaves.iter_mut().collect();
            let ahead = allocations(|| rule.look_ahead(&mut list).expect("a half step"));
            give_gradients(&leaves, 3);
            let mut list: Vec<&mut Tensor> = leaves.iter_mut().collect();
            let clipped = allocations(|| {
                clip_norm(&list, 1.0).expect("finite gradients");
                clip_value(&list, 0.01).expect("a right limit");
            });
            let stepped = allocations(|| rule.step(&mut list).expect("a step"));
            assert_eq!((ahead, clipped, stepped), (0, 0, 0), "{} in {dtype}", rule.name());
        }
    }
    assert!(allocations(|| drop(vec![1u8; 100])) == 1, "the counter counts");
}

#[test]
fn clipping_inside_a_step_is_clipping_before_it() {
    for dtype in [DType::F32, DType::F64] {
        for (mut inside, mut before) in rules().into_iter().zip(rules()) {
            let (mut a, mut b) = (leaves(&[7, 40_000, 0, 33], dtype), leaves(&[7, 40_000, 0, 33], dtype));
            for (number, limit) in [(0, 0.5), (1, 1e9), (2, 0.01)] {
                let norms =
                    [(&mut inside, &mut a, true), (&mut before, &mut b, false)].map(|(rule, leaves, inside)| {
                        let mut list: Vec<&mut Tensor> = leaves.iter_mut().collect();
                        rule.look_ahead(&mut list).expect("a half step");
                        drop(list);
                        give_gradients(leaves, number);
                        let mut list: Vec<&mut Tensor> = leaves.iter_mut().collect();
                        if inside {
                            return rule.step_clipped(&mut list, limit).expect("a step");
                        }
                        let norm = clip_norm(&list, limit).expect("finite gradients");
                        rule.step(&mut list).expect("a step");
                        norm
                    });
                assert_eq!(norms[0], norms[1]);
                assert_eq!(values(&a), values(&b), "{} in {dtype} at {number}", inside.name());
            }
        }
    }
}

/// Adam's step for all parameters at once against its definition for one, groups and parameters without gradients
/// included.
#[test]
fn adam_for_all_is_adam_for_each() {
    let group = Group::new([1, 3]).learning_rate_factor(0.5).weight_decay(0.0);
    let mut rule = AdamW::new(0.05).with(|s| s.weight_decay(0.1)).groups(&[group]).expect("one group");
    let settings = rule.settings().clone();
    let sizes = [7, 40_000, 0, 33, 5];
    let (mut together, mut alone) = (leaves(&sizes, DType::F32), leaves(&sizes, DType::F32));
    let mut state: Vec<[Tensor; 2]> = alone.iter().map(|leaf| [leaf.zeros_like(), leaf.zeros_like()]).collect();
    let mut steps = [0u64; 5];
    for number in 0..4 {
        give_gradients(&together, number);
        give_gradients(&alone, number);
        if number == 1 {
            drop((together[4].take_grad(), alone[4].take_grad()));
        }
        rule.step(&mut together.iter_mut().collect::<Vec<_>>()).expect("a step");
        for (position, (leaf, state)) in alone.iter_mut().zip(&mut state).enumerate() {
            let Some(gradient) = leaf.take_grad() else { continue };
            let grouped = position == 1 || position == 3;
            let (learning_rate, weight_decay) = if grouped { (0.025, 0.0) } else { (0.05, 0.1) };
            steps[position] += 1;
            let step = Step { number: steps[position], learning_rate, weight_decay };
            settings.update(step, leaf, &gradient, state).expect("a step");
        }
        assert_eq!(values(&together), values(&alone), "step {number}");
    }
    assert_eq!((rule.steps(0), rule.steps(4)), (4, 3));
}

#[test]
fn a_resumed_run_is_bit_identical() {
    for (index, mut rule) in rules().into_iter().enumerate() {
        for dtype in [DType::F32, DType::F64] {
            let mut rule_again = rules().swap_remove(index);
            let mut leaves = leaves(&[5, 1000], dtype);
            let mut whole = rules().swap_remove(index);
            whole.set_learning_rate(0.1 / 3.0);
            (0..10).for_each(|number| step(&mut *whole, &mut leaves, number));
            let path =
                std::env::temp_dir().join(format!("tove-resume-{}-{index}-{dtype}.safetensors", std::process::id()));
            whole.state().save(&path).expect("a file");
            let mut copies: Vec<Tensor> = leaves.iter().map(Tensor::requires_grad).collect();
            rule_again.load_state(&OptimizerState::load(&path).expect("its own file")).expect("its own state");
            std::fs::remove_file(&path).expect("the file is there");
            assert_eq!(rule_again.learning_rate(), 0.1 / 3.0);
            for number in 10..20 {
                step(&mut *whole, &mut leaves, number);
                step(&mut *rule_again, &mut copies, number);
            }
            assert_eq!(values(&leaves), values(&copies), "{} in {dtype}", rule_again.name());
        }
        let foreign = if index == 0 { Adam::default().state() } else { Sgd::default().state() };
        assert!(rule.name() == foreign.rule || rule.load_state(&foreign).is_err());
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let run = || -> Vec<Vec<f64>> {
        let mut all = Vec::new();
        for dtype in [DType::F32, DType::F64] {
            for mut rule in rules() {
                let mut leaves = leaves(&[100_003], dtype);
                give_gradients(&leaves, 0);
                let norm = clip_norm(&leaves, 1.0).expect("finite gradients");
                step(&mut *rule, &mut leaves, 1);
                step(&mut *rule, &mut leaves, 2);
                all.extend(values(&leaves));
                all.push(vec![norm]);
            }
        }
        all
    };
    set_num_threads(1);
    let alone = run();
    for threads in [2, 3, 8] {
        set_num_threads(threads);
        assert!(run() == alone, "{threads} threads");
    }
    set_num_threads(0);
}

#[test]
fn parameters_without_gradients_stay_as_they_are() {
    for mut rule in rules() {
        let mut leaves = leaves(&[3, 3], DType::F64);
        for number in 0..4 {
            step(&mut *rule, &mut leaves, number);
        }
        let before = values(&leaves);
        let steps = rule.state().counters["1.steps"];
        let mut list: Vec<&mut Tensor> = leaves.iter_mut().collect();
        rule.look_ahead(&mut list).expect("a half step");
        give_gradients(&leaves[..1], 9);
        let mut list: Vec<&mut Tensor> = leaves.iter_mut().collect();
        rule.step(&mut list).expect("a step");
        let after = values(&leaves);
        assert_ne!(before[0], after[0]);
        let moved = before[1].iter().zip(&after[1]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(moved <= 1e-15, "{}: moved by {moved}", rule.name());
        assert_eq!((rule.state().counters["0.steps"], rule.state().counters["1.steps"]), (steps + 1, steps));
    }
}

#[test]
fn a_changed_list_of_parameters_is_an_error() {
    for mut rule in rules() {
        let mut leaves = leaves(&[3, 4], DType::F64);
        step(&mut *rule, &mut leaves, 0);
        let mut list: Vec<&mut Tensor> = leaves.iter_mut().take(1).collect();
        let error = rule.look_ahead(&mut list).and_then(|()| rule.step(&mut list)).expect_err("one is missing");
        assert!(error.to_string().contains("were 2 at the first step and are 1 now"), "{error}");
    }
}

#[test]
fn groups_scale_rates_and_are_checked() {
    let group = Group::new([1]).learning_rate_factor(10.0);
    let mut sgd = Sgd::new(0.1).groups(&[group, Group::new([2]).learning_rate_factor(0.0)]).expect("right groups");
    let mut leaves: Vec<Tensor> = (0..4).map(|_| Tensor::from([1.0]).requires_grad()).collect();
    leaves.iter().for_each(|leaf| leaf.set_grad(Some(Tensor::from([0.5]))));
    sgd.step(&mut leaves.iter_mut().collect::<Vec<_>>()).expect("a step");
    assert_eq!(values(&leaves).concat(), [0.95, 0.5, 1.0, 0.95]);
    let text = |groups: &[Group]| Sgd::new(0.1).groups(groups).expect_err("wrong").to_string();
    assert!(text(&[Group::new([0, 1]), Group::new([1])]).contains("position 1 twice"));
    assert!(text(&[Group::new([0]).learning_rate_factor(-1.0)]).contains("learning_rate_factor is -1"));
    assert!(text(&[Group::new([0]).weight_decay(f64::NAN)]).contains("weight_decay is NaN"));
}

/// Two groups, saved to a file and loaded into a rule that has none.
#[test]
fn groups_are_part_of_the_state() {
    let groups =
        [Group::new([0]).learning_rate_factor(1.0 / 3.0).weight_decay(0.2 / 3.0), Group::new([2]).weight_decay(0.0)];
    fn with<R: StepRule>(rule: tove_optim::rules::Stepwise<R>, groups: &[Group]) -> Box<dyn Optimizer>
    where
        R: 'static,
    {
        Box::new(rule.groups(groups).expect("right groups"))
    }
    let sgd = || Sgd::new(0.05).with(|s| s.momentum(0.9).weight_decay(0.1));
    let adam_w = || AdamW::new(0.05).with(|s| s.weight_decay(0.1));
    let nesterov = || NesterovLookAhead::new(0.05);
    let cases: Vec<(Box<dyn Optimizer>, Box<dyn Optimizer>)> = vec![
        (with(sgd(), &groups), Box::new(sgd())),
        (with(RmsProp::new(0.05), &groups), Box::new(RmsProp::new(0.05))),
        (with(adam_w(), &groups), Box::new(adam_w())),
        (Box::new(nesterov().groups(&groups).expect("right groups")), Box::new(nesterov())),
    ];
    for (mut whole, mut plain) in cases {
        let mut leaves = leaves(&[5, 40, 7], DType::F32);
        (0..10).for_each(|number| step(&mut *whole, &mut leaves, number));
        let path = std::env::temp_dir().join(format!("tove-groups-{}-{}", std::process::id(), whole.name()));
        whole.state().save(&path).expect("a file");
        let state = OptimizerState::load(&path).expect("its own file");
        std::fs::remove_file(&path).expect("the file is there");
        assert_eq!(state.groups.as_deref(), Some(&groups[..]));
        let copy = |leaves: &[Tensor]| leaves.iter().map(Tensor::requires_grad).collect::<Vec<Tensor>>();
        let (mut resumed, mut without) = (copy(&leaves), copy(&leaves));
        let mut stripped = whole.state();
        stripped.groups = Some(Vec::new());
        plain.load_state(&stripped).expect("a state without groups");
        (10..20).for_each(|number| step(&mut *plain, &mut without, number));
        plain.load_state(&state).expect("its own state");
        for number in 10..20 {
            step(&mut *whole, &mut leaves, number);
            step(&mut *plain, &mut resumed, number);
        }
        assert_eq!(values(&leaves), values(&resumed), "{}", whole.name());
        assert_ne!(values(&leaves)[0], values(&without)[0], "{}: the group has an effect", whole.name());
        // A state from before groups were kept leaves the rule's own in place.
        plain.load_state(&OptimizerState { groups: None, ..state.clone() }).expect("an old state");
        assert_eq!(plain.state().groups, state.groups);
        // A damaged one is refused, and changes nothing.
        let twice = Some(vec![Group::new([0]), Group::new([0])]);
        let error = plain.load_state(&OptimizerState { groups: twice, ..state.clone() }).expect_err("twice");
        assert!(error.to_string().contains("position 0 twice"), "{error}");
        let far = Some(vec![Group::new([usize::MAX])]);
        plain.load_state(&OptimizerState { groups: far, ..state.clone() }).expect_err("too far");
        assert_eq!(plain.state().groups, state.groups);
        let mut damaged = state.description();
        damaged["groups"][0]["positions"] = serde_json::json!([-1]);
        assert!(matches!(OptimizerState::from_description(&damaged), Err(tove_optim::StateError::Groups)));
    }
}

#[test]
fn a_value_that_a_graph_still_holds_does_not_change() {
    let mut w = Tensor::from([2.0]).requires_grad();
    let y = w.square().sum();
    w.set_grad(Some(Tensor::from([1.0])));
    Sgd::new(0.5).step(&mut [&mut w]).expect("a step");
    assert_eq!(w.item::<f64>(), 1.5);
    let gradient = tove_tensor::grad_of(&y, &[&w], false).expect("the leaf is still the same");
    assert_eq!(gradient[0].item::<f64>(), 4.0);
}

#[test]
fn l_bfgs_allocates_at_its_start_only() {
    let run = |iterations: usize| {
        let settings = tove_optim::LbfgsSettings::default().max_iterations(iterations).gradient_tolerance(0.0);
        let settings = settings.value_tolerance(0.0);
        let mut made = 0;
        let count = allocations(|| {
            // Curvatures from 1 to 1e4, so that the run goes on long enough.
            let f = |x: &[f64], gradient: &mut [f64]| {
                let mut value = 0.0;
                for (i, (x, g)) in x.iter().zip(gradient).enumerate() {
                    let curvature = 10f64.powf(i as f64 / 12.5);
                    *g = curvature * (x - 1.0);
                    value += 0.5 * *g * (x - 1.0);
                }
                value
            };
            made = settings.minimize(f, &[0.0; 50]).expect("a run").iterations;
        });
        assert_eq!(made, iterations);
        count
    };
    assert_eq!(run(10), run(100));
}
