//! D12 and D14: the log-sum-exp trick, and how it bounds the maximum.

#[path = "../../optim/tests/support/mod.rs"]
mod support;

use support::{close, fixture, input, near, output};
use tove_lessons::log_sum_exp::{naive, negative_log_softmax, printed_bound, shifted, soft_maximum, stable};
use tove_tensor::{DType, GradCheck, Key, Tensor};

#[test]
fn d12_taking_out_the_maximum_keeps_log_sum_exp_finite() {
    let (high, low) = (Tensor::from([1000.0, 1000.0]), Tensor::from([-1000.0, -1000.0]));
    near(stable(&high).unwrap().item(), 1000.693147, 1e-9);
    near(stable(&low).unwrap().item(), -999.306853, 1e-9);
    near(high.logsumexp(&[0], false).item(), 1000.0 + 2f64.ln(), 1e-15);
    near(low.logsumexp(&[0], false).item(), -1000.0 + 2f64.ln(), 1e-15);
    // The naive form overflows one way and vanishes the other.
    assert_eq!(naive(&high).unwrap().item::<f64>(), f64::INFINITY);
    assert_eq!(naive(&low).unwrap().item::<f64>(), f64::NEG_INFINITY);
    // Against scipy, row by row; the naive form agrees where nothing overflows.
    let fixture = fixture();
    for case in fixture.cases_starting("logsumexp ") {
        let (x, y) = (input(case, "x"), output(case, "y"));
        let rows: Vec<f64> = (0..8).map(|i| stable(&x.get(i)).unwrap().item()).collect();
        close(&Tensor::from(rows), &y, 1e-10);
        close(&x.logsumexp(&[1], false), &y, 1e-10);
    }
    // Any shift gives the same while nothing overflows, and −log softmax_i(p) = −p_i + LSE(p).
    let p = Key::new(1).normal([6], DType::F64);
    for c in [-5.0, 0.0, 3.0] {
        near(shifted(&p, &Tensor::from(c)).unwrap().item(), naive(&p).unwrap().item(), 1e-13);
    }
    for i in 0..6 {
        let expected = -p.log_softmax(0).at::<f64>(&[i]);
        near(negative_log_softmax(&p, i, stable).unwrap().item(), expected, 1e-12);
        near(negative_log_softmax(&p, i, naive).unwrap().item(), expected, 1e-12);
        assert!(negative_log_softmax(&(&p * 1000.0), i, stable).unwrap().item::<f64>().is_finite());
    }
    // The shift does not disturb the derivative.
    GradCheck::default().check(|x| stable(&x[0]).unwrap(), std::slice::from_ref(&p)).unwrap();
}

#[test]
fn d14_log_sum_exp_lies_between_the_maximum_and_the_maximum_plus_ln_n() {
    for i in 0..10_000u64 {
        let n = 1 + (i % 9) as usize;
        let x = Key::new(5).fold(i).normal([n], DType::F64) * 10f64.powi((i % 4) as i32 - 1);
        let (most, sum) = (x.max().item::<f64>(), x.logsumexp(&[0], false).item::<f64>());
        let rounding = 1e-14 * (1.0 + most.abs());
        assert!(most <= sum + rounding && sum <= most + (n as f64).ln() + rounding, "{x:?}");
        for t in [0.1, 1.0, 7.0, 100.0] {
            let soft = soft_maximum(&x, t).unwrap().item::<f64>();
            let rounding = rounding * (1.0 + 1.0 / t);
            assert!(most <= soft + rounding && soft <= most + (n as f64).ln() / t + rounding, "t = {t}: {x:?}");
        }
    }
    // The gap shrinks as 1/t: exactly with ties, where it is (ln n)/t.
    let ties = Tensor::from([2.5, 2.5, 2.5, 2.5]);
    for t in [1.0, 10.0, 100.0, 1000.0] {
        near((soft_maximum(&ties, t).unwrap().item::<f64>() - 2.5) * t, 4f64.ln(), 1e-9);
    }
    // Without the logarithm and with absolute values the bound fails for negative entries.
    assert!(!printed_bound(&Tensor::from([-5.0])).unwrap());
    assert!(printed_bound(&Tensor::from([5.0, 1.0])).unwrap());
    let x = Tensor::from([-5.0]);
    assert!(
        x.abs().max().item::<f64>() > x.logsumexp(&[0], false).item::<f64>(),
        "nor does max|x| bound LSE from below"
    );
}
