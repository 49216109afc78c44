//! Matrix factorization in batches, continued, and beside the package implicit.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, fixture, matrix, numbers};
use tove_learn::factorization::{
    FactorizationSolver, FittedMatrixFactorization, ImplicitFactorization, MatrixFactorization,
    MatrixFactorizationLearner, recommend,
};
use tove_learn::{
    Csr, Fit, LearnError, Learner, Model, PartialFit, Rows, Samples, Stop, Transform, fit_passes, quietly, restore,
};
use tove_tensor::{DType, Key, Tensor};

/// Ratings from 1 to 5 of a third of all pairs of 70 users and 40 items, sparse.
fn ratings() -> Csr {
    let (users, items) = (70usize, 40usize);
    let (w, z) = (Key::new(1).normal([users, 3], DType::F64), Key::new(2).normal([items, 3], DType::F64));
    let scores = w.matmul(&z.t()).to_f64_vec();
    let chance = Key::new(3).uniform([users * items], DType::F64).to_f64_vec();
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for user in 0..users {
        for item in (0..items).filter(|item| chance[user * items + item] < 1.0 / 3.0) {
            columns.push(item as u32);
            values.push((3.0 + scores[user * items + item]).round().clamp(1.0, 5.0));
        }
        starts.push(columns.len());
    }
    Csr::new(starts, columns, Tensor::from(values), items).unwrap()
}

fn never_increases(curve: &[f64]) {
    assert!(curve.len() > 1 && curve.windows(2).all(|two| two[1] <= two[0] * (1.0 + 1e-12)), "{curve:?}");
}

/// The root mean squared error on the entries that a model was fitted to.
fn error(model: &dyn Model, x: &Csr) -> f64 {
    let filled = model.inverse_transform(model.transform(x).unwrap()).unwrap().to_f64_vec();
    let values = x.values().to_f64_vec();
    let gaps = (0..x.rows()).flat_map(|user| {
        let (filled, values) = (&filled, &values);
        (x.indptr()[user]..x.indptr()[user + 1])
            .map(move |at| filled[user * 40 + x.indices()[at] as usize] - values[at])
    });
    (gaps.map(|gap| gap * gap).sum::<f64>() / values.len() as f64).sqrt()
}

/// The optimum of the package implicit (of twenty starts), its factors of new users from the same factors of the items, its lists.
#[test]
fn implicit_feedback_is_that_of_the_package_implicit() {
    let all = fixture("implicit.json");
    let number = |name: &str| all[name].as_f64().unwrap();
    let (counts, k) = (matrix(&all["counts"]), number("factors") as usize);
    let estimator = ImplicitFactorization::default().n_components(k).alpha(number("regularization"));
    let estimator = estimator.confidence(number("confidence")).tol(0.0).max_iter(500);
    let fits = (0..20).map(|seed| quietly(|| estimator.clone().seed(seed).fit(&counts, None)).unwrap());
    let model = fits.min_by(|a, b| a.summary().objective.partial_cmp(&b.summary().objective).unwrap()).unwrap();
    let (own, wanted) = (model.summary().objective.unwrap(), number("objective"));
    assert!((own - wanted).abs() < 1e-6 * wanted, "{own} {wanted}");
    let scores = model.inverse_transform(model.transform(&counts).unwrap()).unwrap();
    assert_close(&scores.to_f64_vec(), &numbers(&all["scores"]), 1e-4);
    // Factors may be turned, products not: the items' factors of implicit give its users' factors.
    let mut record = model.record();
    record.put_tensor("components", &matrix(&all["item_factors"]).t().contiguous());
    let theirs = restore(&record).unwrap();
    let folded = theirs.transform(matrix(&all["new"])).unwrap();
    assert_close(&folded.to_f64_vec(), &numbers(&all["new_factors"]), 1e-9);
    // implicit leaves out items with a positive count only; a dislike is known here too.
    let positive = Csr::from_dense(&counts.maximum(&Tensor::zeros([1], DType::F64))).unwrap();
    let lists = recommend(&*theirs, &counts, usize::MAX, false).unwrap();
    for (user, wanted) in all["lists"].as_array().unwrap().iter().enumerate() {
        let known = &positive.indices()[positive.indptr()[user]..positive.indptr()[user + 1]];
        let own = lists[user].iter().map(|one| one.item).filter(|&item| !known.contains(&(item as u32)));
        let own: Vec<f64> = own.take(5).map(|item| item as f64).collect();
        // A user without counts has equal scores everywhere.
        assert!(own == numbers(wanted) || known.is_empty(), "{user}: {own:?} {wanted}");
    }
}

/// In batches of users: the same bits for any batch size and number of threads, and the factors of an in-memory fit with as many
/// iterations.
#[test]
fn ratings_in_batches_are_factorized_as_in_memory() {
    let x = ratings();
    for (biases, alpha) in [(true, 8.0), (false, 8.0), (true, 0.5)] {
        let estimator = MatrixFactorization::default().n_components(3).biases(biases).alpha(alpha);
        let settings = estimator.clone().tol(0.0).max_iter(12);
        let whole = quietly(|| settings.fit(&x, None)).unwrap();
        let mut first: Option<Vec<u64>> = None;
        for (size, threads) in [(1, 1), (37, 2), (70, 3)] {
            tove_tensor::pool::set_num_threads(threads);
            let (model, passes) = quietly(|| in_batches(&settings, &x, size));
            tove_tensor::pool::set_num_threads(0);
            assert_eq!((passes, model.summary().iterations, model.summary().stop), (13, 12, Some(Stop::MaxIter)));
            never_increases(&model.summary().curve);
            for (own, other) in [(model.components(), whole.components()), (model.intercept(), whole.intercept())] {
                assert_close(&own.to_f64_vec(), &other.to_f64_vec(), 1e-8);
            }
            let bits: Vec<u64> = model.components().to_f64_vec().into_iter().map(f64::to_bits).collect();
            assert_eq!(*first.get_or_insert_with(|| bits.clone()), bits, "batches of {size}");
        }
        // Where both stop by the tolerance they predict the same.
        let (model, whole) = (in_batches(&estimator, &x, 50).0, estimator.fit(&x, None).unwrap());
        assert_eq!((model.summary().stop, whole.summary().stop), (Some(Stop::Tolerance), Some(Stop::Tolerance)));
        let (own, other) = (error(&model, &x), error(&whole, &x));
        assert!((own - other).abs() < 0.01 * other, "{own} {other}");
    }
    // Dense rows with missing entries, an item that nobody rated, and what cannot be fitted.
    let dense =
        Tensor::from([[1.0, f64::NAN, 3.0, f64::NAN], [2.0, 4.0, f64::NAN, f64::NAN], [3.0, 6.0, 9.0, f64::NAN]]);
    let estimator = MatrixFactorization::default().n_components(1).alpha(0.1);
    let give = |learner: &mut MatrixFactorizationLearner, rows: Tensor| {
        learner.learn(&Samples::from_parts(Rows::from(rows), None, true).unwrap())
    };
    let mut learner = estimator.learner(&[]).unwrap();
    fit_passes(&mut learner, |learn| learn(&Samples::from_parts(Rows::from(&dense), None, true)?)).unwrap();
    let (model, whole) = (
        learner.model().unwrap(),
        estimator.fit_samples(&Samples::from_parts(Rows::from(&dense), None, true).unwrap()).unwrap(),
    );
    let fill = |model: &dyn Model| model.inverse_transform(model.transform(&dense).unwrap()).unwrap().to_f64_vec();
    assert!(
        fill(&model).iter().zip(fill(&whole)).all(|(a, b)| (a - b).abs() < 0.05),
        "{:?} {:?}",
        fill(&model),
        fill(&whole)
    );
    assert!(give(&mut learner, dense.clone()).unwrap_err().to_string().contains("ended its passes"));
    let mut learner = estimator.learner(&[]).unwrap();
    assert!(learner.model().is_err() && learner.end_pass().is_err());
    let mut learner = estimator.learner(&[]).unwrap();
    give(&mut learner, dense.clone()).unwrap();
    assert!(matches!(give(&mut learner, dense.narrow(1, 0, 2)), Err(LearnError::Width { .. })));
    learner.end_pass().unwrap();
    give(&mut learner, dense.narrow(0, 0, 2)).unwrap();
    assert!(learner.end_pass().unwrap_err().to_string().contains("2 rows and the first one 3"));
    let mut learner = estimator.learner(&[]).unwrap();
    give(&mut learner, Tensor::full([2, 3], f64::NAN, DType::F64)).unwrap();
    assert!(learner.end_pass().unwrap_err().to_string().contains("no entry is observed"));
    assert!(matches!(estimator.solver(FactorizationSolver::Sgd).learner(&[]), Err(LearnError::Unsupported { .. })));
}

fn in_batches(estimator: &MatrixFactorization, x: &Csr, size: usize) -> (FittedMatrixFactorization, usize) {
    let rows: Vec<usize> = (0..x.rows()).collect();
    let mut learner = estimator.learner(&[]).unwrap();
    let passes = fit_passes(&mut learner, |learn| {
        rows.chunks(size).try_for_each(|part| learn(&Samples::from_parts(x.take(part)?.into(), None, true)?))
    });
    (learner.model().unwrap(), passes.unwrap())
}

/// A fit of implicit feedback goes on where another one ended, and results say why they ended.
#[test]
fn implicit_factorization_continues_from_a_model() {
    let x = ratings();
    let settings = ImplicitFactorization::default().n_components(4).tol(0.0);
    let samples = Samples::from_parts(x.into(), None, true).unwrap();
    let whole = settings.clone().max_iter(9).fit_samples(&samples).unwrap();
    assert_eq!(whole.summary().stop, Some(Stop::MaxIter));
    let first = settings.clone().max_iter(4).fit_samples(&samples).unwrap();
    let rest = settings.clone().max_iter(5).fit_from(&first, &samples).unwrap();
    assert_close(&rest.components().to_f64_vec(), &whole.components().to_f64_vec(), 1e-9);
    let settled = ImplicitFactorization::default().n_components(4).max_iter(500).fit_samples(&samples).unwrap();
    assert_eq!(settled.summary().stop, Some(Stop::Tolerance));
    assert!(settings.n_components(5).fit_from(&first, &samples).is_err());
}
