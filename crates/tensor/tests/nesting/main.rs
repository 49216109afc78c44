//! Nests of `vmap` and derivatives, two and three deep, against the loop over slices.

#![allow(clippy::unwrap_used, reason = "a test ends where its expectations do")]

mod cases;
mod edges;
mod support;

use support::{Layer, Nest, layers, nests};
use tove_tensor::testing::{Sample, WITHOUT_VMAP, registry};
use tove_tensor::{Tensor, vmap};

const TOLERANCE: f64 = 1e-8;

/// Runs nests of every function of linear algebra; returns how many had a value.
fn linear_algebra(nests: &[Nest]) -> usize {
    let (mut failures, mut compared) = (Vec::new(), 0);
    for (name, x, f) in cases::linear_algebra() {
        for nest in nests {
            match nest.check(&f, &nest.argument(&x, 0.02), TOLERANCE) {
                Ok(value) => compared += usize::from(value),
                Err(problem) => failures.push(format!("{name}: {problem}")),
            }
        }
    }
    let shown = &failures[..failures.len().min(60)];
    assert!(failures.is_empty(), "{} of {} fail\n{}", failures.len(), failures.len() + compared, shown.join("\n"));
    compared
}

#[test]
fn two_deep_nests_of_linear_algebra_equal_the_loop() {
    let nests = nests(2, 3);
    let compared = linear_algebra(&nests);
    assert_eq!(compared, nests.len() * cases::linear_algebra().len(), "every one has a value");
}

#[test]
fn three_deep_nests_of_linear_algebra_equal_the_loop() {
    let nests = nests(3, 2);
    let compared = linear_algebra(&nests);
    assert_eq!(compared, nests.len() * cases::linear_algebra().len(), "every one has a value");
}

#[test]
fn three_deep_nests_of_third_order_equal_the_loop() {
    let mut nests = nests(3, 3);
    nests.retain(|nest| nest.order() == 3 && nest.0.iter().filter(|layer| layer.is_wide()).count() <= 1);
    assert!(linear_algebra(&nests) > 0);
}

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Nests of two or three layers drawn at random, at least one of them a batch.
fn drawn(numbers: &mut Numbers, most: usize) -> Nest {
    loop {
        let depth = 2 + numbers.below(2);
        let layer = |numbers: &mut Numbers| {
            let all = layers(1 + numbers.below(3), numbers.below(2) == 0, numbers.below(2) == 0);
            all[numbers.below(all.len())]
        };
        let nest = Nest((0..depth).map(|_| layer(numbers)).collect());
        let wide = nest.0.iter().filter(|layer| layer.is_wide()).count();
        if nest.0.iter().any(|layer| layer.is_map()) && nest.order() <= most && wide <= 1 {
            return nest;
        }
    }
}

#[test]
fn nests_of_every_operation_equal_the_loop() {
    let (mut failures, mut compared, mut tried) = (Vec::new(), 0, 0);
    for (number, Sample { name, case, inputs, apply, .. }) in registry().into_iter().enumerate() {
        if WITHOUT_VMAP.contains(&name) {
            continue;
        }
        for place in (0..inputs.len()).filter(|&i| inputs[i].dtype().is_float()) {
            let f = |x: &Tensor| {
                let mut all = inputs.clone();
                all[place] = x.clone();
                apply(&all)
            };
            let mut numbers = Numbers(number as u64 * 31 + place as u64);
            for _ in 0..8 {
                let nest = drawn(&mut numbers, 2);
                tried += 1;
                match nest.check(&f, &nest.argument(&inputs[place], 0.0), TOLERANCE) {
                    Ok(value) => compared += usize::from(value),
                    Err(problem) => failures.push(format!("{name} {case}, input {place}: {problem}")),
                }
            }
        }
    }
    let shown = &failures[..failures.len().min(60)];
    assert!(failures.is_empty(), "{} of {tried} fail\n{}", failures.len(), shown.join("\n"));
    assert!(compared * 100 > tried * 98, "{compared} of {tried} had a value");
}

/// A batch without slices has the shape of any other batch, but for its size.
#[test]
fn batches_of_size_zero_have_the_right_shape() {
    let mut failures = Vec::new();
    let mut check = |name: &str, x: &Tensor, f: &dyn Fn(&Tensor) -> Tensor| {
        for layer in layers(1, true, false).into_iter().filter(|layer| !matches!(layer, Layer::Spread { .. })) {
            let inner = if layer.is_map() { Nest(Vec::new()) } else { Nest(vec![layer]) };
            let of_one = |x: &Tensor| inner.mapped(f, x).unwrap_or_else(|problem| panic!("{problem}"));
            let one = Nest(vec![]).mapped(&|x| vmap(of_one)(x), &x.unsqueeze(0));
            let none = Nest(vec![]).mapped(&|x| vmap(of_one)(x), &x.unsqueeze(0).narrow(0, 0, 0));
            match (one, none) {
                (Ok(one), Ok(none)) if none.dims()[0] == 0 && none.dims()[1..] == one.dims()[1..] => {}
                (Ok(one), Ok(none)) => {
                    failures.push(format!("{name}, {layer:?}: {} and {}", one.shape(), none.shape()))
                }
                (Ok(_), Err(problem)) => failures.push(format!("{name}, {layer:?}: {problem}")),
                (Err(_), _) => {}
            }
        }
    };
    for (name, x, f) in cases::linear_algebra() {
        check(name, &x, &f);
    }
    for Sample { name, inputs, apply, .. } in registry() {
        if WITHOUT_VMAP.contains(&name) || !inputs[0].dtype().is_float() {
            continue;
        }
        check(name, &inputs[0], &|x: &Tensor| {
            let mut all = inputs.clone();
            all[0] = x.clone();
            apply(&all)
        });
    }
    assert!(failures.is_empty(), "{} fail\n{}", failures.len(), failures.join("\n"));
}
