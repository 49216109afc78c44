//! What a net knows beyond its training set: shifted images by augmentation, new classes without new weights.

#![allow(clippy::unwrap_used)]

use tove_data::augment::{blur, reflect_horizontal, shift};
use tove_data::{Augment, Dataset, TensorDataset, sets};
use tove_nn::*;
use tove_optim::Adam;
use tove_tensor::{DType, Key, Tensor, no_grad};

fn quiet<'c>(epochs: usize) -> Trainer<'c> {
    Trainer::new(Adam::new(3e-3)).epochs(epochs).batch_size(32).progress(Progress::Silent)
}

fn rows(set: &TensorDataset, keep: impl Fn(i64) -> bool) -> TensorDataset {
    let labels = set.y().to_vec::<i64>();
    let rows: Vec<i64> = (0..labels.len() as i64).filter(|&row| keep(labels[row as usize])).collect();
    let rows = Tensor::from(rows);
    TensorDataset::new(set.x().index_select(0, &rows), set.y().index_select(0, &rows)).unwrap()
}

fn bits(net: &impl Module) -> Vec<Vec<u32>> {
    net.state().iter().map(|(_, tensor)| tensor.to_vec::<f32>().into_iter().map(f32::to_bits).collect()).collect()
}

#[test]
fn h31_augmentation_teaches_what_the_images_do_not_show() {
    let digits = sets::digits().unwrap();
    let images = digits.x().clone();
    // Deterministic under a seed, another result for another seed.
    let augment = Augment::new().random_crop(1).reflect_horizontal(0.5).blur(0.3, 1.0);
    let values = |key| augment.apply(&images, Key::new(key)).unwrap().to_vec::<f32>();
    assert!(values(1) == values(1) && values(1) != values(2));
    // Reflection twice is the identity.
    let twice = reflect_horizontal(&reflect_horizontal(&images).unwrap()).unwrap();
    assert_eq!(twice.to_vec::<f32>(), images.to_vec::<f32>());
    // Blur preserves the mean of every image.
    let exact = images.to_dtype(DType::F64);
    let means = |x: &Tensor| x.mean_axes(&[1, 2, 3], false).to_vec::<f64>();
    for (before, after) in means(&exact).into_iter().zip(means(&blur(&exact, 1.0).unwrap())) {
        assert!((before - after).abs() < 1e-12);
    }
    // Trained on shifted images, a net reads shifted images better.
    let (train, test) = digits.split(0.7, Key::new(3)).unwrap();
    let test = test.all(Key::new(0)).unwrap();
    let moved: Vec<Tensor> =
        [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1)].map(|(down, right)| shift(&test.x, down, right).unwrap()).into();
    let moved = Tensor::concat(&moved.iter().collect::<Vec<_>>(), 0);
    let moved = TensorDataset::new(moved, Tensor::concat(&[&test.y; 5], 0)).unwrap();
    let accuracy = |set: &dyn Dataset| {
        let mut net = Sequential::new().add(Flatten::new()).add(Mlp::new(&[64, 64, 10], &mut Rng::new(5)));
        let report = quiet(25).fit(&mut net, &Classification::new(), set, Some(&moved)).unwrap();
        report.score("accuracy").unwrap()
    };
    let (plain, augmented) = (accuracy(&train), accuracy(&train.clone().augmented(Augment::new().shift(1, 1))));
    assert!(augmented > plain + 0.1, "{plain} {augmented}");
}

/// A net whose convolutions and norms are frozen is a fixed function, running statistics included: what it gives for an
/// image is the same before, while and after its new head is trained.
#[test]
fn h32_frozen_layers_with_batch_norm_stay_bit_identical() {
    let digits = sets::digits().unwrap();
    let (known, new) = (rows(&digits, |class| class < 7), rows(&digits, |class| class >= 7));
    let new = TensorDataset::new(new.x().clone(), new.y() - 7).unwrap();
    let config = CnnConfig { widths: vec![8, 16], hidden: 32, batch_norm: true, ..CnnConfig::new([1, 8, 8], 7) };
    let mut net = Cnn::new(&config, &mut Rng::new(1)).unwrap();
    let before_training = bits(&net);
    quiet(3).fit(&mut net, &Classification::new(), &known, None).unwrap();
    // While nothing is frozen, training moves everything: weights, scales, running means and variances.
    assert!(before_training.iter().zip(bits(&net)).all(|(before, after)| *before != after));

    net.fc2 = Linear::new(32, 3, &mut Rng::new(2));
    assert_eq!(train_part_only(&mut net, "fc2").unwrap(), 33 * 3);
    let features = |net: &Cnn, pass: &Pass| no_grad(|| net.features(new.x(), pass)).unwrap().to_vec::<f32>();
    let (state, at_first) = (net.state(), features(&net, &Pass::eval()));
    // The running statistics are part of the state, so that the comparison below is one of them, too.
    assert!(["norms.0.running_mean", "norms.1.running_var"].iter().all(|name| state.iter().any(|(n, _)| n == name)));
    let report = quiet(10).fit(&mut net, &Classification::new(), &new, Some(&new)).unwrap();
    assert!(report.score("accuracy").unwrap() > 0.8, "{report:?}");
    for ((name, old), (_, new)) in state.iter().zip(net.state()) {
        let same =
            old.to_vec::<f32>().into_iter().map(f32::to_bits).eq(new.to_vec::<f32>().into_iter().map(f32::to_bits));
        assert_eq!(same, !name.starts_with("fc2"), "{name}");
    }
    assert_eq!(features(&net, &Pass::eval()), at_first);
}

/// Images of two digits side by side (count, 1, 8, 16) and their numbers, drawn at random among those `keep` accepts.
fn numbers(digits: &TensorDataset, count: usize, key: Key, keep: impl Fn(i64) -> bool) -> (Tensor, Tensor) {
    let classes = digits.y().to_vec::<i64>();
    let draws = key.integers(0, classes.len() as i64, [40 * count, 2]).to_vec::<i64>();
    let number = |pair: &[i64]| 10 * classes[pair[0] as usize] + classes[pair[1] as usize];
    let pairs: Vec<&[i64]> = draws.chunks(2).filter(|pair| keep(number(pair))).take(count).collect();
    assert_eq!(pairs.len(), count);
    let side =
        |at: usize| digits.x().index_select(0, &Tensor::from(pairs.iter().map(|pair| pair[at]).collect::<Vec<_>>()));
    let labels: Vec<i64> = pairs.iter().map(|pair| number(pair)).collect();
    (Tensor::concat(&[&side(0), &side(1)], 3), Tensor::from(labels))
}

/// Rows of a set.
fn take(set: &TensorDataset, rows: &[i64]) -> TensorDataset {
    let rows = Tensor::from(rows.to_vec());
    TensorDataset::new(set.x().index_select(0, &rows), set.y().index_select(0, &rows)).unwrap()
}

/// Two parts of a set that share no image.
fn halves(set: &TensorDataset, key: Key) -> (TensorDataset, TensorDataset) {
    let order = key.permutation(set.len()).to_vec::<i64>();
    let (first, second) = order.split_at(order.len() / 2);
    (take(set, first), take(set, second))
}

/// Mean and standard error.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

fn share_right(found: &Tensor, truth: &Tensor) -> f64 {
    found.eq(truth).to_dtype(DType::F64).mean().item()
}

fn zero_shot(digits: &TensorDataset, seed: u64) {
    // Classes are numbers of two digits, described by the two digits they are written with. A net learns to map images to
    // descriptions on 80 numbers, and meets 20 that it has never seen, in images of which it has not seen either half.
    let is_new = |number: i64| number % 5 == (number / 10) % 5;
    let unseen: Vec<i64> = (0..100).filter(|&number| is_new(number)).collect();
    assert_eq!(unseen.len(), 20);
    let digit = |tensor: &Tensor| tensor.one_hot(10, DType::F32);
    let describe =
        |numbers: &Tensor| Tensor::concat(&[&digit(&(numbers / 10)), &digit(&(numbers - (numbers / 10) * 10))], -1);
    let (for_training, for_test) = halves(digits, Key::new(50 + seed));
    let (x, y) = numbers(&for_training, 3000, Key::new(seed), |number| !is_new(number));
    let described = TensorDataset::new(x, describe(&y)).unwrap();
    let fresh = Sequential::new().add(Flatten::new()).add(Mlp::new(&[128, 128, 20], &mut Rng::new(seed)));
    let (x, y) = numbers(&for_test, 1000, Key::new(100 + seed), is_new);
    let classes = Tensor::from(unseen);
    let accuracy = |net: &Sequential, descriptions: &Tensor| {
        let outputs = no_grad(|| net.forward(&x, &Pass::eval())).unwrap();
        share_right(&classes.index_select(0, &nearest_class(&outputs, descriptions).unwrap()), &y)
    };
    let untrained = accuracy(&fresh, &describe(&classes));
    let mut net = fresh;
    quiet(8).fit(&mut net, &Regression, &described, None).unwrap();
    let before = bits(&net);
    let right = accuracy(&net, &describe(&classes));
    // The descriptions of other classes in their place: what is read from the image then leads astray.
    let moved = accuracy(&net, &describe(&classes).roll(1, 0));
    println!("zero-shot, seed {seed}: {right:.3}; {untrained:.3} untrained, {moved:.3} with wrong descriptions");
    // Chance is one in twenty, with a standard error of 0.007 for 1,000 images: 0.1 is seven of them away.
    assert!(right > 0.5 && untrained < 0.15 && moved < 0.1, "{right} {untrained} {moved}");
    assert_eq!(bits(&net), before);
}

/// Accuracy on new classes for 1, 3, 10 and 30 examples of each, the first of the same draw, judged by the same images.
fn few_shot(digits: &TensorDataset, seed: u64) -> Vec<[f64; 4]> {
    // A net trained on 0 to 4 gives features of 5 to 9; examples of each class are given as input.
    let (known, new) = (rows(digits, |class| class < 5), rows(digits, |class| class >= 5));
    let config = CnnConfig { widths: vec![16, 32], hidden: 64, ..CnnConfig::new([1, 8, 8], 5) };
    let mut net = Cnn::new(&config, &mut Rng::new(seed)).unwrap();
    quiet(4).fit(&mut net, &Classification::new(), &known, None).unwrap();
    let before = bits(&net);
    let (shown, judged) = halves(&new, Key::new(70 + seed));
    let features = |set: &TensorDataset| no_grad(|| net.features(set.x(), &Pass::eval())).unwrap();
    let (of_shown, of_judged, truth) = (features(&shown), features(&judged), judged.y() - 5);
    let classes = (shown.y() - 5).to_vec::<i64>();
    let draw = |draw: u64| {
        let order = Key::new(seed).fold(draw).permutation(classes.len()).to_vec::<i64>();
        [1, 3, 10, 30].map(|examples| {
            let of = |class: i64| {
                let own = order.iter().copied().filter(|&row| classes[row as usize] == class);
                own.take(examples).collect::<Vec<i64>>()
            };
            let few: Vec<i64> = (0..5).flat_map(of).collect();
            assert_eq!(few.len(), 5 * examples);
            let labels = Tensor::from(few.iter().map(|&row| classes[row as usize]).collect::<Vec<_>>());
            let points = class_prototypes(&of_shown.index_select(0, &Tensor::from(few)), &labels, 5).unwrap();
            share_right(&nearest_class(&of_judged, &points).unwrap(), &truth)
        })
    };
    let accuracies = (0..20).map(draw).collect();
    assert_eq!(bits(&net), before);
    accuracies
}

#[test]
fn l27_new_classes_without_new_weights() {
    let digits = sets::digits().unwrap();
    (1..=3).for_each(|seed| zero_shot(&digits, seed));

    // Few-shot: three nets, twenty draws of examples for each.
    for seed in 1..=3 {
        let accuracies = few_shot(&digits, seed);
        let means = [0, 1, 2, 3].map(|k| mean_and_error(&accuracies.iter().map(|row| row[k]).collect::<Vec<_>>()).0);
        println!("few-shot, seed {seed}: {means:.3?} with 1, 3, 10, 30 examples");
        assert!(means[0] > 0.3, "chance is 0.2: {means:?}");
        for k in 0..3 {
            let rises: Vec<f64> = accuracies.iter().map(|row| row[k + 1] - row[k]).collect();
            let (rise, error) = mean_and_error(&rises);
            // Two standard errors of the paired difference: by chance once in 33 times (t, 19 degrees of freedom).
            assert!(rise > 2.0 * error, "seed {seed}, step {k}: {rise} ± {error}");
        }
    }
}
