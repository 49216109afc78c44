//! What the tape keeps and when it lets go. Bytes are counted by the meter.

#![allow(clippy::unwrap_used, reason = "a test ends where its expectations do")]

use tove_tensor::testing::values;
use tove_tensor::{Tensor, grad, grad_of, meter, no_grad};

const N: usize = 1024;
const BYTES: i64 = 8 * N as i64;

#[test]
fn the_graph_is_freed_by_backward() {
    let w = values(N, 1).requires_grad();
    let ((), cost) = meter::measure(|| {
        let (loss, forward) = meter::measure(|| w.sin().exp().tanh().sum());
        assert!(forward.held_bytes() >= 2 * BYTES, "nothing saved?");
        let ((), backward) = meter::measure(|| loss.backward());
        assert!(backward.held_bytes() <= BYTES - forward.held_bytes() + 128, "{} bytes stay", backward.held_bytes());
    });
    assert_eq!(cost.held_bytes(), BYTES); // the gradient
    w.take_grad();
}

#[test]
fn a_graph_that_is_dropped_is_freed_too() {
    let w = values(N, 1).requires_grad();
    let ((), cost) = meter::measure(|| drop(w.sin().exp().tanh().sum()));
    assert_eq!(cost.held_bytes(), 0);
}

#[test]
fn a_second_backward_is_refused_and_backward_keep_allows_it() {
    let w = values(5, 1).requires_grad();
    let loss = w.sin().sum();
    loss.backward();
    let refused = loss.try_backward().unwrap_err().to_string();
    assert!(refused.contains("freed") && refused.contains("backward_keep"), "{refused}");
    let once = w.take_grad().unwrap().to_vec::<f64>();
    let loss = w.sin().sum();
    loss.backward_keep();
    loss.backward();
    let twice = w.grad().unwrap().to_vec::<f64>();
    assert_eq!(twice, once.iter().map(|g| 2.0 * g).collect::<Vec<_>>());
    assert!(loss.try_backward().is_err());
}

#[test]
fn gradients_accumulate_until_they_are_taken() {
    let w = values(5, 1).requires_grad();
    let parts = [values(5, 2), values(5, 3), values(5, 4)];
    parts.iter().for_each(|x| (&w * x).sum().backward());
    let sum = &parts[0] + &parts[1] + &parts[2];
    assert_eq!(w.take_grad().unwrap().to_vec::<f64>(), sum.to_vec::<f64>());
    assert!(w.grad().is_none());
    w.set_grad(Some(values(5, 5)));
    (&w * &parts[0]).sum().backward();
    assert_eq!(w.grad().unwrap().to_vec::<f64>(), (values(5, 5) + &parts[0]).to_vec::<f64>());
}

#[test]
fn gradients_of_intermediate_values() {
    let w = values(5, 1).requires_grad();
    let h = w.sin();
    let y = (&h * &h).sum();
    let found = grad_of(&y, &[&h, &w], false).unwrap();
    assert_eq!(found[0].to_vec::<f64>(), (h.detach() * 2.0).to_vec::<f64>());
    let expected = grad(|w: &Tensor| w.sin().square().sum())(&w.detach());
    for (a, b) in found[1].to_vec::<f64>().iter().zip(expected.to_vec::<f64>()) {
        assert!((a - b).abs() < 1e-15);
    }
    assert!(w.grad().is_none()); // leaves are left alone
    y.backward(); // and the graph is still there
    assert_eq!(w.grad().unwrap().to_vec::<f64>(), found[1].to_vec::<f64>());
    let stranger = values(5, 2);
    assert!(grad_of(&w.sum(), &[&stranger], false).is_err());
}

#[test]
fn no_grad_and_detach_record_nothing() {
    let w = values(N, 1).requires_grad();
    let (y, cost) = meter::measure(|| no_grad(|| w.sin().exp().tanh()));
    assert!(!y.is_tracked());
    assert_eq!(cost.held_bytes(), BYTES); // the result alone
    assert!(y.try_requires_grad().unwrap().is_leaf());
    let after_panic = std::panic::catch_unwind(|| no_grad(|| panic!("inside")));
    assert!(after_panic.is_err());
    assert!(w.sin().is_tracked(), "recording is back on");
    let detached = (&w * w.detach()).sum();
    detached.backward();
    assert_eq!(w.grad().unwrap().to_vec::<f64>(), w.detach().to_vec::<f64>());
}

#[test]
fn a_chain_of_a_hundred_thousand_steps() {
    let x = Tensor::scalar(0.5).requires_grad();
    let deep = || (0..100_000).fold(x.clone(), |h, _| h + 1e-6);
    deep().backward();
    assert_eq!(x.grad().unwrap().item::<f64>(), 1.0);
    drop(deep()); // freed without a backward pass, without recursion
    let kept = deep();
    kept.backward_keep();
    drop(kept);
    assert_eq!(x.grad().unwrap().item::<f64>(), 2.0);
}
