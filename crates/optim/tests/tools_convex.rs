//! C8 to C12 and C19 to C22: convexity, optimality, subgradients, projections, penalties.

// In helpers, too, an error is to end the test.
#![allow(clippy::unwrap_used)]

mod support;

use support::{close, fixture, input, least_squares_data, least_squares_solution, near, output};
use tove_optim::{
    Affine, Batches, BoxSet, Claim, Convex, ConvexSet, FiniteSum, HalfSpace, Indicator, Intersection, L1Ball, L2Ball,
    LInfBall, Newton, Objective, QuadraticPenalty, Region, Rules, Simplex, Stop, check_chords, check_subgradient,
    check_tangents, first_order, gradient_descent, least_curvature, projected_gradient, random_start, second_order,
    stochastic_gradient, subgradient_descent,
};
use tove_tensor::{DType, Error, Key, Tensor};

fn half_mse(x: &Tensor, y: &Tensor) -> impl Fn(&Tensor) -> Tensor + use<> {
    let (x, y) = (x.clone(), y.clone());
    move |w: &Tensor| (&y - x.matmul(w)).square().sum() * (0.5 / y.numel() as f64)
}

#[test]
fn c8_chords_and_tangents_pass_convex_functions_and_refute_others_with_points() {
    let region = Region::around(&Tensor::zeros([3], DType::F64), 3.0);
    let convex: [(&str, &dyn Objective); 5] = [
        ("‖x‖²", &|x: &Tensor| x.square().sum()),
        ("|x|", &|x: &Tensor| x.abs().sum()),
        ("exp", &|x: &Tensor| x.exp().sum()),
        ("LSE", &|x: &Tensor| x.logsumexp(&[0], false)),
        ("hinge", &|x: &Tensor| (1.0 - x).relu().sum()),
    ];
    for (name, f) in convex {
        assert!(check_chords(f, &region, 2000, 1).unwrap().is_none(), "{name}");
        assert!(check_tangents(f, &region, 2000, 1).unwrap().is_none(), "{name}");
    }
    let line = Region::around(&Tensor::from([0.0]), 3.0);
    let others: [&dyn Objective; 2] = [&|x: &Tensor| x.sin().sum(), &|x: &Tensor| x.powf(3.0).sum()];
    for f in others {
        let found = check_chords(f, &line, 2000, 1).unwrap().expect("a violating triple");
        let between = &found.first * found.weight + &found.second * (1.0 - found.weight);
        let chord =
            found.weight * f.value(&found.first).unwrap() + (1.0 - found.weight) * f.value(&found.second).unwrap();
        assert!((0.0..=1.0).contains(&found.weight) && f.value(&between).unwrap() > chord + 1e-9);
        near(found.value, f.value(&between).unwrap(), 1e-12);
        let found = check_tangents(f, &line, 2000, 1).unwrap().expect("a violating pair");
        let (value, gradient) = f.value_and_gradient(&found.touching).unwrap();
        let tangent = value + (gradient * (&found.at - &found.touching)).sum().item::<f64>();
        assert!(f.value(&found.at).unwrap() < tangent - 1e-9);
    }
    // f32 has its own rounding.
    let single = Region::around(&Tensor::from([0.0f32, 0.0]), 3.0);
    assert!(check_chords(&|x: &Tensor| x.square().sum(), &single, 2000, 2).unwrap().is_none());
}

#[test]
fn c9_hessians_of_linear_models_are_semidefinite_those_of_networks_are_not() {
    let (x, y) = least_squares_data(40, 4, 1);
    let labels = y.sign();
    let points = Region::around(&Tensor::zeros([4], DType::F64), 3.0).points(100, 3).unwrap();
    let logistic = |w: &Tensor| (-(&labels * x.matmul(w))).softplus().mean();
    assert!(least_curvature(&half_mse(&x, &y), &points).unwrap().value >= -1e-10);
    assert!(least_curvature(&logistic, &points).unwrap().value >= -1e-10);
    // Sums and affine maps keep convexity: the same two, built by rules with their proofs.
    let built = Convex::half_square().after_affine(&x, &-&y).unwrap().times(1.0 / 40.0).unwrap();
    let signed = &x * labels.reshape([40, 1]);
    let both = Convex::logistic().after_affine(&signed, &y.zeros_like()).unwrap().times(1.0 / 40.0).unwrap();
    near(both.value(&points[0]).unwrap(), logistic.value(&points[0]).unwrap(), 1e-12);
    near(built.value(&points[0]).unwrap(), half_mse(&x, &y).value(&points[0]).unwrap(), 1e-12);
    let sum = built.plus(both);
    assert!(least_curvature(&sum, &points).unwrap().value >= sum.strong_convexity() - 1e-10);
    assert!(sum.proof().contains("sum") && sum.proof().contains("affine") && sum.strong_convexity() > 0.0);
    assert!(matches!(sum.times(-1.0), Err(Error::Parameter { .. })));
    // An MLP: 4 → 3 → 1 with tanh, 15 weights.
    let mlp = |p: &Tensor| {
        let (v, u) = (p.narrow(0, 0, 12).reshape([4, 3]), p.narrow(0, 12, 3));
        (x.matmul(&v).tanh().matmul(&u) - &y).square().mean()
    };
    let points = Region::around(&Tensor::zeros([15], DType::F64), 1.0).points(100, 4).unwrap();
    let least = least_curvature(&mlp, &points).unwrap();
    assert!(least.value < -1e-3);
    near(mlp.hessian(&least.at).unwrap().eigvalsh().at::<f64>(&[0]), least.value, 1e-12);
}

#[test]
fn c10_strict_convexity_gives_at_most_one_minimiser() {
    let (x, y) = least_squares_data(30, 4, 2);
    let ends = |f: &dyn Objective, n: usize, step: f64| -> Vec<(Tensor, f64)> {
        let run = |seed| {
            let run =
                gradient_descent(f, &random_start([n], DType::F64, seed).unwrap(), step, &Rules::default()).unwrap();
            (run.minimiser().unwrap().clone(), run.value)
        };
        (0..20).map(run).collect()
    };
    let full = ends(&half_mse(&x, &y), 4, 0.3);
    assert!(full.iter().all(|(w, _)| (w - &full[0].0).norm(2.0).item::<f64>() < 1e-6));
    // A fifth column that repeats the first: many minimisers, one minimum.
    let wide = Tensor::concat(&[&x, &x.narrow(1, 0, 1)], 1);
    let deficient = ends(&half_mse(&wide, &y), 5, 0.2);
    assert!(deficient.iter().all(|(_, value)| (value - deficient[0].1).abs() < 1e-10));
    let apart = deficient.iter().filter(|(w, _)| (w - &deficient[0].0).norm(2.0).item::<f64>() > 0.1).count();
    assert!(apart >= 15, "only {apart} of 19 differ");
    // A minimiser of a convex function is global: no sampled point lies lower.
    let f = half_mse(&wide, &y);
    let region = Region::around(&Tensor::zeros([5], DType::F64), 10.0).points(2000, 1).unwrap();
    assert!(region.iter().all(|w| f.value(w).unwrap() >= deficient[0].1));
    // eˣ is strictly convex and has no minimiser, which is reported, however the run ends.
    let exponential = |x: &Tensor| x.exp().sum();
    for rules in
        [Rules { max_iterations: 2000, ..Rules::default() }, Rules { gradient_tolerance: 1e-3, ..Rules::default() }]
    {
        let run = gradient_descent(&exponential, &Tensor::from([1.0]), 0.3, &rules).unwrap();
        let error = run.minimiser().unwrap_err();
        assert!(error.is_data() && error.to_string().contains("no minimiser in sight"), "{error}");
        assert!(run.receding.is_some());
    }
    let newton = Newton::default().minimise(&exponential, &Tensor::from([1.0])).unwrap();
    assert!(newton.minimiser().is_err());
}

#[test]
fn c11_first_order_certificates_bound_the_gap() {
    let (x, y) = least_squares_data(50, 3, 3);
    let f = Convex::half_square().after_affine(&x, &-&y).unwrap().times(1.0 / 50.0).unwrap();
    let best = least_squares_solution(&x, &y);
    let least = f.value(&best).unwrap();
    let eigenvalues = (x.t().matmul(&x) / 50.0).eigvalsh().to_vec::<f64>();
    near(f.strong_convexity(), eigenvalues[0], 1e-10);
    // Along a run the bound holds and shrinks to nothing.
    let rules = Rules { keep_path: true, max_iterations: 400, gradient_tolerance: 1e-12, ..Rules::default() };
    let run = gradient_descent(&f, &Tensor::zeros([3], DType::F64), 0.3, &rules).unwrap();
    for w in &run.path {
        let certificate = first_order(&f, w, None).unwrap();
        let gap = f.value(w).unwrap() - least;
        near(certificate.gradient_norm, f.gradient(w).unwrap().norm(2.0).item::<f64>(), 1e-12);
        let bound = certificate.gap_bound.unwrap();
        assert!(bound >= gap - 1e-14 && bound <= gap * eigenvalues[2] / eigenvalues[0] * 1.001 + 1e-14);
        // With a radius that holds the minimiser.
        let radius = (w - &best).norm(2.0).item::<f64>();
        assert!(first_order(&f, w, Some(radius)).unwrap().gap_bound.unwrap() >= gap - 1e-14);
    }
    let Claim::Global { gap } = run.claim_convex(&f).unwrap() else { panic!("convex problems have certificates") };
    assert!(gap < 1e-16);
    assert!(first_order(&f, &best, None).unwrap().gap_bound.unwrap() < 1e-20, "gradient zero means global");
    // Not strongly convex: no bound without a radius, a valid one with it.
    let wide = Tensor::concat(&[&x, &x], 1);
    let flat = Convex::half_square().after_affine(&wide, &-&y).unwrap().times(1.0 / 50.0).unwrap();
    assert_eq!(flat.strong_convexity(), 0.0);
    let w = Tensor::from([0.5, -1.0, 0.0, 0.2, 0.0, 0.1]);
    assert!(first_order(&flat, &w, None).unwrap().gap_bound.is_none());
    let nearest = &w - wide.pinv(None).matmul(&(wide.matmul(&w) - wide.matmul(&least_squares_solution(&wide, &y))));
    let radius = (&w - &nearest).norm(2.0).item::<f64>();
    assert!(first_order(&flat, &w, Some(radius)).unwrap().gap_bound.unwrap() >= flat.value(&w).unwrap() - least);
    // Ridge logistic regression, with its minimum from Newton's method.
    let signed = &x * y.sign().reshape([50, 1]);
    let ridge = Convex::logistic().after_affine(&signed, &y.zeros_like()).unwrap().times(0.02).unwrap();
    let ridge = ridge.plus(Convex::half_square().times(0.1).unwrap());
    let minimum = Newton::default().minimise(&ridge, &Tensor::zeros([3], DType::F64)).unwrap().value;
    for w in Region::around(&Tensor::zeros([3], DType::F64), 2.0).points(50, 5).unwrap() {
        assert!(first_order(&ridge, &w, None).unwrap().gap_bound.unwrap() >= ridge.value(&w).unwrap() - minimum);
    }
}

#[test]
fn c12_second_order_needs_a_definite_hessian() {
    let zero = Tensor::from([0.0]);
    assert!(second_order(&|x: &Tensor| x.square().sum(), &zero).unwrap().accepted);
    for f in [|x: &Tensor| x.powf(3.0).sum(), |x: &Tensor| -x.powf(4.0).sum()] {
        let found = second_order(&f, &zero).unwrap();
        // Gradient zero and Hessian semidefinite, which the necessary condition asks for, and still no minimum.
        assert_eq!((found.accepted, found.gradient_norm, found.least_eigenvalue), (false, 0.0, 0.0));
        assert!(found.because.contains("not sufficient"));
        assert!(f.value(&Tensor::from([-1e-2])).unwrap() < f.value(&zero).unwrap());
    }
    let sloped = second_order(&|x: &Tensor| x.square().sum(), &Tensor::from([0.5])).unwrap();
    assert!(!sloped.accepted && sloped.because.contains("gradient"));
    assert!(!second_order(&|x: &Tensor| -x.square().sum(), &zero).unwrap().accepted);
    let (x, y) = least_squares_data(30, 3, 4);
    assert!(second_order(&half_mse(&x, &y), &least_squares_solution(&x, &y)).unwrap().accepted);
}

#[test]
fn c19_subgradients_of_the_absolute_value_and_descent_along_them() {
    let f = |x: &Tensor| x.abs().sum();
    let accepted = |at: f64, g: f64| {
        check_subgradient(&f, &Tensor::from([at]), &Tensor::from([g]), 10.0, 700, 1).unwrap().is_none()
    };
    // Exactly [−1, 1] at 0.
    assert!((-100..=100).all(|i| accepted(0.0, f64::from(i) / 100.0)));
    assert!([1.0 + 1e-9, -1.0 - 1e-9, 1.5, -2.0, 100.0].iter().all(|g| !accepted(0.0, *g)));
    // Elsewhere the gradient only.
    assert!(accepted(0.5, 1.0) && accepted(-0.5, -1.0));
    assert!([0.999, 1.001, 0.0, -1.0].iter().all(|g| !accepted(0.5, *g)));
    let refuted = check_subgradient(&f, &Tensor::from([0.0]), &Tensor::from([2.0]), 10.0, 700, 1).unwrap().unwrap();
    assert!(f.value(&refuted.at).unwrap() < 2.0 * refuted.at.item::<f64>());
    // The engine's own choice at the kink is one of them.
    let g = f.gradient(&Tensor::from([0.0])).unwrap().item::<f64>();
    assert!(accepted(0.0, g));
    // Steps 1/√t come close; constant ones swing.
    let shifted = |x: &Tensor| (x - 3.0).abs().sum();
    let start = Tensor::from([0.05]);
    let run = subgradient_descent(&shifted, &start, |t| 1.0 / (t as f64).sqrt(), 20_000).unwrap();
    assert!(run.best_value < 1e-2, "{}", run.best_value);
    near(shifted.value(&run.best).unwrap(), run.best_value, 1e-15);
    let constant = subgradient_descent(&shifted, &start, |_| 0.1, 1000).unwrap();
    let tail = &constant.values[900..];
    assert!(tail.windows(2).all(|pair| (pair[0] - pair[1]).abs() < 1e-9 || (pair[0] + pair[1] - 0.1).abs() < 1e-9));
    assert!(tail.iter().all(|value| *value > 0.04), "it never arrives");
    let swings = tail.windows(3).filter(|v| (v[1] - v[0]) * (v[2] - v[1]) <= 1e-12).count();
    assert!(swings >= 90 && constant.best_value < 0.1);
}

/// Feasible, idempotent, non-expansive, and optimal by the variational inequality (w − v)ᵀ(u − v) ≤ 0 for all u of the set.
fn obeys_the_laws(name: &str, set: &dyn ConvexSet, n: usize) {
    let random = |i: u64| Key::new(77).fold(i).normal([n], DType::F64) * 3.0;
    for i in 0..40 {
        let (a, b) = (random(2 * i), random(2 * i + 1));
        let (pa, pb) = (set.project(&a).unwrap(), set.project(&b).unwrap());
        assert!(set.contains(&pa, 1e-9).unwrap(), "{name}: violation {}", set.violation(&pa).unwrap());
        assert!((set.project(&pa).unwrap() - &pa).norm(2.0).item::<f64>() <= 1e-9, "{name}: idempotent");
        let (before, after) = ((&a - &b).norm(2.0).item::<f64>(), (&pa - &pb).norm(2.0).item::<f64>());
        assert!(after <= before + 1e-9, "{name}: non-expansive");
        let product = ((&a - &pa) * (&pb - &pa)).sum().item::<f64>();
        assert!(product <= 1e-8 * (1.0 + before * before), "{name}: variational inequality {product}");
        // f32 keeps its type and stays as close as its precision allows.
        let single = set.project(&a.to_dtype(DType::F32));
        if let Ok(single) = single {
            assert_eq!(single.dtype(), DType::F32);
            close(&single.to_dtype(DType::F64), &pa, 1e-5);
        }
    }
}

#[test]
fn c20_projections_are_feasible_idempotent_non_expansive_and_optimal() {
    let fixture = fixture();
    let kinds = ["box", "l2", "l1", "linf", "simplex", "half_space", "affine", "intersection"];
    for kind in kinds {
        for case in fixture.cases_starting(&format!("{kind} ")) {
            let centre = || case.inputs.contains_key("centre").then(|| input(case, "centre"));
            let set: Box<dyn ConvexSet> = match kind {
                "box" => Box::new(BoxSet { low: input(case, "low"), high: input(case, "high") }),
                "l2" => Box::new(L2Ball { radius: 1.5, centre: centre() }),
                "l1" => Box::new(L1Ball { radius: 1.5, centre: centre() }),
                "linf" => Box::new(LInfBall { radius: 0.7, centre: centre() }),
                "simplex" => Box::new(Simplex { total: 2.0 }),
                "half_space" => Box::new(HalfSpace { normal: input(case, "normal"), offset: -0.5 }),
                "affine" => Box::new(Affine::new(&input(case, "matrix"), &input(case, "right")).unwrap()),
                _ => Box::new(Intersection::new(vec![
                    Box::new(BoxSet::not_negative()),
                    Box::new(HalfSpace { normal: input(case, "normal"), offset: 0.5 }),
                    Box::new(L1Ball::new(1.0)),
                ])),
            };
            close(&set.project(&input(case, "w")).unwrap(), &output(case, "v"), 1e-6);
            obeys_the_laws(&case.name, set.as_ref(), 6);
        }
    }
    // Points inside stay where they are, to the bit.
    let inside = Tensor::from([0.1, -0.2, 0.05]);
    let balls: [&dyn ConvexSet; 4] =
        [&L2Ball::new(1.0), &L1Ball::new(1.0), &LInfBall::new(1.0), &BoxSet::new(-1.0, 1.0)];
    for set in balls {
        assert_eq!(set.project(&inside).unwrap().to_vec::<f64>(), inside.to_vec::<f64>());
    }
    // Empty sets, sets that do not meet, and points that are not finite are errors with a way out.
    assert!(matches!(BoxSet::new(1.0, 0.0).project(&inside), Err(Error::Parameter { .. })));
    assert!(matches!(L2Ball::new(-1.0).project(&inside), Err(Error::Parameter { .. })));
    assert!(Affine::new(&Tensor::from([[1.0], [1.0]]), &Tensor::from([0.0, 1.0])).unwrap_err().is_data());
    let apart = Intersection {
        rounds: 50,
        ..Intersection::new(vec![Box::new(BoxSet::new(0.0, 1.0)), Box::new(BoxSet::new(2.0, 3.0))])
    };
    assert!(apart.project(&inside).unwrap_err().is_data());
    assert!(Simplex::default().project(&Tensor::from([f64::NAN])).unwrap_err().is_data());
    assert!(matches!(
        L1Ball { radius: 1.0, centre: Some(Tensor::from([0.0])) }.project(&inside),
        Err(Error::ShapePair { .. })
    ));
}

#[test]
fn c21_projected_gradient_stays_inside_and_finds_the_constrained_minimum() {
    let fixture = fixture();
    let affine = fixture.case("ls on affine");
    let sets: Vec<(&str, Box<dyn ConvexSet>)> = vec![
        ("ls in simplex", Box::new(Simplex::default())),
        ("ls in l1 ball", Box::new(L1Ball::new(0.8))),
        ("ls in l2 ball", Box::new(L2Ball::new(0.5))),
        ("ls not negative", Box::new(BoxSet::not_negative())),
        ("ls on affine", Box::new(Affine::new(&input(affine, "matrix"), &input(affine, "right")).unwrap())),
    ];
    for (name, set) in sets {
        let case = fixture.case(name);
        let (x, y) = (input(case, "x"), input(case, "y"));
        let f = half_mse(&x, &y);
        let largest = *(x.t().matmul(&x) / 30.0).eigvalsh().to_vec::<f64>().last().unwrap();
        let rules = Rules { keep_path: true, gradient_tolerance: 1e-10, ..Rules::default() };
        let start = random_start([5], DType::F64, 1).unwrap() * 3.0;
        let run = projected_gradient(&f, set.as_ref(), &start, 1.0 / largest, &rules).unwrap();
        assert_eq!(run.stop, Stop::SmallGradient, "{name}: {run}");
        assert!(run.path.iter().all(|w| set.contains(w, 1e-12).unwrap()), "{name}: every iterate is feasible");
        close(&run.x, &output(case, "w"), 1e-5);
        // Stochastic, with steps 1/t. Gradients are asked for at the iterates, all of which are noted, and at no other point.
        let visited = std::cell::RefCell::new(Vec::new());
        let mean = |w: &Tensor, rows: &[Tensor]| {
            visited.borrow_mut().push(w.detach());
            (&rows[1] - rows[0].matmul(w)).square().mean() * 0.5
        };
        let sum = FiniteSum::new(mean, vec![x.clone(), y.clone()]).unwrap();
        let batches = Batches::new(30, 5, 2).unwrap();
        let step = |t: usize| 1.0 / (10.0 + 0.2 * t as f64);
        let run = stochastic_gradient(&sum, &start, &batches, 600, step, Some(set.as_ref())).unwrap();
        assert!(set.contains(&run.x, 1e-12).unwrap());
        assert!(visited.borrow().len() > run.steps, "every step and the value of every epoch");
        assert!(visited.borrow().iter().all(|w| set.contains(w, 1e-12).unwrap()), "{name}: a stochastic iterate");
        // Gradients of batches scatter around the whole one by about 1, and the mean of the last six points at steps of
        // 1/730 still carries a few hundredths of that.
        close(&run.average, &output(case, "w"), 0.02);

        // Where all samples agree on a point of the set, the scatter vanishes there, and constant steps find it.
        let common = set.project(&output(case, "w")).unwrap();
        let agreeing = |w: &Tensor, rows: &[Tensor]| (rows[0].matmul(&(&common - w))).square().mean() * 0.5;
        let sum = FiniteSum::new(agreeing, vec![x.clone()]).unwrap();
        let run = stochastic_gradient(&sum, &start, &batches, 600, |_| 0.1, Some(set.as_ref())).unwrap();
        assert!(set.contains(&run.x, 1e-12).unwrap());
        close(&run.x, &output(case, "w"), 1e-5);
    }
}

#[test]
fn c22_growing_penalties_lead_to_the_constrained_minimum() {
    let fixture = fixture();
    let case = fixture.case("ls on affine");
    let (x, y, a, b) = (input(case, "x"), input(case, "y"), input(case, "matrix"), input(case, "right"));
    let (f, equations) = (half_mse(&x, &y), |w: &Tensor| a.matmul(w) - &b);
    let found = QuadraticPenalty { mu: 0.1, ..QuadraticPenalty::default() };
    let found = found.minimise(&f, &equations, &Tensor::zeros([5], DType::F64)).unwrap();
    assert!(found.rounds.len() >= 5);
    for pair in found.rounds.windows(2) {
        assert!(pair[1].mu > pair[0].mu && pair[1].violation < pair[0].violation, "the violation falls");
        assert!(pair[1].value >= pair[0].value - 1e-12, "at the price of a higher f");
    }
    let errors: Vec<f64> =
        found.rounds.iter().map(|round| (&round.x - output(case, "w")).norm(2.0).item::<f64>()).collect();
    assert!(errors.windows(2).all(|pair| pair[1] < pair[0] || pair[1] < 1e-6), "{errors:?}");
    close(&found.x, &output(case, "w"), 1e-4);
    assert!(
        QuadraticPenalty { growth: 1.0, ..QuadraticPenalty::default() }.minimise(&f, &equations, &found.x).is_err()
    );
    // The brick wall: f inside, +∞ outside, so that its minimum over everything is the constrained one.
    let set = Affine::new(&a, &b).unwrap();
    let wall = Indicator { objective: &f, set: &set, tolerance: 1e-9 };
    let best = set.project(&output(case, "w")).unwrap();
    near(wall.value(&best).unwrap(), f.value(&best).unwrap(), 1e-12);
    for i in 0..200 {
        let w = &best + Key::new(8).fold(i).normal([5], DType::F64) * 0.3;
        assert_eq!(wall.value(&w).unwrap(), f64::INFINITY);
        assert!(wall.value(&set.project(&w).unwrap()).unwrap() >= wall.value(&best).unwrap() - 1e-6);
    }
    // Outside, the wall has no slope that leads back.
    assert_eq!(wall.gradient(&(&best + 1.0)).unwrap().to_vec::<f64>(), [0.0; 5]);
}
