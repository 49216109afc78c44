//! Every differentiable operation, walked through the registry of samples.

use std::collections::BTreeSet;

use tove_tensor::testing::{Sample, WITHOUT_DERIVATIVE, WITHOUT_VMAP, kinks, method_names, registry, values};
use tove_tensor::{DType, Element, GradCheck, Tensor, grad, jvp, vjp, vmap};

/// Runs a check on every sample and names all that fail.
fn for_each(check: impl Fn(&Sample) -> Result<(), String>) {
    let failures: Vec<String> = registry()
        .iter()
        .filter_map(|sample| check(sample).err().map(|error| format!("{} {}: {error}", sample.name, sample.case)))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn ensure(condition: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(message()) }
}

/// Largest difference, relative to the size of the second.
fn distance(a: &Tensor, b: &Tensor) -> f64 {
    assert_eq!(a.shape(), b.shape());
    let (a, b) = (a.to_f64_vec(), b.to_f64_vec());
    let size = b.iter().fold(1.0, |size: f64, x| size.max(x.abs()));
    a.iter().zip(&b).fold(0.0, |worst: f64, (a, b)| worst.max((a - b).abs())) / size
}

fn bits(x: &Tensor) -> Vec<u64> {
    x.to_f64_vec().into_iter().map(f64::to_bits).collect()
}

#[test]
fn every_method_has_a_sample() {
    let sampled: BTreeSet<&str> = registry().iter().map(|sample| sample.name).collect();
    let known: BTreeSet<&str> = method_names().into_iter().collect();
    let exempt: BTreeSet<&str> = WITHOUT_DERIVATIVE.iter().copied().collect();
    let missing: Vec<_> = known.iter().filter(|name| !sampled.contains(*name) && !exempt.contains(*name)).collect();
    assert!(missing.is_empty(), "add samples in src/testing for {missing:?}");
    let unknown: Vec<_> = sampled.union(&exempt).filter(|name| !known.contains(*name)).collect();
    assert!(unknown.is_empty(), "no such methods: {unknown:?}");
    let both: Vec<_> = sampled.intersection(&exempt).collect();
    assert!(both.is_empty(), "sampled, yet listed as without derivative: {both:?}");
}

#[test]
fn derivatives_in_both_modes_to_second_order() {
    for_each(|sample| GradCheck::default().check(sample.apply, &sample.inputs).map_err(|error| error.to_string()));
}

#[test]
fn methods_without_derivative_give_none() {
    let x = values([2, 3], 1);
    let through = grad(|x: &Tensor| (x.gt_scalar(0.3).to_dtype(DType::F64) + x.argmax(0).to_dtype(DType::F64)).sum());
    assert_eq!(through(&x).to_vec::<f64>(), [0.0; 6]);
}

fn nudged(x: &Tensor) -> Tensor {
    if x.dtype().is_float() { x * 0.97 } else { x.clone() }
}

#[test]
fn vmap_equals_the_loop() {
    for_each(|Sample { name, inputs, apply, .. }| {
        if WITHOUT_VMAP.contains(name) {
            return Ok(());
        }
        let other: Vec<Tensor> = inputs.iter().map(nudged).collect();
        let loop_of = |a: &[Tensor], b: &[Tensor]| Tensor::stack(&[&apply(a), &apply(b)], 0);
        let stacked: Vec<Tensor> = inputs.iter().zip(&other).map(|(a, b)| Tensor::stack(&[a, b], 0)).collect();
        let mapped = vmap(|x: &Vec<Tensor>| apply(x))(&stacked);
        let gap = distance(&mapped, &loop_of(inputs, &other));
        ensure(gap < 1e-13, || format!("all inputs mapped: off by {gap:e}"))?;
        for i in 0..inputs.len() {
            let exchanged = |x: &Tensor| {
                let mut all = inputs.clone();
                all[i] = x.clone();
                all
            };
            let mapped = vmap(|x: &Tensor| apply(&exchanged(x)))(&stacked[i]);
            let gap = distance(&mapped, &loop_of(inputs, &exchanged(&other[i])));
            ensure(gap < 1e-13, || format!("input {i} mapped: off by {gap:e}"))?;
        }
        Ok(())
    });
}

/// Samples whose inputs all have derivatives, or the positions of those that have.
fn moving(inputs: &[Tensor]) -> Vec<usize> {
    (0..inputs.len()).filter(|&i| inputs[i].dtype().is_float()).collect()
}

fn with(inputs: &[Tensor], at: &[usize], moved: &[Tensor]) -> Vec<Tensor> {
    let mut all = inputs.to_vec();
    at.iter().zip(moved).for_each(|(&i, x)| all[i] = x.clone());
    all
}

#[test]
fn tracking_leaves_the_value_as_it_is() {
    for_each(|Sample { inputs, apply, .. }| {
        let plain = bits(&apply(inputs));
        let at = moving(inputs);
        let argument: Vec<Tensor> = at.iter().map(|&i| inputs[i].clone()).collect();
        let function = |x: &Vec<Tensor>| apply(&with(inputs, &at, x));
        ensure(bits(&vjp(function, &argument).0) == plain, || "reverse mode changes it".into())?;
        ensure(bits(&jvp(function, &argument, &argument).0) == plain, || "forward mode changes it".into())?;
        let tape: Vec<Tensor> = argument.iter().map(Tensor::requires_grad).collect();
        ensure(bits(&function(&tape)) == plain, || "the tape changes it".into())
    });
}

#[test]
fn empty_tensors_have_derivatives_too() {
    let with_empty = registry().iter().filter(|sample| sample.empty.is_some()).count();
    assert!(with_empty > 60, "only {with_empty} samples have a case without elements");
    for_each(|Sample { empty, apply, .. }| {
        let Some(empty) = empty else { return Ok(()) };
        let function = |x: &Vec<Tensor>| apply(x);
        let y = apply(empty);
        let (value, tangent) = jvp(function, empty, empty);
        ensure(value.shape() == y.shape() && tangent.shape() == y.shape(), || "forward mode: shape".into())?;
        let (_, pull) = vjp(function, empty);
        let gradients = pull(&y.ones_like());
        let fits = gradients.iter().zip(empty).all(|(g, x)| g.shape() == x.shape());
        ensure(fits, || "reverse mode: shape".into())?;
        let finite = gradients.iter().all(|g| g.to_f64_vec().iter().all(|x| x.is_finite()));
        ensure(finite, || "reverse mode: not finite".into())
    });
}

fn single(inputs: &[Tensor]) -> Vec<Tensor> {
    inputs.iter().map(|x| if x.dtype().is_float() { x.to_dtype(DType::F32) } else { x.clone() }).collect()
}

#[test]
fn single_precision_agrees_with_double() {
    for_each(|Sample { name, inputs, apply, .. }| {
        let (low, high) = (apply(&single(inputs)), apply(inputs));
        ensure(*name == "to_dtype" || low.dtype() == f32::DTYPE, || format!("result in {}", low.dtype()))?;
        let gap = distance(&low, &high);
        ensure(gap < 1e-5, || format!("value off by {gap:e}"))?;
        let at = moving(inputs);
        let gradient = |inputs: &[Tensor]| {
            let argument: Vec<Tensor> = at.iter().map(|&i| inputs[i].clone()).collect();
            let (y, pull) = vjp(|x: &Vec<Tensor>| apply(&with(inputs, &at, x)), &argument);
            pull(&y.ones_like())
        };
        for (low, high) in gradient(&single(inputs)).iter().zip(&gradient(inputs)) {
            ensure(low.dtype() == DType::F32, || format!("gradient in {}", low.dtype()))?;
            let gap = distance(low, high);
            ensure(gap < 1e-5, || format!("gradient off by {gap:e}"))?;
        }
        Ok(())
    });
}

#[test]
fn kinks_and_ties_follow_the_documented_rule() {
    for kink in kinks() {
        let (y, pull) = vjp(|x: &Vec<Tensor>| (kink.apply)(x), &kink.inputs);
        for (gradient, expected) in pull(&y.ones_like()).iter().zip(&kink.gradients) {
            assert_eq!(&gradient.to_vec::<f64>(), expected, "{}", kink.name);
        }
    }
}

/// <u, J v> = <Jᵀ u, v>: both modes speak of the same linear map, also where it is a matter of convention.
#[test]
fn both_modes_agree_at_kinks_and_ties() {
    let dot = |a: &Tensor, b: &Tensor| (a * b).sum().item::<f64>();
    for kink in kinks() {
        let function = |x: &Vec<Tensor>| (kink.apply)(x);
        let direction: Vec<Tensor> =
            kink.inputs.iter().enumerate().map(|(i, x)| values(x.shape(), 50 + i as u64)).collect();
        let (y, tangent) = jvp(function, &kink.inputs, &direction);
        let u = values(y.shape(), 60);
        let pulled = vjp(function, &kink.inputs).1(&u);
        let right: f64 = pulled.iter().zip(&direction).map(|(g, v)| dot(g, v)).sum();
        let left = dot(&u, &tangent);
        assert!((left - right).abs() < 1e-13, "{}: {left} and {right}", kink.name);
    }
}
