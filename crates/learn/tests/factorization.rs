//! Matrix factorization: full and missing entries, biases, implicit feedback, recommendations.
#![allow(clippy::unwrap_used)]

mod common;

use common::assert_close;
use tove_data::table::read_csv;
use tove_learn::factorization::{FactorizationSolver, ImplicitFactorization, MatrixFactorization, recommend, sgd_step};
use tove_learn::{Csr, Fit, LearnError, Model, Ridge, Rows, Transform, quietly, restore};
use tove_tensor::linalg::svd;
use tove_tensor::{DType, Key, Tensor, grad, gradcheck, meter};

fn normal(seed: u64, shape: [usize; 2]) -> Tensor {
    Key::new(seed).normal(shape, DType::F64)
}

/// Users, items and ratings of the bundled set, in random order.
fn ratings() -> (Vec<(usize, usize, f64)>, usize, usize) {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/movie-ratings.csv");
    let (table, _) = read_csv(file).unwrap();
    let column = |name: &str| table.column(name).unwrap();
    let mut movies: Vec<String> = Vec::new();
    let mut entries = Vec::new();
    for row in 0..table.n_rows() {
        let movie = column("movie").text(row).unwrap().into_owned();
        let item = movies.iter().position(|known| *known == movie).unwrap_or_else(|| {
            movies.push(movie);
            movies.len() - 1
        });
        entries.push((column("user").number(row).unwrap() as usize - 1, item, column("rating").number(row).unwrap()));
    }
    let users = entries.iter().map(|entry| entry.0).max().unwrap() + 1;
    let order = Key::new(9).permutation(entries.len()).to_vec::<i64>();
    (order.iter().map(|&row| entries[row as usize]).collect(), users, movies.len())
}

fn sparse(entries: &[(usize, usize, f64)], users: usize, items: usize) -> Csr {
    let mut sorted = entries.to_vec();
    sorted.sort_by_key(|&(user, item, _)| (user, item));
    let mut indptr = vec![0; users + 1];
    sorted.iter().for_each(|entry| indptr[entry.0 + 1] += 1);
    (0..users).for_each(|user| indptr[user + 1] += indptr[user]);
    let values: Vec<f64> = sorted.iter().map(|entry| entry.2).collect();
    Csr::new(indptr, sorted.iter().map(|entry| entry.1 as u32).collect(), Tensor::from(values), items).unwrap()
}

/// Root mean squared error of a model on held-out entries.
fn rmse(model: &dyn Model, train: &Csr, held_out: &[(usize, usize, f64)]) -> f64 {
    let filled = model.inverse_transform(model.transform(train).unwrap()).unwrap();
    let items = filled.dims()[1];
    let filled = filled.to_f64_vec();
    let squares: f64 = held_out.iter().map(|&(user, item, value)| (filled[user * items + item] - value).powi(2)).sum();
    (squares / held_out.len() as f64).sqrt()
}

fn never_increases(curve: &[f64]) {
    assert!(curve.len() > 1 && curve.windows(2).all(|two| two[1] <= two[0] * (1.0 + 1e-12)), "{curve:?}");
}

/// L16: unobserved entries have no influence; held-out RMSE is below that of user and item means; top-k lists.
#[test]
fn l16_ratings_are_predicted_from_observed_entries_alone() {
    let (entries, users, items) = ratings();
    let (train, held_out) = entries.split_at(entries.len() * 4 / 5);
    let x = sparse(train, users, items);
    let model = MatrixFactorization::default().n_components(2).alpha(12.0).alpha_bias(2.0).fit(&x, None).unwrap();
    never_increases(&model.summary().curve);
    // Dense rows with NaN are the same problem: what is not observed is not looked at.
    let mut dense = vec![f64::NAN; users * items];
    train.iter().for_each(|&(user, item, value)| dense[user * items + item] = value);
    let dense = Rows::from(Tensor::from_vec(dense, [users, items]));
    let samples = tove_learn::Samples::from_parts(dense, None, true).unwrap();
    let same =
        MatrixFactorization::default().n_components(2).alpha(12.0).alpha_bias(2.0).fit_samples(&samples).unwrap();
    assert_eq!(model.components().to_vec::<f64>(), same.components().to_vec::<f64>());
    // The objective is its definition over the observed entries.
    let exact = quietly(|| {
        let estimator = MatrixFactorization::default().n_components(2).alpha(12.0).alpha_bias(2.0);
        estimator.tol(1e-13).max_iter(5000).fit(&x, None).unwrap()
    });
    let (factors, predicted) = (exact.transform(&x).unwrap(), rmse(&exact, &x, train));
    let mean_rating = train.iter().map(|entry| entry.2).sum::<f64>() / train.len() as f64;
    let item_bias: f64 = exact.intercept().to_f64_vec().iter().map(|b| (b - mean_rating).powi(2)).sum();
    let users_of = |first: usize, count: usize| factors.narrow(1, first, count).square().sum().item::<f64>();
    let item_factors = exact.components().narrow(0, 0, 2).square().sum().item::<f64>();
    let squares = predicted * predicted * train.len() as f64;
    let definition = 0.5 * (squares + 12.0 * (users_of(0, 2) + item_factors) + 2.0 * (users_of(2, 1) + item_bias));
    let objective = exact.summary().objective.unwrap();
    assert!((definition - objective).abs() < 1e-6 * objective, "{definition} {objective}");
    // The usual baseline: the mean, and what users and items deviate from it on average.
    let mean = train.iter().map(|entry| entry.2).sum::<f64>() / train.len() as f64;
    let deviation =
        |of: &dyn Fn(&(usize, usize, f64)) -> usize, count: usize, rest: &dyn Fn(&(usize, usize, f64)) -> f64| {
            let (mut sums, mut counts) = (vec![0.0; count], vec![0.0; count]);
            for entry in train {
                sums[of(entry)] += rest(entry);
                counts[of(entry)] += 1.0;
            }
            sums.iter().zip(&counts).map(|(sum, n)| if *n > 0.0 { sum / n } else { 0.0 }).collect::<Vec<f64>>()
        };
    let item = deviation(&|entry| entry.1, items, &|entry| entry.2 - mean);
    let user = deviation(&|entry| entry.0, users, &|entry| entry.2 - mean - item[entry.1]);
    let squares: f64 = held_out.iter().map(|&(u, i, value)| (mean + user[u] + item[i] - value).powi(2)).sum();
    let baseline = (squares / held_out.len() as f64).sqrt();
    let found = rmse(&model, &x, held_out);
    println!("held-out RMSE {found:.4}, user and item means {baseline:.4}");
    assert!(found < baseline - 0.01, "{found} {baseline}");
    // The best of all unseen items, by brute force.
    let lists = recommend(&model, &x, 5, true).unwrap();
    let filled = model.inverse_transform(model.transform(&x).unwrap()).unwrap().to_f64_vec();
    for (user, list) in lists.iter().enumerate() {
        let seen = |item: usize| train.iter().any(|entry| entry.0 == user && entry.1 == item);
        let mut all: Vec<usize> = (0..items).filter(|&item| !seen(item)).collect();
        all.sort_by(|a, b| filled[user * items + b].total_cmp(&filled[user * items + a]).then(a.cmp(b)));
        assert_eq!(list.iter().map(|best| best.item).collect::<Vec<_>>(), all[..5.min(all.len())]);
    }
}

fn cost(x: &Tensor, w: &Tensor, z: &Tensor) -> f64 {
    0.5 * (x - w.matmul(&z.t())).square().sum().item::<f64>()
}

/// L17: (WB, ZB⁻ᵀ) has the same product and cost; convex in each factor, but not in both.
#[test]
fn l17_factors_are_neither_unique_nor_jointly_convex() {
    let (w, z, x) = (normal(1, [6, 3]), normal(2, [5, 3]), normal(3, [6, 5]));
    let b = &normal(4, [3, 3]) + &(Tensor::eye(3, DType::F64) * 3.0);
    let (wb, zb) = (w.matmul(&b), z.matmul(&b.inverse().t()));
    assert_close(&wb.matmul(&zb.t()).to_f64_vec(), &w.matmul(&z.t()).to_f64_vec(), 1e-12);
    assert!((cost(&x, &wb, &zb) - cost(&x, &w, &z)).abs() < 1e-12 * cost(&x, &w, &z));
    // The sign of the printed form, (WB, −ZB⁻ᵀ), turns the product round.
    assert_close(&wb.matmul(&(-&zb).t()).to_f64_vec(), &(-w.matmul(&z.t())).to_f64_vec(), 1e-12);
    // (W, Z) and (−W, −Z) have one cost, their middle (0, 0) a larger one.
    let exact = w.matmul(&z.t());
    let middle = cost(&exact, &(&w * 0.0), &(&z * 0.0));
    assert!(middle > 0.5 * (cost(&exact, &w, &z) + cost(&exact, &-&w, &-&z)) + 1.0);
    // In one factor alone chords lie above.
    for seed in 10..30 {
        let (a, c) = (normal(seed, [6, 3]), normal(seed + 100, [6, 3]));
        let chord = 0.5 * (cost(&x, &a, &z) + cost(&x, &c, &z));
        assert!(cost(&x, &((&a + &c) * 0.5), &z) <= chord);
        let (a, c) = (normal(seed + 200, [5, 3]), normal(seed + 300, [5, 3]));
        let chord = 0.5 * (cost(&x, &w, &a) + cost(&x, &w, &c));
        assert!(cost(&x, &w, &((&a + &c) * 0.5)) <= chord);
    }
}

thread_local! {
    static OPERATIONS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A number that counts what is done with it.
#[derive(Clone, Copy)]
struct Counted(f64);

fn counted(value: f64) -> Counted {
    OPERATIONS.set(OPERATIONS.get() + 1);
    Counted(value)
}

impl std::ops::Mul for Counted {
    type Output = Counted;
    fn mul(self, other: Counted) -> Counted {
        counted(self.0 * other.0)
    }
}

impl std::ops::Sub for Counted {
    type Output = Counted;
    fn sub(self, other: Counted) -> Counted {
        counted(self.0 - other.0)
    }
}

impl std::ops::AddAssign for Counted {
    fn add_assign(&mut self, other: Counted) {
        *self = counted(self.0 + other.0);
    }
}

/// Operations of a step for one entry, its prediction included, of a matrix with so many rows and columns.
fn operations_of_a_step(k: usize, rows: usize) -> usize {
    let mut users = vec![Counted(0.5); rows * k];
    let mut items = vec![Counted(0.25); rows * k];
    OPERATIONS.set(0);
    let (w, z) = (&mut users[k..2 * k], &mut items[k..2 * k]);
    let mut product = Counted(0.0);
    w.iter().zip(&*z).for_each(|(w, z)| product += *w * *z);
    let error = Counted(2.0) - product;
    sgd_step(w, z, error, Counted(0.01), [Counted(0.1); 2]);
    OPERATIONS.get()
}

/// L18: a step follows the gradient of one entry's cost; regularization lowers the held-out error.
#[test]
fn l18_stochastic_gradients_of_one_entry() {
    let (w, z) = (Tensor::from([0.3, -0.7, 1.1]), Tensor::from([0.9, 0.4, -0.2]));
    let (value, lambda_w, lambda_z, rate) = (2.0, 0.3, 0.8, 0.05);
    let loss = |both: &[Tensor]| {
        let error = (&both[0] * &both[1]).sum() * -1.0 + value;
        error.square() * 0.5 + both[0].square().sum() * (0.5 * lambda_w) + both[1].square().sum() * (0.5 * lambda_z)
    };
    gradcheck(loss, &[w.clone(), z.clone()]).unwrap();
    let by_w = grad(|w: &Tensor| loss(&[w.clone(), z.clone()]))(&w).to_f64_vec();
    let by_z = grad(|z: &Tensor| loss(&[w.clone(), z.clone()]))(&z).to_f64_vec();
    let error = value - (&w * &z).sum().item::<f64>();
    let (mut stepped_w, mut stepped_z) = (w.to_f64_vec(), z.to_f64_vec());
    sgd_step(&mut stepped_w, &mut stepped_z, error, rate, [lambda_w, lambda_z]);
    let moved = |x: &Tensor, by: &[f64]| x.to_f64_vec().iter().zip(by).map(|(x, by)| x - rate * by).collect::<Vec<_>>();
    assert_close(&stepped_w, &moved(&w, &by_w), 1e-14);
    assert_close(&stepped_z, &moved(&z, &by_z), 1e-14);
    // Counted: twelve operations per factor, whatever the size of the matrix.
    for (k, rows) in [(1, 2), (10, 2), (10, 1000), (100, 50), (1000, 10)] {
        assert_eq!(operations_of_a_step(k, rows), 12 * k + 1);
    }

    // Epochs of such steps on half of the ratings: the penalty lowers the error on the other half.
    let (entries, users, items) = ratings();
    let (train, held_out) = entries.split_at(entries.len() / 2);
    let mean = train.iter().map(|entry| entry.2).sum::<f64>() / train.len() as f64;
    let error = |lambda: f64| {
        let (w, z) = (normal(21, [users, 8]) * 0.1, normal(22, [items, 8]) * 0.1);
        let (mut w, mut z) = (w.to_f64_vec(), z.to_f64_vec());
        let product = |w: &[f64], z: &[f64]| w.iter().zip(z).map(|(w, z)| w * z).sum::<f64>();
        for _ in 0..200 {
            for &(user, item, value) in train {
                let (w, z) = (&mut w[user * 8..][..8], &mut z[item * 8..][..8]);
                let error = value - mean - product(w, z);
                sgd_step(w, z, error, 0.02, [lambda; 2]);
            }
        }
        let square = |&(user, item, value): &(usize, usize, f64)| {
            (value - mean - product(&w[user * 8..][..8], &z[item * 8..][..8])).powi(2)
        };
        (held_out.iter().map(square).sum::<f64>() / held_out.len() as f64).sqrt()
    };
    let (free, regularized) = (error(0.0), error(0.1));
    println!("held-out RMSE without penalty {free:.4}, with {regularized:.4}");
    assert!(regularized < free - 0.05);
    // So it does in the estimator, where all of a row's penalty is shared among its entries.
    let x = sparse(train, users, items);
    let held_out_error = |alpha: f64| {
        let sgd = MatrixFactorization::default().n_components(8).solver(FactorizationSolver::Sgd).alpha(alpha);
        let sgd = sgd.alpha_bias(alpha).learning_rate(0.02).max_iter(200).tol(0.0);
        rmse(&quietly(|| sgd.fit(&x, None)).unwrap(), &x, held_out)
    };
    let (free, regularized) = (held_out_error(0.0), held_out_error(5.0));
    println!("held-out RMSE of the estimator without penalty {free:.4}, with {regularized:.4}");
    assert!(regularized < free - 0.05);
    // The estimator's descent ends near the optimum that alternating least squares find for the same objective.
    let als = MatrixFactorization::default().n_components(2);
    let sgd = als.clone().solver(FactorizationSolver::Sgd).max_iter(300).tol(0.0);
    let (als, sgd) = quietly(|| (als.fit(&x, None).unwrap(), sgd.fit(&x, None).unwrap()));
    let (best, found) = (als.summary().objective.unwrap(), sgd.summary().objective.unwrap());
    assert!(found < 1.05 * best, "{found} {best}");
}

/// L19: the objective never increases, and without a penalty it ends at the best rank-K error.
#[test]
fn l19_alternating_least_squares_reach_the_best_rank_k_error() {
    let x = normal(5, [30, 12]);
    let als = MatrixFactorization::default().n_components(4).biases(false).max_iter(5000).tol(1e-14);
    let (model, cost) = meter::measure(|| als.clone().alpha(0.0).fit(&x, None).unwrap());
    never_increases(&model.summary().curve);
    // Counted: one system per row and column in each iteration, each of four unknowns (4³/3 = 21 operations to decompose it).
    let solved = 42 * model.summary().curve.len() as u64;
    assert_eq!((cost.calls("row_solve"), cost.flops_of("row_solve")), (solved, 21 * solved));
    let s = svd(&x).unwrap().s.to_f64_vec();
    let best: f64 = s[4..].iter().map(|s| s * s).sum();
    let filled = model.inverse_transform(model.transform(&x).unwrap()).unwrap();
    let found = (&x - &filled).square().sum().item::<f64>();
    assert!((found - best).abs() < 1e-8 * best, "{found} {best}");
    // At a fixed point both updates hold: Zᵀ = (WᵀW + λI)⁻¹WᵀX and Wᵀ = (ZᵀZ + λI)⁻¹ZᵀXᵀ, systems of K unknowns.
    let lambda = 0.5;
    let model = als.alpha(lambda).fit(&x, None).unwrap();
    never_increases(&model.summary().curve);
    let (w, zt) = (model.transform(&x).unwrap(), model.components().clone());
    let ridge = Tensor::eye(4, DType::F64) * lambda;
    let zt_again = (w.t().matmul(&w) + &ridge).solve(&w.t().matmul(&x));
    let wt_again = (zt.matmul(&zt.t()) + &ridge).solve(&zt.matmul(&x.t()));
    assert_close(&zt_again.to_f64_vec(), &zt.to_f64_vec(), 1e-5);
    assert_close(&wt_again.t().to_f64_vec(), &w.to_f64_vec(), 1e-10);
}

/// L20: with all entries observed it is L19; each row is a ridge regression on its observed entries.
#[test]
fn l20_missing_entries_are_one_ridge_problem_per_row() {
    let x = normal(6, [20, 9]);
    let estimator = MatrixFactorization::default().n_components(3).alpha(0.7).alpha_bias(0.2).max_iter(30);
    let (dense, stored) =
        (estimator.fit(&x, None).unwrap(), estimator.fit(Csr::from_dense(&x).unwrap(), None).unwrap());
    assert_eq!(dense.components().to_vec::<f64>(), stored.components().to_vec::<f64>());
    // From one iteration to the next, both formulas of the full problem.
    let plain = |iterations: usize| {
        let estimator = MatrixFactorization::default().n_components(3).alpha(0.7).biases(false).tol(0.0);
        quietly(|| estimator.max_iter(iterations).fit(&x, None)).unwrap().components().clone()
    };
    let (zt, ridge) = (plain(4), Tensor::eye(3, DType::F64) * 0.7);
    let wt = (zt.matmul(&zt.t()) + &ridge).solve(&zt.matmul(&x.t()));
    let next = (wt.matmul(&wt.t()) + &ridge).solve(&wt.matmul(&x));
    assert_close(&plain(5).to_f64_vec(), &next.to_f64_vec(), 1e-10);
    for biases in [false, true] {
        // Two thirds of the entries are unknown; one row has none at all.
        let mut values = x.to_f64_vec();
        (0..values.len()).filter(|i| i % 3 != 0 || i / 9 == 4).for_each(|i| values[i] = f64::NAN);
        let rows = Tensor::from_vec(values.clone(), [20, 9]);
        let samples = tove_learn::Samples::from_parts(Rows::from(&rows), None, true).unwrap();
        let estimator = estimator.clone().biases(biases).tol(1e-9).max_iter(500);
        let model = estimator.fit_samples(&samples).unwrap();
        never_increases(&model.summary().curve);
        let users = model.transform(&rows).unwrap();
        let (components, intercept) = (model.components().t().to_f64_vec(), model.intercept().to_f64_vec());
        let width = model.outputs();
        for user in 0..20 {
            let known: Vec<usize> = (0..9).filter(|&item| !values[user * 9 + item].is_nan()).collect();
            let found = users.narrow(0, user, 1).to_f64_vec();
            if known.is_empty() {
                assert!(found.iter().all(|w| *w == 0.0));
                continue;
            }
            let features: Vec<f64> =
                known.iter().flat_map(|&item| components[item * width..(item + 1) * width].to_vec()).collect();
            let targets: Vec<f64> = known.iter().map(|&item| values[user * 9 + item] - intercept[item]).collect();
            // A bias with its own strength: its factor is √(0.7/0.2) in place of 1, and it is divided by that.
            let scale = if biases { (0.7f64 / 0.2).sqrt() } else { 1.0 };
            let scaled = |(i, x): (usize, f64)| if biases && i % width == width - 1 { x * scale } else { x };
            let features: Vec<f64> = features.into_iter().enumerate().map(scaled).collect();
            let ridge = Ridge::default().alpha(0.7).fit_intercept(false);
            let ridge = ridge.fit(Tensor::from_vec(features, [known.len(), width]), &Tensor::from(targets)).unwrap();
            let mut expected = ridge.coef().to_f64_vec();
            if biases {
                expected[width - 1] *= scale;
            }
            assert_close(&found, &expected, 1e-8);
        }
    }
}

/// One half step of implicit factorization against its definition, with systems of K unknowns and dense confidences.
#[test]
fn implicit_feedback_follows_its_definition() {
    let counts = normal(7, [25, 18]).to_f64_vec();
    let counts: Vec<f64> = counts.iter().map(|x| if *x > 0.8 { (3.0 * x).round() } else { 0.0 }).collect();
    let x = Csr::from_dense(&Tensor::from_vec(counts.clone(), [25, 18])).unwrap();
    for k in [2, 12] {
        let (lambda, confidence) = (0.4, 2.5);
        let estimator = ImplicitFactorization::default().n_components(k).alpha(lambda).confidence(confidence);
        let model = estimator.tol(1e-12).max_iter(300).fit(&x, None).unwrap();
        never_increases(&model.summary().curve);
        let users = model.transform(&x).unwrap().to_f64_vec();
        let z = model.components().t().contiguous();
        for user in 0..25 {
            let row = &counts[user * 18..(user + 1) * 18];
            let c = Tensor::from(row.iter().map(|r| 1.0 + confidence * r).collect::<Vec<f64>>());
            let p = Tensor::from(row.iter().map(|r| f64::from(*r > 0.0)).collect::<Vec<f64>>());
            let weighted = &z * &c.reshape([18, 1]);
            let matrix = weighted.t().matmul(&z) + Tensor::eye(k, DType::F64) * lambda;
            let expected = matrix.solve(&weighted.t().matmul(&p));
            assert_close(&users[user * k..(user + 1) * k], &expected.to_f64_vec(), 1e-9);
        }
        // The last objective is the definition's, summed over all entries.
        let scores = model.inverse_transform(model.transform(&x).unwrap()).unwrap().to_f64_vec();
        let fit: f64 = counts
            .iter()
            .zip(&scores)
            .map(|(r, score)| (1.0 + confidence * r) * (f64::from(*r > 0.0) - score).powi(2))
            .sum();
        let norms = users.iter().map(|w| w * w).sum::<f64>() + z.square().sum().item::<f64>();
        let objective = model.summary().objective.unwrap();
        assert!((fit + lambda * norms - objective).abs() < 1e-6 * objective, "{} {objective}", fit + lambda * norms);
    }
}

#[test]
fn recommendations_are_sorted_complete_and_survive_a_file() {
    let (entries, users, items) = ratings();
    let x = sparse(&entries, users, items);
    for model in [
        Box::new(MatrixFactorization::default().fit(&x, None).unwrap()) as Box<dyn Model>,
        Box::new(ImplicitFactorization::default().n_components(8).fit(&x, None).unwrap()),
    ] {
        let all = recommend(&*model, &x, usize::MAX, false).unwrap();
        assert!(all.iter().all(|list| list.len() == items && list.windows(2).all(|two| two[0].score >= two[1].score)));
        assert!(recommend(&*model, &x, 0, true).unwrap().iter().all(Vec::is_empty));
        let known = recommend(&*model, &x, usize::MAX, true).unwrap();
        assert_eq!(known.iter().map(Vec::len).sum::<usize>(), users * items - entries.len());
        let again = restore(&model.record()).unwrap();
        assert_eq!(recommend(&*again, &x, 3, true).unwrap(), recommend(&*model, &x, 3, true).unwrap());
        // A user whom the fit did not see.
        let new = Csr::new(vec![0, 2], vec![3, 7], Tensor::from([9.0, 2.0]), items).unwrap();
        assert_eq!(recommend(&*model, &new, 4, true).unwrap()[0].len(), 4);
    }
    let scaler = tove_learn::StandardScaler::default().fit(normal(1, [5, 2]), None).unwrap();
    assert!(recommend(&scaler, normal(1, [5, 2]), 1, false).is_ok());
    let select = tove_learn::Ridge::default().fit(normal(1, [5, 2]), &Tensor::zeros([5], DType::F64)).unwrap();
    assert!(recommend(&select, normal(1, [5, 2]), 1, false).is_err());
}

#[test]
fn results_do_not_depend_on_the_number_of_threads_and_bad_data_are_refused() {
    let (entries, users, items) = ratings();
    let x = sparse(&entries, users, items);
    let fit = || {
        let ratings = MatrixFactorization::default().fit(&x, None).unwrap();
        let counts = ImplicitFactorization::default().n_components(16).max_iter(4).fit(&x, None).unwrap();
        (ratings.components().to_vec::<f64>(), counts.components().to_vec::<f64>())
    };
    let before = tove_tensor::pool::num_threads();
    tove_tensor::pool::set_num_threads(1);
    let one = fit();
    tove_tensor::pool::set_num_threads(3);
    assert_eq!(fit(), one);
    tove_tensor::pool::set_num_threads(before);
    let nothing = Csr::new(vec![0, 0], vec![], Tensor::zeros([0], DType::F64), 4).unwrap();
    for error in [
        MatrixFactorization::default().fit(&nothing, None).unwrap_err(),
        ImplicitFactorization::default().fit(&nothing, None).unwrap_err(),
        ImplicitFactorization::default().fit(Tensor::zeros([3, 4], DType::F64), None).unwrap_err(),
    ] {
        assert!(matches!(error, LearnError::Data { .. }), "{error}");
    }
    let wild = MatrixFactorization::default().solver(FactorizationSolver::Sgd).learning_rate(10.0);
    let error = wild.fit(&x, None).unwrap_err().to_string();
    assert!(error.contains("learning_rate"), "{error}");
}

/// A rating of 0 is a rating; a count of 0 says nothing, stored or not.
#[test]
fn zeros_are_ratings_but_not_counts() {
    let values = [5.0, 3.0, 0.0, 4.0, 0.0, 0.0, 2.0, 0.0, 6.0, 1.0, 0.0, 3.0];
    let dense = Tensor::from_vec(values.to_vec(), [3, 4]);
    let stored = Csr::new(vec![0, 4, 8, 12], [0, 1, 2, 3].repeat(3), Tensor::from(values), 4).unwrap();
    let listed = |model: &dyn Model, x: Rows| -> Vec<usize> {
        recommend(model, x, 4, true).unwrap().iter().map(Vec::len).collect()
    };
    let ratings = MatrixFactorization::default().n_components(1).fit(&stored, None).unwrap();
    let counts = ImplicitFactorization::default().n_components(2).fit(&stored, None).unwrap();
    for x in [Rows::from(&dense), Rows::from(stored)] {
        assert_eq!(listed(&ratings, x.clone()), [0, 0, 0]);
        assert_eq!(listed(&counts, x), [1, 3, 1]);
    }
}

/// However small the penalty and however many the factors, no system becomes singular.
#[test]
fn implicit_factorization_stays_regular_without_a_penalty() {
    let (entries, users, items) = ratings();
    let x = sparse(&entries[..500], users, items);
    let same = Csr::from_dense(&Tensor::from_vec(vec![1.0; 12], [4, 3])).unwrap();
    let one = Csr::new(vec![0, 1, 1], vec![1], Tensor::from([1e-9]), 3).unwrap();
    let dislikes = Csr::new(vec![0, 1, 2], vec![1, 0], Tensor::from([-1.0, -3.0]), 3).unwrap();
    for alpha in [1e-320, 1e-100, 1e-12] {
        for (x, k) in [(&x, 64), (&same, 8), (&one, 5), (&dislikes, 4)] {
            let estimator = ImplicitFactorization::default().alpha(alpha).n_components(k).max_iter(5);
            let model = quietly(|| estimator.fit(x, None)).unwrap();
            let factors = model.transform(x).unwrap();
            let scores = model.inverse_transform(&factors).unwrap().to_f64_vec();
            let sound = |values: &[f64]| values.iter().all(|x| x.is_finite());
            assert!(sound(&scores) && sound(&model.components().to_f64_vec()), "{alpha} {k}");
            assert!(scores.iter().all(|score| score.abs() < 100.0), "{alpha} {k}");
        }
    }
}
