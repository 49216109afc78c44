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

#[test]
fn l27_new_classes_without_new_weights() {
    let digits = sets::digits().unwrap();

    // Zero-shot: classes are numbers of two digits, described by the two digits they are written with. A net learns to map
    // images to descriptions on 80 numbers, and meets 20 that it has never seen; chance is one in twenty.
    let is_new = |number: i64| number % 5 == (number / 10) % 5;
    let unseen: Vec<i64> = (0..100).filter(|&number| is_new(number)).collect();
    assert_eq!(unseen.len(), 20);
    let digit = |tensor: &Tensor| tensor.one_hot(10, DType::F32);
    let describe =
        |numbers: &Tensor| Tensor::concat(&[&digit(&(numbers / 10)), &digit(&(numbers - (numbers / 10) * 10))], -1);
    let (x, y) = numbers(&digits, 4000, Key::new(1), |number| !is_new(number));
    let described = TensorDataset::new(x, describe(&y)).unwrap();
    let mut net = Sequential::new().add(Flatten::new()).add(Mlp::new(&[128, 128, 20], &mut Rng::new(1)));
    quiet(10).fit(&mut net, &Regression, &described, None).unwrap();
    let before = bits(&net);
    let (x, y) = numbers(&digits, 1000, Key::new(2), is_new);
    let classes = Tensor::from(unseen);
    let outputs = no_grad(|| net.forward(&x, &Pass::eval())).unwrap();
    let found = classes.index_select(0, &nearest_class(&outputs, &describe(&classes)).unwrap());
    let right = found.eq(&y).to_dtype(DType::F64).mean().item::<f64>();
    assert!(right > 0.5, "{right}");
    assert_eq!(bits(&net), before);

    // Few-shot: a net trained on 0 to 4 gives features of 5 to 9; k examples of each class are given as input.
    let (known, new) = (rows(&digits, |class| class < 5), rows(&digits, |class| class >= 5));
    let config = CnnConfig { widths: vec![16, 32], hidden: 64, ..CnnConfig::new([1, 8, 8], 5) };
    let mut net = Cnn::new(&config, &mut Rng::new(1)).unwrap();
    quiet(5).fit(&mut net, &Classification::new(), &known, None).unwrap();
    let before = bits(&net);
    let features = no_grad(|| net.features(new.x(), &Pass::eval())).unwrap();
    let labels = new.y() - 5;
    let classes = labels.to_vec::<i64>();
    let accuracy = |examples: usize, draw: u64| {
        let order = Key::new(draw).permutation(classes.len()).to_vec::<i64>();
        let of = |class: i64| order.iter().copied().filter(|&row| classes[row as usize] == class).collect::<Vec<_>>();
        let few: Vec<i64> = (0..5).flat_map(|class| of(class)[..examples].to_vec()).collect();
        let rest: Vec<i64> = order.iter().copied().filter(|row| !few.contains(row)).collect();
        let (few, rest) = (Tensor::from(few), Tensor::from(rest));
        let points = class_prototypes(&features.index_select(0, &few), &labels.index_select(0, &few), 5).unwrap();
        let found = nearest_class(&features.index_select(0, &rest), &points).unwrap();
        found.eq(&labels.index_select(0, &rest)).to_dtype(DType::F64).mean().item::<f64>()
    };
    let means: Vec<f64> =
        [1, 3, 10, 30].map(|examples| (0..20).map(|draw| accuracy(examples, draw)).sum::<f64>() / 20.0).into();
    assert!(means.windows(2).all(|pair| pair[1] > pair[0]) && means[0] > 0.2, "{means:?}");
    assert_eq!(bits(&net), before);
}
