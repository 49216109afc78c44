//! C1 to C3, C5 to C7 and C13 to C18: descent, its guarantees, stochastic steps.

// In helpers, too, an error is to end the test.
#![allow(clippy::unwrap_used)]

mod support;

use std::f64::consts::PI;

use support::{close, least_squares_data, least_squares_solution};
use tove_optim::landscape::Range;
use tove_optim::objective::Fallible;
use tove_optim::{
    Batches, Claim, FiniteSum, Objective, PointKind, Rules, Steepest, Stop, classify, directional_derivative,
    gradient_descent, is_descent_direction, iterate, multi_start, random_start, steepest_descent, steepest_direction,
    vector_field,
};
use tove_tensor::{DType, Error, GradCheck, Key, Tensor, TryOps, meter};

/// (1/2N)‖y − Xw‖².
fn half_mse(x: &Tensor, y: &Tensor) -> impl Fn(&Tensor) -> Tensor + use<> {
    let (x, y) = (x.clone(), y.clone());
    move |w: &Tensor| (&y - x.matmul(w)).square().sum() * (0.5 / y.numel() as f64)
}

#[test]
fn c1_callbacks_reproduce_gradient_descent_and_reach_the_closed_form() {
    let (x, y) = least_squares_data(60, 4, 1);
    let f = half_mse(&x, &y);
    let start = random_start([4], DType::F64, 7).unwrap();
    assert_eq!(start.to_vec::<f64>(), random_start([4], DType::F64, 7).unwrap().to_vec::<f64>(), "seeded");
    let rules = Rules { max_iterations: 200, keep_path: true, ..Rules::default() };
    let own = iterate(&f, &start, |s| Ok(-s.gradient), |_, _| Ok(0.3), &rules).unwrap();
    let ready = gradient_descent(&f, &start, 0.3, &rules).unwrap();
    let mut w = start.clone();
    for (t, (a, b)) in own.path.iter().zip(&ready.path).enumerate() {
        assert_eq!(a.to_vec::<f64>(), b.to_vec::<f64>(), "step {t}");
        assert_eq!(a.to_vec::<f64>(), w.to_vec::<f64>(), "step {t} of a plain loop");
        w = &w - f.gradient(&w).unwrap() * 0.3;
    }
    // A vector-valued objective is a typed error, in every entry.
    let vector = |w: &Tensor| w.square();
    assert!(matches!(gradient_descent(&vector, &start, 0.1, &rules), Err(Error::Shape { .. })));
    assert!(matches!(vector.value(&start), Err(Error::Shape { .. })));
    assert!(matches!(vector.hessian(&start), Err(Error::Shape { .. })));
    assert!(matches!(vector.hessian_vector(&start, &start), Err(Error::Shape { .. })));
    // Iterative and closed-form minimisers agree.
    let run = gradient_descent(&f, &start, 0.3, &Rules::default()).unwrap();
    close(run.minimiser().unwrap(), &least_squares_solution(&x, &y), 1e-6);
    // Errors of the function itself come through, and integers are no points.
    let faulty = Fallible(|w: &Tensor| x.t().try_matmul(w));
    assert!(matches!(faulty.gradient(&start), Err(Error::ShapePair { .. })));
    assert!(matches!(f.gradient(&Tensor::from([1i64, 2, 3, 4])), Err(Error::DType { .. })));
}

#[test]
fn c2_descent_directions_are_those_with_a_negative_product() {
    let f = |x: &Tensor| (x.square().sum() + x.sin().sum() * 3.0 + x.prod() * 0.5).exp().log1p();
    let mut negatives = 0;
    for i in 0..200 {
        let x = Key::new(1).fold(i).normal([5], DType::F64) * 0.5;
        let p = Key::new(2).fold(i).normal([5], DType::F64);
        let (value, g) = f.value_and_gradient(&x).unwrap();
        let product = (&g * &p).sum().item::<f64>();
        assert_eq!(is_descent_direction(&g, &p).unwrap(), product < 0.0);
        // The derivative along unit p is ‖∇f‖ cos α, with α in (π/2, 3π/2) exactly for descent.
        let slope = directional_derivative(&f, &x, &p).unwrap();
        let (length, gradient) = (p.norm(2.0).item::<f64>(), g.norm(2.0).item::<f64>());
        let alpha = (product / (length * gradient)).acos();
        assert!((slope - gradient * alpha.cos()).abs() <= 1e-10 * gradient);
        assert_eq!(product < 0.0, alpha > PI / 2.0);
        if product < 0.0 {
            negatives += 1;
            let lower = (0..40).any(|k| f.value(&(&x + &p * 0.5f64.powi(k))).unwrap() < value);
            assert!(lower, "no step lowers f along direction {i}");
        }
    }
    assert!(negatives > 50);
    // The predicate is strict: orthogonal to the gradient of ‖x‖² every step raises f.
    let bowl = |x: &Tensor| x.square().sum();
    let (x, p) = (Tensor::from([1.0, 0.0]), Tensor::from([0.0, 1.0]));
    assert!(!is_descent_direction(&bowl.gradient(&x).unwrap(), &p).unwrap());
    assert!((0..40).all(|k| bowl.value(&(&x + &p * 0.5f64.powi(k))).unwrap() >= 1.0));
}

#[test]
fn c3_no_unit_direction_beats_the_negative_gradient() {
    let g = Key::new(3).normal([6], DType::F64) * 4.0;
    let Steepest::Direction(best) = steepest_direction(&g).unwrap() else { panic!("not stationary") };
    assert!((best.norm(2.0).item::<f64>() - 1.0).abs() < 1e-14);
    let least = (&best * &g).sum().item::<f64>();
    for i in 0..10_000 {
        let u = Key::new(4).fold(i).normal([6], DType::F64);
        let u = &u / &u.norm(2.0);
        assert!((&u * &g).sum().item::<f64>() >= least);
    }
    // The negative gradient itself has a lower product only because it is no unit vector: the norm must be divided out.
    assert!((-(&g * &g).sum().item::<f64>()) < least && (g.norm(2.0).item::<f64>() - 1.0).abs() > 0.1);
    assert!(matches!(steepest_direction(&g.zeros_like()).unwrap(), Steepest::Stationary));
    let run = steepest_descent(&|x: &Tensor| x.square().sum(), &Tensor::from([0.0f32]), 0.1, &Rules::fixed(5)).unwrap();
    assert_eq!((run.stop, run.iterations, run.x.item::<f32>()), (Stop::SmallGradient, 0, 0.0));
    // Gradients whose squares overflow or vanish still have a direction.
    for scale in [1e-200, 1e200] {
        let Steepest::Direction(u) = steepest_direction(&Tensor::from([3.0 * scale, 4.0 * scale])).unwrap() else {
            panic!("not stationary")
        };
        close(&u, &Tensor::from([-0.6, -0.8]), 1e-14);
    }
}

#[test]
fn c5_spectrum_and_ball_label_stationary_points() {
    let at = |f: &dyn Objective, n: usize| classify(f, &Tensor::zeros([n], DType::F64), 0.5).unwrap();
    let bowl = at(&|x: &Tensor| x.square().sum(), 2);
    assert!(bowl.kind == PointKind::Minimum && bowl.ball.looks_like_minimum() && bowl.ball.higher == bowl.ball.points);
    let dome = at(&|x: &Tensor| -x.square().sum(), 2);
    assert!(dome.kind == PointKind::Maximum && dome.ball.looks_like_maximum() && dome.ball.lower == dome.ball.points);
    let saddle = at(&|x: &Tensor| x.get(0).square() - x.get(1).square(), 2);
    assert!(saddle.kind == PointKind::Saddle && saddle.ball.looks_like_saddle());
    assert_eq!(saddle.eigenvalues, [-2.0, 2.0]);
    // Second order does not decide these; the ball tells them apart.
    let cubic = at(&|x: &Tensor| x.powf(3.0).sum(), 1);
    assert!(cubic.kind == PointKind::Undecided && cubic.ball.looks_like_saddle());
    let quartic = at(&|x: &Tensor| x.powf(4.0).sum(), 1);
    assert!(quartic.kind == PointKind::Undecided && quartic.ball.looks_like_minimum());
    let slope = classify(&|x: &Tensor| x.square().sum(), &Tensor::from([1.0]), 0.5).unwrap();
    assert!(slope.kind == PointKind::NotStationary && slope.ball.looks_like_saddle());
    // The same in f32.
    let single = classify(&|x: &Tensor| x.square().sum(), &Tensor::from([0.0f32, 0.0]), 0.5).unwrap();
    assert!(single.kind == PointKind::Minimum && single.ball.looks_like_minimum());
}

#[test]
fn c6_descent_ends_at_stationary_points_and_claims_no_more() {
    let saddle = |x: &Tensor| x.get(0).square() - x.get(1).square();
    let run = gradient_descent(&saddle, &Tensor::from([3.0, 0.0]), 0.1, &Rules::default()).unwrap();
    assert_eq!((run.stop.clone(), run.claim()), (Stop::SmallGradient, Claim::Stationary));
    assert!(run.gradient_norm <= 1e-8);
    assert_eq!(classify(&saddle, &run.x, 0.5).unwrap().kind, PointKind::Saddle);
    // On a smooth function bounded below, the gradient tends to zero.
    let wavy = |x: &Tensor| x.square().sum() + x.sin().sum() * 3.0;
    for seed in 0..20 {
        let start = random_start([3], DType::F64, seed).unwrap() * 3.0;
        let run = gradient_descent(&wavy, &start, 0.1, &Rules::default()).unwrap();
        assert_eq!(run.claim(), Claim::Stationary);
    }
    // Several minima: the best of the runs comes back, and only that is claimed.
    let well = |x: &Tensor| ((x.square() - 1.0).square() + x * 0.3).sum();
    let starts: Vec<Tensor> = (0..10).map(|seed| random_start([1], DType::F64, seed).unwrap()).collect();
    let found = multi_start(&starts, |start| gradient_descent(&well, start, 0.02, &Rules::default())).unwrap();
    let ends: Vec<f64> = found.runs.iter().map(|run| run.x.item::<f64>()).collect();
    assert!(ends.iter().any(|x| *x > 0.5) && ends.iter().any(|x| *x < -0.5), "both wells are found: {ends:?}");
    assert_eq!(found.distinct(1e-3).unwrap().len(), 2);
    assert!(found.runs.iter().all(|run| run.value >= found.best().value) && found.best().x.item::<f64>() < 0.0);
    assert_eq!(found.claim(), Claim::BestOfRuns(10));
    assert!(found.claim().to_string().contains("lower values may exist"));
}

#[test]
fn c7_the_negative_gradient_leads_downhill_but_not_always_straight() {
    let range = || Range::new(-2.0, 2.0, 9);
    // Cosine between ∇f and the way to the minimum at the origin.
    let cosines = |f: &dyn Objective| -> Vec<f64> {
        let field = vector_field(f, range(), range()).unwrap();
        assert_eq!(field.len(), 81);
        let away = field.iter().filter(|arrow| arrow.at != (0.0, 0.0));
        let cosine = |((x, y), (gx, gy)): ((f64, f64), (f64, f64))| -(x * gx + y * gy) / (x.hypot(y) * gx.hypot(gy));
        away.map(|arrow| cosine((arrow.at, arrow.gradient))).collect()
    };
    let round = cosines(&|x: &Tensor| x.square().sum());
    assert!(round.iter().all(|c| (c + 1.0).abs() < 1e-14), "the gradient points away from the minimum");
    let long = cosines(&|x: &Tensor| x.get(0).square() + x.get(1).square() * 10.0);
    assert!(long.iter().all(|c| *c < 0.0));
    assert!(long.iter().filter(|c| (**c + 1.0).abs() > 0.05).count() > 40);
    assert!(long.iter().filter(|c| (**c + 1.0).abs() < 1e-12).count() == 16, "straight on the axes only");
}

#[test]
fn c13_full_gradient_matches_its_loss_and_costs_n_times_d() {
    let (x, y) = least_squares_data(40, 6, 2);
    let w = Key::new(9).normal([6], DType::F64);
    let f = half_mse(&x, &y);
    let closed = |x: &Tensor, y: &Tensor| -(x.t().matmul(&(y - x.matmul(&w)))) / y.numel() as f64;
    close(&f.gradient(&w).unwrap(), &closed(&x, &y), 1e-10);
    GradCheck::default().check(|p| half_mse(&p[1], &p[2])(&p[0]), &[w.clone(), x.clone(), y.clone()]).unwrap();
    // With 1/N in place of 1/(2N) the gradient is twice that: loss and gradient stay consistent.
    let mean = |w: &Tensor| (&y - x.matmul(w)).square().mean();
    close(&mean.gradient(&w).unwrap(), &(closed(&x, &y) * 2.0), 1e-10);
    // O(N D): the count doubles with either.
    let cost = |n: usize, d: usize| {
        let (x, y) = least_squares_data(n, d, 3);
        let (f, w) = (half_mse(&x, &y), Tensor::zeros([d], DType::F64));
        meter::measure(|| f.gradient(&w).unwrap()).1.flops() as f64
    };
    let (one, rows, columns) = (cost(256, 128), cost(512, 128), cost(256, 256));
    assert!((rows / one - 2.0).abs() < 0.03 && (columns / one - 2.0).abs() < 0.03, "{one} {rows} {columns}");
}

/// The mean of (1/2) e² as a sum over samples.
fn finite_sum(x: &Tensor, y: &Tensor) -> FiniteSum<impl Fn(&Tensor, &[Tensor]) -> Tensor + use<>> {
    let mean = |w: &Tensor, rows: &[Tensor]| (&rows[1] - rows[0].matmul(w)).square().mean() * 0.5;
    FiniteSum::new(mean, vec![x.clone(), y.clone()]).unwrap()
}

#[test]
fn c14_single_samples_average_to_the_full_gradient_at_a_cost_without_n() {
    let (x, y) = least_squares_data(50, 4, 4);
    let (sum, w) = (finite_sum(&x, &y), Key::new(5).normal([4], DType::F64));
    let total = (0..50).fold(Tensor::zeros([4], DType::F64), |total, i| total + sum.sample_gradient(&w, i).unwrap());
    close(&(total / 50.0), &sum.gradient(&w).unwrap(), 1e-10);
    let cost = |n: usize, d: usize| {
        let (x, y) = least_squares_data(n, d, 4);
        let (sum, w) = (finite_sum(&x, &y), Tensor::zeros([d], DType::F64));
        let narrow = meter::measure(|| sum.sample_gradient(&w, n / 2).unwrap()).1;
        let gathered = meter::measure(|| sum.batch_gradient(&w, &Tensor::from([7i64])).unwrap()).1;
        (narrow.flops(), narrow.peak_bytes(), gathered.flops(), gathered.peak_bytes())
    };
    assert_eq!(cost(100, 32), cost(10_000, 32), "one step costs the same for any number of samples");
    let (small, large) = (cost(100, 256).0 as f64, cost(100, 512).0 as f64);
    assert!((large / small - 2.0).abs() < 0.1, "and O(D): {small} {large}");
}

#[test]
fn c15_batches_of_an_epoch_average_to_the_full_gradient_and_variance_falls_as_one_over_size() {
    let (x, y) = least_squares_data(240, 3, 6);
    let (sum, w) = (finite_sum(&x, &y), Key::new(6).normal([3], DType::F64));
    let full = sum.gradient(&w).unwrap();
    for size in [2, 8, 48] {
        let batches = Batches::new(240, size, 3).unwrap().epoch(0);
        let total =
            batches.iter().fold(full.zeros_like(), |total, index| total + sum.batch_gradient(&w, index).unwrap());
        close(&(total / batches.len() as f64), &full, 1e-10);
    }
    // Batches drawn with replacement: the variance of gradient and loss is that of one sample over |B|. With 6000 draws the ratio
    // of two variances has a relative error of about √(2·2·κ/6000) ≈ 0.05 (κ ≈ 4 for these heavy-tailed squares), hence 15%.
    let value = sum.value(&w).unwrap();
    let spread = |size: usize| {
        let (mut gradient, mut loss) = (0.0, 0.0);
        for draw in 0..6000 {
            let index = Key::new(size as u64).fold(draw).integers(0, 240, [size]);
            let (found, g) = sum.batch(&index).unwrap().value_and_gradient(&w).unwrap();
            gradient += (g - &full).square().sum().item::<f64>() / 6000.0;
            loss += (found - value).powi(2) / 6000.0;
        }
        (gradient, loss)
    };
    let (one, four, sixteen) = (spread(1), spread(4), spread(16));
    for (small, large) in [(one, four), (four, sixteen)] {
        assert!((small.0 / large.0 / 4.0 - 1.0).abs() < 0.15, "gradients: {one:?} {four:?} {sixteen:?}");
        assert!((small.1 / large.1 / 4.0 - 1.0).abs() < 0.15, "losses: {one:?} {four:?} {sixteen:?}");
    }
}

#[test]
fn c16_every_sample_once_per_epoch_reproducible_and_printable() {
    let batches = Batches::new(23, 5, 11).unwrap();
    let mut orders = Vec::new();
    for epoch in 0..4 {
        let cut = batches.epoch(epoch);
        assert_eq!(cut.iter().map(Tensor::numel).collect::<Vec<_>>(), [5, 5, 5, 5, 3]);
        let seen: Vec<i64> = cut.iter().flat_map(|batch| batch.to_vec::<i64>()).collect();
        let mut sorted = seen.clone();
        sorted.sort();
        assert_eq!(sorted, (0..23).collect::<Vec<i64>>());
        assert_eq!(seen, batches.order(epoch), "batches are consecutive pieces of the order");
        orders.push(seen);
    }
    assert!(orders[0] != orders[1] && orders[1] != orders[2], "reshuffled each epoch");
    assert_eq!(Batches::new(23, 5, 11).unwrap().order(2), orders[2]);
    assert_ne!(Batches::new(23, 5, 12).unwrap().order(2), orders[2]);
    // A ragged last batch is kept or dropped.
    let dropped = batches.drop_last(true);
    assert_eq!((batches.steps_per_epoch(), dropped.steps_per_epoch()), (5, 4));
    assert!(dropped.epoch(0).iter().all(|batch| batch.numel() == 5));
    // n = b r: b = n/r steps per epoch, whatever the number of epochs, which is free.
    let even = Batches::new(12, 4, 0).unwrap();
    assert_eq!(even.steps_per_epoch(), 12 / 4);
    for epochs in [1, 3, 7] {
        let text = even.describe(epochs);
        assert_eq!((text.lines().count(), text.matches('[').count()), (epochs, 3 * epochs));
    }
    // The printed sequence is the one that is used.
    let first = batches.order(0).chunks(5).map(|c| format!("{c:?}").replace(',', "")).collect::<Vec<_>>().join(" ");
    assert_eq!(batches.describe(2).lines().next().unwrap(), format!("epoch 1: {first}"));
    assert!(Batches::new(4, 0, 0).is_err());
}

#[test]
fn c17_the_result_names_its_rule_and_tighter_rules_never_end_sooner() {
    let (x, y) = least_squares_data(30, 3, 7);
    let f = half_mse(&x, &y);
    let start = Tensor::zeros([3], DType::F64);
    let mut last = 0;
    for eps in [1e-2, 1e-4, 1e-6, 1e-9, 1e-12, 1e-16, 1e-20] {
        let rules = Rules { step_tolerance: eps, gradient_tolerance: 0.0, keep_path: true, ..Rules::default() };
        let run = gradient_descent(&f, &start, 0.2, &rules).unwrap();
        assert_eq!(run.stop, Stop::SmallStep);
        assert!(run.iterations >= last, "{eps}: {} after {last}", run.iterations);
        last = run.iterations;
        // It fired at the first step that is short enough.
        assert_eq!((run.path.len(), run.values.len()), (run.iterations + 1, run.iterations + 1));
        let moves: Vec<f64> = run.path.windows(2).map(|w| (&w[1] - &w[0]).square().sum().item::<f64>()).collect();
        assert_eq!(moves.iter().position(|moved| *moved < eps), Some(run.iterations - 1));
    }
    let limit = gradient_descent(&f, &start, 0.2, &Rules { max_iterations: 3, ..Rules::default() }).unwrap();
    assert_eq!((limit.stop.clone(), limit.iterations), (Stop::IterationLimit, 3));
    assert!(limit.minimiser().is_err() && limit.to_string().contains("3 iterations"));
    let change = Rules { value_tolerance: 1e-6, gradient_tolerance: 0.0, ..Rules::default() };
    assert_eq!(gradient_descent(&f, &start, 0.2, &change).unwrap().stop, Stop::SmallChange);
    assert_eq!(gradient_descent(&f, &start, 0.2, &Rules::default()).unwrap().stop, Stop::SmallGradient);
    assert!(gradient_descent(&f, &start, 0.2, &Rules { step_tolerance: -1.0, ..Rules::default() }).is_err());
}

#[test]
fn c18_the_least_squares_program_reaches_the_closed_form_or_reports_divergence() {
    let (x, y) = least_squares_data(100, 3, 8);
    let rate = 1e-3;
    // w + lr Xᵀ(y − Xw) descends on (1/2)‖y − Xw‖².
    let program = |x: &Tensor, y: &Tensor| {
        let (x, y) = (x.clone(), y.clone());
        move |w: &Tensor| x.matmul(w).try_residual(&y).unwrap().square().sum() * 0.5
    };
    use tove_tensor::TryReduce;
    let largest = |x: &Tensor| *x.t().matmul(x).eigvalsh().to_vec::<f64>().last().unwrap();
    assert!(rate < 2.0 / largest(&x));
    let start = random_start([3], DType::F64, 1).unwrap();
    let run = gradient_descent(&program(&x, &y), &start, rate, &Rules::fixed(15_000)).unwrap();
    assert_eq!((run.iterations, run.stop.clone()), (15_000, Stop::IterationLimit));
    assert_eq!(run.x.shape(), &[3], "w keeps its shape");
    close(&run.x, &least_squares_solution(&x, &y), 1e-6);
    // The update is the seed's, term by term.
    let step = &start + x.t().matmul(&(&y - x.matmul(&start))) * rate;
    let one = gradient_descent(&program(&x, &y), &start, rate, &Rules::fixed(1)).unwrap();
    close(&one.x, &step, 1e-12);
    // Too large a step is reported with the bound that holds.
    let big = &x * 10.0;
    assert!(rate > 2.0 / largest(&big));
    let run = gradient_descent(&program(&big, &y), &start, rate, &Rules::fixed(15_000)).unwrap();
    let Stop::Diverged(text) = &run.stop else { panic!("not reported: {run}") };
    assert!(text.contains("diverged") && text.contains("must stay below"), "{text}");
    let bound: f64 = text.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(bound < rate && (bound * largest(&big) / 2.0 - 1.0).abs() < 0.2, "{text}");
    assert!(run.minimiser().is_err() && run.iterations < 15_000);
    // A start of shape (c, 1) is refused instead of stretched to (n, n).
    assert!((x.matmul(&start.reshape([3, 1]))).try_residual(&y).is_err());
    // In f32 too.
    let (x32, y32) = (x.to_dtype(DType::F32), y.to_dtype(DType::F32));
    let run = gradient_descent(&program(&x32, &y32), &start.to_dtype(DType::F32), rate, &Rules::fixed(15_000)).unwrap();
    assert_eq!(run.x.dtype(), DType::F32);
    close(&run.x.to_dtype(DType::F64), &least_squares_solution(&x, &y), 1e-4);
}
