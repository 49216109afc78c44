//! Attacks that only ask questions.

use std::cell::Cell;

use tove_tensor::{Tensor, TryOps};
use tove_trust::Result;
use tove_trust::robustness::{
    AttackLoss, AttackNorm, BoundaryAttack, InputRules, LabelsOnly, QueryCounter, QueryModel, QuerySearch, ScoreAttack,
    finite_difference_gradient, input_gradient,
};

use crate::toys::{digits, digits_net, labels, normal, predicted, rows, scores_of, small_net};

/// A counter of rows that the library does not know of.
struct Watched<'a>(&'a dyn Fn(&Tensor) -> Result<Tensor>, Cell<u64>);

impl QueryModel for Watched<'_> {
    fn query_scores(&self, x: &Tensor) -> Result<Tensor> {
        self.1.set(self.1.get() + x.dims()[0] as u64);
        (self.0)(x)
    }
}

fn distance(a: &Tensor, b: &Tensor) -> f64 {
    a.to_f64_vec().iter().zip(b.to_f64_vec()).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

#[test]
fn k14_finite_differences_have_error_of_the_step_count_d_plus_1_and_respect_the_budget() {
    let (model, x, d) = (small_net(9, 1), normal(6, 9, 2), 9u64);
    let truth = labels(&predicted(&model, &x));
    let exact = input_gradient(&model, &x, &truth, AttackLoss::CrossEntropy).unwrap();
    // O(a): halving the step halves the error, over three orders of magnitude.
    let error = |a: f64| {
        let watched = Watched(&model, Cell::new(0));
        let estimate = finite_difference_gradient(&watched, &x, &truth, AttackLoss::CrossEntropy, a).unwrap();
        assert_eq!(watched.1.get(), 6 * (d + 1)); // exactly d + 1 queries per estimate
        distance(&estimate, &exact)
    };
    for a in [1e-2, 1e-3, 1e-4, 1e-5] {
        let ratio = error(a) / error(a / 2.0);
        assert!((1.9..2.1).contains(&ratio), "{a}: {ratio}");
        assert!(error(a) < 30.0 * a);
    }
    // The erratum: the estimate is a vector, its entries those of the axes.
    let slopes = finite_difference_gradient(&model, &x, &truth, AttackLoss::CrossEntropy, 1e-6).unwrap();
    assert_eq!(slopes.dims(), [6, 9]);
    // The budget is never exceeded, whatever it is, and more of it finds more.
    let mut rates = Vec::new();
    for search in [QuerySearch::FiniteDifferences { step: 1e-3 }, QuerySearch::Random] {
        for budget in [1, 5, 25, 200] {
            let watched = Watched(&model, Cell::new(0));
            let attack = ScoreAttack::new(AttackNorm::LInf).search(search).max_queries(budget);
            let found = attack.run(&watched, &x, &truth, 0.3).unwrap();
            assert_eq!(watched.1.get(), found.queries);
            assert!(found.queries <= 6 * budget);
            assert!(
                rows(&x)
                    .iter()
                    .zip(rows(&found.inputs))
                    .all(|(a, b)| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 0.3))
            );
            rates.push(found.success.iter().filter(|success| **success).count());
        }
    }
    assert!(rates[0] == 0 && rates[3] > rates[0] && rates[4] == 0 && rates[7] > rates[4], "{rates:?}");
    // A counter with a limit refuses before it asks.
    let watched = Watched(&model, Cell::new(0));
    let counter = QueryCounter::new(&watched, d);
    assert!(
        finite_difference_gradient(&counter, &x.narrow(0, 0, 1).contiguous(), &labels(&[0]), AttackLoss::Margin, 1e-3)
            .is_err()
    );
    assert_eq!((counter.used(), watched.1.get()), (0, 0));
}

#[test]
fn random_search_needs_fewer_queries_than_differences_on_digits() {
    let (x, y) = digits(0, 900);
    let net = digits_net(&x, &y, 12, 1);
    let model = scores_of(&net);
    let (x, y) = digits(1200, 40);
    let rules = InputRules::range(0.0, 1.0);
    let run = |search: QuerySearch| {
        let attack = ScoreAttack::new(AttackNorm::LInf).search(search).max_queries(600).rules(rules.clone());
        attack.run(&model, &x, &y, 0.15).unwrap()
    };
    let (random, differences) = (run(QuerySearch::Random), run(QuerySearch::FiniteDifferences { step: 1e-2 }));
    println!(
        "random {:?} in {}, differences {:?} in {}",
        random.success_rate(),
        random.queries,
        differences.success_rate(),
        differences.queries
    );
    assert!(random.success_rate() > Some(0.6));
    assert!(random.queries < differences.queries);
    for found in [random, differences] {
        let wrong = predicted(&model, &found.inputs)
            .iter()
            .zip(y.to_vec::<i64>())
            .map(|(a, b)| *a as i64 != b)
            .collect::<Vec<_>>();
        assert_eq!(wrong, found.success);
    }
}

#[test]
fn k15_the_boundary_attack_comes_nearer_step_by_step_within_its_budget() {
    let (x, y) = digits(0, 900);
    let net = digits_net(&x, &y, 12, 1);
    let model = scores_of(&net);
    let (x, y) = digits(1200, 12);
    let truth = y.to_vec::<i64>();
    let rules = InputRules::range(0.0, 1.0);
    for norm in [AttackNorm::L2, AttackNorm::LInf] {
        let mut means = Vec::new();
        for budget in [50, 500, 4000] {
            let watched = Watched(&model, Cell::new(0));
            let attack = BoundaryAttack::new(norm).max_queries(budget).rules(rules.clone());
            let found = attack.run(&LabelsOnly(&watched), &x, &y).unwrap();
            assert_eq!(watched.1.get(), found.result.queries);
            let after = predicted(&model, &found.result.inputs);
            for (row, trace) in found.traces.iter().enumerate() {
                // Strictly nearer each time, never more queries than allowed, still misclassified at the end.
                assert!(trace.windows(2).all(|two| two[1].1 < two[0].1 && two[1].0 > two[0].0));
                assert!(trace.iter().all(|(queries, _)| *queries <= budget));
                assert_eq!(found.result.success[row], after[row] as i64 != truth[row]);
                if found.result.already_wrong[row] {
                    assert!(trace.is_empty() && found.result.distances[row] == 0.0);
                } else if found.result.success[row] {
                    assert_eq!(trace.last().unwrap().1, found.result.distances[row]);
                }
            }
            assert!(found.result.inputs.to_vec::<f32>().iter().all(|v| (0.0..=1.0).contains(v)));
            assert!(found.result.success.iter().all(|success| *success));
            means.push(found.result.distances.iter().sum::<f64>() / 12.0);
        }
        println!("{norm:?}: mean distance by budget {means:?}");
        assert!(means[1] < means[0] && means[2] < 0.9 * means[1], "{norm:?} {means:?}");
    }
}

#[test]
fn the_boundary_attack_finds_the_distance_of_a_plane() {
    let w: Vec<f64> = normal(1, 10, 5).to_vec();
    let weights = Tensor::from_slice(&w);
    let model = move |x: &Tensor| -> Result<Tensor> { Ok(x.try_matmul(&weights)?) };
    let x = normal(4, 10, 6);
    let truth = labels(&predicted(&model, &x));
    for norm in [AttackNorm::L2, AttackNorm::LInf] {
        let found = BoundaryAttack::new(norm).max_queries(5000).run(&LabelsOnly(&model), &x, &truth).unwrap();
        for (row, distance) in rows(&x).iter().zip(&found.result.distances) {
            let margin: f64 = row.iter().zip(&w).map(|(x, w)| x * w).sum();
            let exact = margin.abs() / norm.dual().of(&w);
            assert!(*distance >= exact && *distance < 1.15 * exact, "{norm:?}: {distance} against {exact}");
        }
    }
}
