//! C36 to C38: Newton's method, steps and scaling, contours.

// In helpers, too, an error is to end the test.
#![allow(clippy::unwrap_used)]

mod support;

use support::{close, least_squares_data, least_squares_solution};
use tove_optim::landscape::Range;
use tove_optim::{
    Armijo, Batches, Damping, FiniteSum, Landscape, Newton, Objective, Rules, Stop, backtracking_descent,
    gradient_descent, newton_step, random_start, stochastic_gradient,
};
use tove_tensor::{DType, Error, Key, Tensor};

/// (1/2N)‖y − Xw‖².
fn half_mse(x: &Tensor, y: &Tensor) -> impl Fn(&Tensor) -> Tensor + use<> {
    let (x, y) = (x.clone(), y.clone());
    move |w: &Tensor| (&y - x.matmul(w)).square().sum() * (0.5 / y.numel() as f64)
}

/// The mean of (1/2) e² as a sum over samples.
fn finite_sum(x: &Tensor, y: &Tensor) -> FiniteSum<impl Fn(&Tensor, &[Tensor]) -> Tensor + use<>> {
    let mean = |w: &Tensor, rows: &[Tensor]| (&rows[1] - rows[0].matmul(w)).square().mean() * 0.5;
    FiniteSum::new(mean, vec![x.clone(), y.clone()]).unwrap()
}

#[test]
fn c36_newton_solves_quadratics_at_once_doubles_digits_and_refuses_singular_hessians() {
    // One step solves a quadratic, badly conditioned or not.
    let (x, y) = least_squares_data(40, 5, 9);
    let x = &x * Tensor::from([1.0, 10.0, 100.0, 0.1, 1.0]);
    let f = half_mse(&x, &y);
    let plain = Newton { line_search: None, damping: Damping::Refuse, ..Newton::default() };
    let one = Newton { rules: Rules::fixed(1), ..plain };
    let run = one.minimise(&f, &random_start([5], DType::F64, 3).unwrap()).unwrap();
    close(&run.x, &least_squares_solution(&x, &y), 1e-9);
    // Logistic loss with a little l2: the errors' exponents double.
    let (x, y) = least_squares_data(80, 3, 10);
    let labels = y.sign();
    let f = |w: &Tensor| (-(&labels * x.matmul(w))).softplus().mean() + w.square().sum() * 0.01;
    let start = Tensor::zeros([3], DType::F64);
    let solution = Newton { rules: Rules { gradient_tolerance: 0.0, ..Rules::fixed(30) }, ..plain };
    let solution = solution.minimise(&f, &start).unwrap().x;
    let path =
        Newton { rules: Rules { keep_path: true, ..Rules::fixed(8) }, ..plain }.minimise(&f, &start).unwrap().path;
    let errors: Vec<f64> = path.iter().map(|w| (w - &solution).norm(2.0).item::<f64>()).collect();
    let orders: Vec<f64> = (1..errors.len() - 1)
        .filter(|&t| errors[t] < 0.5 && errors[t + 1] > 1e-13)
        .map(|t| errors[t + 1].log10() / errors[t].log10())
        .collect();
    assert!(orders.len() >= 2 && orders.iter().all(|order| *order > 1.8), "{errors:?} {orders:?}");
    assert!(*errors.last().unwrap() < 1e-13);
    // Faster than gradient descent, which it is not: second derivatives are used.
    let slow = gradient_descent(&f, &start, 1.0, &Rules::default()).unwrap();
    let fast = Newton::default().minimise(&f, &start).unwrap();
    assert!(fast.iterations * 10 < slow.iterations && fast.gradient_norm < 1e-10);
    // The step minimises the quadratic model.
    let w = Tensor::from([0.3, -0.2, 0.5]);
    let (h, g) = (f.hessian(&w).unwrap(), f.gradient(&w).unwrap());
    let step = newton_step(&h, &g, Damping::Refuse).unwrap();
    let model = |d: &Tensor| (&g * d).sum() + (d * h.matmul(d)).sum() * 0.5;
    assert!(model.gradient(&step.direction).unwrap().norm(2.0).item::<f64>() < 1e-12);
    assert!((model.value(&step.direction).unwrap() + step.decrement / 2.0).abs() < 1e-12);
    // Singular and indefinite Hessians are refused, or damped into descent.
    let flat = |w: &Tensor| w.sum().square();
    let refused = plain.minimise(&flat, &Tensor::from([1.0, 2.0])).unwrap_err();
    assert!(refused.is_data() && refused.to_string().contains("Damping::Levenberg"), "{refused}");
    let damped = Newton::default().minimise(&flat, &Tensor::from([1.0, 2.0])).unwrap();
    assert!(damped.value < 1e-12 && damped.x.sum().item::<f64>().abs() < 1e-6);
    let well = |w: &Tensor| (w.square() - 1.0).square().sum();
    assert!(plain.minimise(&well, &Tensor::from([0.1])).is_err());
    let run = Newton::default().minimise(&well, &Tensor::from([0.1])).unwrap();
    assert!((run.minimiser().unwrap().item::<f64>() - 1.0).abs() < 1e-9);
    assert!(run.values.windows(2).all(|pair| pair[1] <= pair[0]));
    // f32.
    let run = Newton::default().minimise(&well, &Tensor::from([0.1f32])).unwrap();
    assert!((run.x.item::<f32>() - 1.0).abs() < 1e-5);
}

#[test]
fn c37_decreasing_steps_converge_backtracking_never_rises_and_scaling_helps() {
    // Noisy least squares: y = Xw + noise, so single-sample gradients do not vanish at the solution.
    let x = Key::new(30).normal([400, 2], DType::F64);
    let y = x.matmul(&Tensor::from([1.0, -2.0])) + Key::new(31).normal([400], DType::F64);
    let (sum, best) = (finite_sum(&x, &y), least_squares_solution(&x, &y));
    let batches = Batches::new(400, 1, 5).unwrap();
    let distance = |w: &Tensor| (w - &best).square().sum().item::<f64>();
    let start = Tensor::zeros([2], DType::F64);
    // Squared distance after some epochs, averaged over twelve shuffles; the gap asserted between the two rules is a factor of 20.
    let far = |epochs: usize, step: &dyn Fn(usize) -> f64| {
        let run = |seed| {
            let batches = Batches::new(400, 1, seed).unwrap();
            distance(&stochastic_gradient(&sum, &start, &batches, epochs, step, None).unwrap().x)
        };
        (0..12).map(run).sum::<f64>() / 12.0
    };
    let (decreasing, constant) = (|t: usize| 2.0 / (20.0 + t as f64), |_: usize| 0.1);
    let (early, late) = (far(2, &decreasing), far(40, &decreasing));
    assert!(late < early / 5.0 && late < 1e-3, "1/t steps converge: {early} {late}");
    let (early, stalled) = (far(2, &constant), far(40, &constant));
    assert!(stalled > early / 4.0 && stalled > 20.0 * late, "constant steps stall: {early} {stalled}, against {late}");
    assert_eq!(stochastic_gradient(&sum, &start, &batches, 3, decreasing, None).unwrap().steps, 1200);
    // Armijo never increases f, from anywhere on a hilly function.
    let hilly = |x: &Tensor| x.square().sum() * 0.1 + (x * 5.0).sin().sum() + x.exp().mean();
    for seed in 0..30 {
        let start = random_start([4], DType::F64, seed).unwrap() * 3.0;
        let search = Armijo { initial: 100.0, ..Armijo::default() };
        let run =
            backtracking_descent(&hilly, &start, search, &Rules { max_iterations: 300, ..Rules::default() }).unwrap();
        assert!(run.values.windows(2).all(|pair| pair[1] <= pair[0]) && run.values.len() > 3);
    }
    let (value, gradient) = hilly.value_and_gradient(&start.zeros_like()).unwrap();
    assert!(matches!(
        Armijo::default().search(&hilly, &start.zeros_like(), value, &gradient, &gradient),
        Err(Error::Parameter { .. })
    ));
    // Standardised inputs cut the number of iterations.
    let raw =
        Key::new(32).normal([200, 3], DType::F64) * Tensor::from([1.0, 20.0, 0.2]) + Tensor::from([0.0, 5.0, 1.0]);
    let y = Key::new(33).normal([200], DType::F64);
    let even = (&raw - raw.mean_axes(&[0], true)) / raw.std_axes(&[0], 0, true);
    let iterations = |x: &Tensor| {
        let largest = *x.t().matmul(x).eigvalsh().to_vec::<f64>().last().unwrap() / 200.0;
        let rules = Rules { max_iterations: 200_000, gradient_tolerance: 1e-6, ..Rules::default() };
        let run = gradient_descent(&half_mse(x, &y), &Tensor::zeros([3], DType::F64), 1.0 / largest, &rules).unwrap();
        assert_eq!(run.stop, Stop::SmallGradient);
        run.iterations
    };
    let (unscaled, scaled) = (iterations(&raw), iterations(&even));
    assert!(scaled * 100 < unscaled, "{scaled} against {unscaled}");
}

#[test]
fn c38_contours_are_closer_where_the_gradient_is_larger() {
    let f = |w: &Tensor| w.get(0).square() + w.get(1).square() * 25.0;
    let map = Landscape::sample(&f, Range::new(-3.0, 3.0, 241), Range::new(-3.0, 3.0, 241)).unwrap();
    let levels: Vec<f64> = (1..=5).map(|level| level as f64).collect();
    // Where the exported lines cross the positive axes.
    let crossing = |level: f64, along: usize| {
        let pick = |(x, y): (f64, f64)| if along == 0 { (x, y) } else { (y, x) };
        let near = map.contour(level).into_iter().flatten().map(pick).filter(|(a, _)| *a > 0.0);
        near.min_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).unwrap().0
    };
    for pair in levels.windows(2) {
        let along = |axis| crossing(pair[1], axis) - crossing(pair[0], axis);
        let ratio = along(0) / along(1);
        assert!((ratio - 5.0).abs() < 0.2, "lines are five times closer along w2: {ratio}");
    }
    assert!((crossing(4.0, 0) - 2.0).abs() < 1e-3 && (crossing(4.0, 1) - 0.4).abs() < 1e-3);
    // Every exported point lies on its level.
    let text = map.contours_csv(&levels);
    assert!(text.starts_with("level,x1,y1,x2,y2\n") && text.lines().count() > 200);
    for line in text.lines().skip(1) {
        let v: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
        assert!((v[1] * v[1] + 25.0 * v[2] * v[2] - v[0]).abs() < 0.01 && v.len() == 5);
    }
    let g = f.gradient(&Tensor::from([1.0, 1.0])).unwrap().to_vec::<f64>();
    assert!(g[1].abs() > g[0].abs() && g == [2.0, 50.0]);
    // A plane through a function of many variables.
    let many = |x: &Tensor| x.square().sum();
    let (u, v) = (Tensor::from([1.0f32, 0.0, 0.0]), Tensor::from([0.0f32, 0.0, 2.0]));
    let cut =
        Landscape::slice(&many, &u.zeros_like(), [&u, &v], Range::new(0.0, 1.0, 2), Range::new(0.0, 1.0, 2)).unwrap();
    assert_eq!(cut.values, [0.0, 4.0, 1.0, 5.0]);
    assert!(Landscape::sample(&f, Range::new(1.0, 0.0, 5), Range::new(0.0, 1.0, 5)).is_err());
}
