//! What goes into a derivative rule and comes out of it is checked: structure, shape and element type.
#![allow(clippy::unwrap_used)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use tove_tensor::{Chain, CustomOp, DType, Error, Tensor, checkpoint, grad, hvp, jvp, linearize, vjp};

/// The panic's text.
fn message(work: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(work)).expect_err("must panic");
    payload.downcast_ref::<String>().cloned().unwrap_or_default()
}

fn single() -> Tensor {
    Tensor::from([1.0f32, 2.0, 3.0, 4.0])
}

fn double() -> Tensor {
    Tensor::from([1.0, 2.0, 3.0, 4.0])
}

#[test]
fn directions_and_cotangents_have_the_arguments_type() {
    let expected = "element types f64 and f32 differ";
    assert!(message(|| drop(jvp(|x: &Tensor| x.sin(), &double(), &single()))).contains(expected));
    assert!(message(|| drop(hvp(|x: &Tensor| x.sin().sum(), &double(), &single()))).contains(expected));
    let (_, pull) = vjp(|x: &Tensor| x.sin(), &double());
    assert!(message(|| drop(pull(&single()))).contains(expected));
    let (_, push) = linearize(|x: &Tensor| x.sin(), &double());
    assert!(message(|| drop(push(&single()))).contains(expected));
}

#[test]
fn directions_have_the_arguments_shape_and_structure() {
    let (_, push) = linearize(|x: &Tensor| x.sin(), &Tensor::from([1.0, 2.0]));
    assert!(message(|| drop(push(&Tensor::from([10.0, 20.0, 30.0])))).contains("(2,) and (3,)"));
    let square = |x: &Tensor| x.square().sum();
    assert!(message(|| drop(hvp(square, &double(), &Tensor::scalar(1.0)))).contains("(4,) and ()"));
    let product = |x: &Vec<Tensor>| &x[0] * &x[1];
    let (two, one) = (vec![double(), double()], vec![double()]);
    assert!(message(|| drop(jvp(product, &two, &one))).contains("has 1 tensors where the argument has 2"));
}

#[test]
fn a_rule_of_the_wrong_type_or_shape_is_reported_by_name() {
    let narrow = CustomOp::new("narrow", |x| x[0].clone()).with_backward(|_, _, g| vec![g.to_dtype(DType::F32)]);
    let text = message(|| drop(grad(|x: &Tensor| narrow.apply(&[&x.sin()]).sum())(&double())));
    assert!(text.contains("narrow: element types f64 and f32 differ"), "{text}");
    let turned = CustomOp::new("turned", |x| x[0].clone()).with_backward(|_, _, g| vec![g.t().contiguous()]);
    let x = Tensor::ones([2, 3], DType::F64).requires_grad();
    let error = turned.apply(&[&x]).sum().try_backward().unwrap_err();
    assert!(matches!(&error, Error::ShapePair { op: "turned", .. }), "{error}");
}

#[test]
fn a_rule_may_leave_the_sum_over_stretched_axes_to_the_engine() {
    let add = CustomOp::new("add_bias", |x| &x[0] + &x[1]).with_backward(|_, _, g| vec![g.clone(), g.clone()]);
    let (x, b) = (Tensor::ones([4, 3], DType::F64), Tensor::zeros([3], DType::F64));
    let slope = grad(|b: &Tensor| add.apply(&[&x, b]).sum())(&b);
    assert_eq!(slope.to_vec::<f64>(), [4.0; 3]);
    let (_, tangent) = jvp(|b: &Tensor| add.apply(&[&x, b]), &b, &Tensor::from([1.0, 2.0, 3.0]));
    assert_eq!(tangent.to_vec::<f64>(), [1.0, 2.0, 3.0].repeat(4));
}

#[test]
fn gradients_set_by_hand_are_like_their_leaf() {
    let w = Tensor::ones([2, 3], DType::F64).requires_grad();
    assert!(w.try_set_grad(Some(Tensor::ones([3, 2], DType::F64))).is_err());
    assert!(w.try_set_grad(Some(Tensor::ones([2, 3], DType::F32))).is_err());
    assert!(w.grad().is_none());
    assert!(w.try_set_grad(Some(Tensor::ones([2, 3], DType::F64))).is_ok());
}

#[test]
fn updates_keep_shape_and_mark() {
    let mut w = Tensor::ones([2], DType::F64).requires_grad();
    let panicked = catch_unwind(AssertUnwindSafe(|| w.update(|_| panic!("on purpose"))));
    assert!(panicked.is_err() && w.is_leaf());
    assert!(
        w.update(|x| {
            *x = Tensor::ones([3], DType::F64);
            Ok(())
        })
        .is_err()
    );
    assert!(!w.is_leaf());
}

#[test]
fn any_number_of_inputs_is_saved() {
    let leaves: Vec<Tensor> = (0..40).map(|i| Tensor::from([f64::from(i)]).requires_grad()).collect();
    let sum_of_squares = |x: &[Tensor]| x.iter().skip(1).fold(x[0].square(), |sum, x| sum + x.square()).sum();
    checkpoint(sum_of_squares, &leaves.iter().collect::<Vec<_>>()).backward();
    for (i, leaf) in leaves.iter().enumerate() {
        assert_eq!(leaf.grad().unwrap().item::<f64>(), 2.0 * i as f64);
    }
    let last = CustomOp::new("last", |x| x[39].square()).with_backward(|x, _, g| {
        x.iter().enumerate().map(|(i, x)| if i == 39 { g * x * 2.0 } else { x.zeros_like() }).collect()
    });
    let x: Vec<Tensor> = leaves.iter().map(|leaf| leaf.detach().requires_grad()).collect();
    last.apply(&x.iter().collect::<Vec<_>>()).sum().backward();
    assert_eq!(x[39].grad().unwrap().item::<f64>(), 78.0);
}

#[test]
fn a_chain_recomputes_blocks_of_many_parameters() {
    let block = |x: &Tensor, w: &[Tensor]| w.iter().fold(x.clone(), |x, w| (x * w).tanh());
    let chain = Chain::new().block(block).block(block);
    let parameters = || -> Vec<Vec<Tensor>> {
        (0..2).map(|_| (0..20).map(|i| Tensor::from([1.0 + 0.01 * f64::from(i)]).requires_grad()).collect()).collect()
    };
    let (kept, rerun) = (parameters(), parameters());
    let x = Tensor::from([0.5]);
    chain.keep(&[0, 1]).run(&x, &kept).sum().backward();
    chain.keep(&[]).run(&x, &rerun).sum().backward();
    for (a, b) in kept.iter().flatten().zip(rerun.iter().flatten()) {
        assert_eq!(a.grad().unwrap().item::<f64>(), b.grad().unwrap().item::<f64>());
    }
}

#[test]
fn ties_at_infinity_share_the_gradient() {
    let inf = f64::INFINITY;
    for (a, b, share) in [(inf, inf, 0.5), (-inf, -inf, 0.5), (inf, 1.0, 1.0), (-inf, inf, 0.0), (2.0, 2.0, 0.5)] {
        let b = Tensor::scalar(b);
        let a = Tensor::scalar(a);
        let (of_a, of_b) = grad(|(a, b): &(Tensor, Tensor)| a.maximum(b))(&(a.clone(), b.clone()));
        assert_eq!((of_a.item::<f64>(), of_b.item::<f64>()), (share, 1.0 - share));
        let (of_a, of_b) = grad(|(a, b): &(Tensor, Tensor)| a.minimum(b))(&(a, b));
        assert_eq!((of_a.item::<f64>(), of_b.item::<f64>()), (1.0 - share, share));
    }
    let slope = |x: f64, f: &dyn Fn(&Tensor) -> Tensor| grad(f)(&Tensor::scalar(x)).item::<f64>();
    assert_eq!(slope(inf, &|x| x.clamp(0.0, inf)), 0.5);
    assert_eq!(slope(3.0, &|x| x.clamp(0.0, inf)), 1.0);
    assert_eq!(slope(-inf, &|x| x.clamp(-inf, 1.0)), 0.5);
    assert_eq!(slope(inf, &|x| x.elu(1.0)), 1.0);
    assert_eq!(slope(-inf, &|x| x.elu(1.0)), 0.0);
    let second = grad(|x: &Tensor| grad(|x: &Tensor| x.elu(0.5).sum())(x).sum())(&Tensor::from([-1.0, 2.0]));
    assert!((second.to_vec::<f64>()[0] - 0.5 * (-1f64).exp()).abs() < 1e-15);
    assert_eq!(second.to_vec::<f64>()[1], 0.0);
}
