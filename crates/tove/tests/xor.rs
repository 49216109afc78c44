//! XOR: what no linear classifier can do and two hidden units can.
#![allow(clippy::unwrap_used)]

use tove::prelude::*;
use tove_learn::{Fit, LogisticRegression, Model, Perceptron, Predict};

#[test]
fn f18_no_line_separates_xor_and_two_hidden_units_do() {
    let points = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
    let labels = [0i64, 1, 1, 0];
    // Every line cuts the four points like one of these: a direction of each sector between the directions at which two
    // projections are equal (multiples of 45 degrees), those directions themselves, and a threshold in every gap, both signs.
    let mut best = 0;
    for step in 0..720 {
        let angle = f64::from(step) * std::f64::consts::PI / 360.0;
        let scores = points.map(|p| p[0] * angle.cos() + p[1] * angle.sin());
        let mut sorted = scores;
        sorted.sort_by(f64::total_cmp);
        let gaps = sorted.windows(2).map(|two| 0.5 * (two[0] + two[1]));
        for threshold in gaps.chain([sorted[0] - 1.0, sorted[3] + 1.0]) {
            let right = scores.iter().zip(labels).filter(|(s, y)| i64::from(**s > threshold) == *y).count();
            best = best.max(right);
        }
    }
    assert_eq!(best, 3, "the best line has 75 %");
    let (x, y) = (Tensor::from(points), Tensor::from(labels));
    let linear: [Box<dyn Model>; 2] = [
        Box::new(LogisticRegression::default().fit(&x, &y).unwrap()),
        Box::new(Perceptron::default().fit(&x, &y).unwrap()),
    ];
    for model in linear {
        assert!(model.score(&x, &y).unwrap().value <= 0.75, "{}", model.name());
    }
    // A net with two hidden units, from several starts: some end in a local minimum, the best has all four right.
    let x = x.to_dtype(DType::F32);
    let reached = (0..10).map(|seed| {
        let mut net = Mlp::new(&[2, 2, 2], &mut Rng::new(seed)).activation(Nonlinearity::Tanh);
        let mut adam = Adam::new(0.1);
        for _ in 0..400 {
            let scores = net.forward(&x, &Pass::train(Key::new(0))).unwrap();
            scores.cross_entropy(&y, &CrossEntropy::default()).backward();
            adam.step(&mut net.parameters_mut()).unwrap();
        }
        let classes = net.forward(&x, &Pass::eval()).unwrap().argmax(-1).to_vec::<i64>();
        classes.iter().zip(labels).filter(|(a, b)| **a == *b).count()
    });
    let reached: Vec<usize> = reached.collect();
    println!("right of four, by start: {reached:?}");
    assert_eq!(reached.iter().max(), Some(&4));
}
