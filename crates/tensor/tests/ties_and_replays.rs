//! Derivatives of decompositions at equal values, and traces replayed on new arguments.
#![allow(clippy::unwrap_used)]

use tove_tensor::linalg::{eigh, svd};
use tove_tensor::{DType, Tensor, Trace, grad, jvp};

fn reason(x: Tensor, f: impl Fn(&Tensor) -> Tensor) -> String {
    f(&x.requires_grad()).sum().try_backward().map_or_else(|error| error.to_string(), |()| "no error".to_string())
}

#[test]
fn vectors_of_equal_values_have_no_gradient_and_say_so() {
    let twice = Tensor::eye(2, DType::F64) * 2.0;
    let exponential = |x: &Tensor| {
        let e = eigh(x).unwrap();
        (&e.vectors * e.values.exp().unsqueeze(0)).matmul(&e.vectors.t())
    };
    let text = reason(twice.clone(), exponential);
    assert!(text.contains("eigh") && text.contains("gap of 0"), "{text}");
    let gram = |x: &Tensor| {
        let d = svd(x).unwrap();
        (&d.u * d.s.square().unsqueeze(0)).matmul(&d.vt)
    };
    let text = reason(twice.clone(), gram);
    assert!(text.contains("svd") && text.contains("gap of 0"), "{text}");
    // Nearly equal is no better.
    let near = Tensor::from([[1.0, 0.0], [0.0, 1.0 + 1e-14]]);
    assert!(reason(near, exponential).contains("gap"));
    // Well apart, both are right: compared with the function that needs no vectors.
    let apart = Tensor::from([[1.0, 0.3], [0.3, 2.0]]);
    let (own, whole) = (grad(|x: &Tensor| exponential(x).sum())(&apart), grad(|x: &Tensor| x.expm().sum())(&apart));
    let symmetric = (&whole + whole.t()) * 0.5;
    assert!((own - symmetric).abs().max().item::<f64>() < 1e-12);
}

#[test]
fn values_alone_keep_their_derivative_at_ties() {
    let twice = Tensor::eye(3, DType::F64) * 2.0;
    let trace = grad(|x: &Tensor| eigh(x).unwrap().values.exp().sum())(&twice);
    assert!((trace - Tensor::eye(3, DType::F64) * 2f64.exp()).abs().max().item::<f64>() < 1e-14);
    let nuclear = grad(|x: &Tensor| svd(x).unwrap().s.sum())(&twice);
    assert!((nuclear - Tensor::eye(3, DType::F64)).abs().max().item::<f64>() < 1e-14);
    // A vector whose own value is simple may have equal neighbours.
    let lone = Tensor::from([[1.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]]);
    let slope = grad(|x: &Tensor| eigh(x).unwrap().vectors.select_index(1, 0).get(1))(&lone);
    assert!((slope.at::<f64>(&[0, 1]) + slope.at::<f64>(&[1, 0]) + 1.0 / 3.0).abs() < 1e-14);
    let direction = Tensor::from([[0.0, 1.0], [1.0, 0.0]]);
    let (_, tangent) = jvp(|x: &Tensor| eigh(x).unwrap().values, &(Tensor::eye(2, DType::F64)), &direction);
    assert!(tangent.to_vec::<f64>().iter().all(|x| x.is_finite()));
    let (_, tangent) = jvp(|x: &Tensor| eigh(x).unwrap().vectors, &(Tensor::eye(2, DType::F64)), &direction);
    assert!(tangent.to_vec::<f64>().iter().any(|x| x.is_nan()));
}

fn follows(f: impl Fn(&[Tensor]) -> Tensor, first: Tensor, second: Tensor) {
    let trace = Trace::of(&f, std::slice::from_ref(&first));
    let bits = |x: &Tensor| x.to_f64_vec().into_iter().map(f64::to_bits).collect::<Vec<_>>();
    for x in [first, second] {
        let replayed = trace.replay(std::slice::from_ref(&x)).unwrap();
        assert_eq!(bits(&replayed), bits(&f(&[x])));
    }
}

#[test]
fn replays_on_new_arguments_compute_everything_anew() {
    let (a, b) = (Tensor::from([3.0, -1.0, 2.0, 0.5]), Tensor::from([-7.0, 40.0, 1.0, 2.0]));
    follows(|x| x[0].median(), a.clone(), b.clone());
    follows(|x| x[0].quantile(0.3), a.clone(), b.clone());
    follows(|x| x[0].norm(3.0), a.clone(), b.clone());
    follows(|x| x[0].norm(2.0), &a * 1e200, &b * 1e-200);
    follows(|x| x[0].softmax(0), a.clone(), b.clone());
    follows(|x| &x[0] * x[0].detach().exp(), a.clone(), b.clone());
    let images = |x: &Tensor| x.reshape([2, 2]);
    follows(|x| x[0].batch_norm(None, None, 1e-5).0, images(&a), images(&b));
}

#[test]
fn a_detached_value_of_a_trace_still_passes_no_gradient() {
    let trace = Trace::of(|x| (&x[0] * x[0].detach()).sum(), &[Tensor::from([3.0])]);
    assert_eq!(trace.adjoints().unwrap()[0].to_vec::<f64>(), [3.0]);
}

#[test]
fn a_replayed_batch_norm_differentiates_at_the_new_values() {
    let f = |x: &[Tensor]| (x[0].batch_norm(None, None, 1e-3).0 * Tensor::from([[1.0, 2.0], [3.0, 5.0]])).sum();
    let trace = Trace::of(f, &[Tensor::from([[1.0, 2.0], [3.0, 4.0]])]);
    let other = Tensor::from([[0.5, -2.0], [0.1, 7.0]]);
    let direct = grad(|x: &Tensor| f(std::slice::from_ref(x)))(&other);
    let replayed = grad(|x: &Tensor| trace.replay(std::slice::from_ref(x)).unwrap())(&other);
    assert_eq!(replayed.to_vec::<f64>(), direct.to_vec::<f64>());
}

#[test]
fn programs_chosen_by_values_refuse_other_values() {
    let f = |x: &[Tensor]| x[0].masked_select(&x[0].gt_scalar(0.0)).sum();
    let trace = Trace::of(f, &[Tensor::from([1.0, -1.0, 2.0])]);
    assert_eq!(trace.replay(&[Tensor::from([5.0, -3.0, 4.0])]).unwrap().item::<f64>(), 9.0); // the same mask
    let error = trace.replay(&[Tensor::from([-5.0, 3.0, 4.0])]).unwrap_err();
    assert!(error.to_string().contains("masked_select") && error.to_string().contains("trace again"), "{error}");
}
