//! Data sets: pairing, splits, text, generators, and the sets of a data folder.

use std::collections::BTreeSet;

use tove_data::{CharVocabulary, DataError, Dataset, Key, TensorDataset, TextWindows, sets};
use tove_tensor::{DType, Tensor};

const KEY: Key = Key::new(0);

/// Row i is (10 i, 10 i + 1), its target i.
fn numbered(n: usize) -> TensorDataset {
    let x = (0..n).flat_map(|i| [10.0 * i as f32, 10.0 * i as f32 + 1.0]).collect::<Vec<_>>();
    TensorDataset::new(Tensor::from_vec(x, [n, 2]), Tensor::arange(0, n as i64)).expect("equal lengths")
}

fn paired(data: &dyn Dataset) -> Vec<i64> {
    let batch = data.all(KEY).expect("a batch");
    let (x, y) = (batch.x.to_vec::<f32>(), batch.y.to_vec::<i64>());
    assert!(x.chunks_exact(2).zip(&y).all(|(x, &y)| x == [10.0 * y as f32, 10.0 * y as f32 + 1.0]));
    y
}

#[test]
fn rows_stay_with_their_targets() {
    let data = numbered(30);
    let batch = data.batch(&[29, 0, 5, 5], KEY).unwrap();
    assert_eq!(batch.x.to_vec::<f32>(), [290.0, 291.0, 0.0, 1.0, 50.0, 51.0, 50.0, 51.0]);
    assert_eq!((batch.y.to_vec::<i64>(), batch.len()), (vec![29, 0, 5, 5], 4));
    assert_eq!(data.batch(&[], KEY).unwrap().x.dims(), [0, 2]);
    let part = data.clone().subset(vec![7, 3, 7]).unwrap();
    assert_eq!(paired(&part), [7, 3, 7]);
    assert_eq!(paired(&part.subset(vec![1]).unwrap()), [3]);
    // Views, tracked tensors and trait objects serve as well.
    let view = TensorDataset::new(data.x().t().t(), data.y().clone()).unwrap();
    let boxed: Box<dyn Dataset> = Box::new(view);
    assert_eq!(paired(&boxed), (0..30).collect::<Vec<_>>());
    assert!(matches!(data.clone().subset(vec![30]), Err(DataError::Index { index: 30, len: 30 })));
    let (x, y) = (Tensor::zeros([3, 2], DType::F32), Tensor::arange(0, 4));
    assert!(TensorDataset::new(x, y).unwrap_err().to_string().contains("3 inputs and 4 targets"));
    assert!(TensorDataset::new(Tensor::scalar(1.0), Tensor::scalar(1.0)).is_err());
}

#[test]
fn splits_are_disjoint_complete_and_seeded() {
    for (n, fraction) in [(10, 0.8), (101, 0.5), (7, 0.33)] {
        let (first, second) = numbered(n).split(fraction, Key::new(1)).unwrap();
        assert_eq!(first.len(), (n as f64 * fraction).round() as usize);
        let all: BTreeSet<i64> = paired(&first).into_iter().chain(paired(&second)).collect();
        assert_eq!((all.len(), first.len() + second.len()), (n, n));
        let (again, _) = numbered(n).split(fraction, Key::new(1)).unwrap();
        assert_eq!(again.indices(), first.indices());
        let (other, _) = numbered(n).split(fraction, Key::new(2)).unwrap();
        assert_ne!(other.indices(), first.indices());
    }
    for fraction in [0.0, 1.0, -0.5, f64::NAN, 0.01] {
        assert!(numbered(10).split(fraction, KEY).is_err(), "{fraction}");
    }
}

#[test]
fn stratified_splits_keep_the_proportions() {
    let digits = sets::digits().unwrap();
    let labels = digits.y().clone();
    let (train, test) = digits.split_stratified(&labels, 0.7, Key::new(4)).unwrap();
    assert_eq!((train.len(), test.len()), (1258, 539));
    let all: BTreeSet<usize> = train.indices().iter().chain(test.indices()).copied().collect();
    assert_eq!(all.len(), 1797);
    let count = |y: &Tensor, class: f64| y.eq_scalar(class).count_nonzero().item::<i64>() as f64;
    let y = train.all(KEY).unwrap().y;
    for class in 0..10 {
        let (whole, part) = (count(&labels, f64::from(class)), count(&y, f64::from(class)));
        assert!((part - 0.7 * whole).abs() < 1.0 + 1e-9, "class {class}: {part} of {whole}");
    }
    let data = numbered(5);
    assert!(data.clone().split_stratified(&Tensor::arange(0, 4), 0.5, KEY).is_err());
    assert!(data.split_stratified(&Tensor::zeros([5], DType::F32), 0.5, KEY).is_err());
}

#[test]
fn characters_are_coded_and_decoded() {
    let text = "Größe? 日本語\n\"ok\"";
    let vocabulary = CharVocabulary::from_text(text).unwrap();
    let tokens = vocabulary.encode(text).unwrap();
    assert_eq!(vocabulary.decode(&tokens).unwrap(), text);
    assert_eq!(tokens.numel(), text.chars().count());
    assert!(vocabulary.characters().is_sorted());
    let again = CharVocabulary::from_characters(vocabulary.characters().iter().copied()).unwrap();
    assert_eq!(again.encode("日本").unwrap().to_vec::<i64>(), vocabulary.encode("日本").unwrap().to_vec::<i64>());
    // Positions count characters, not bytes.
    let unknown = vocabulary.encode("öx").unwrap_err();
    assert!(matches!(unknown, DataError::Character { character: 'x', position: 1, .. }));
    assert!(matches!(vocabulary.encode("日é"), Err(DataError::Character { character: 'é', position: 1, .. })));
    assert!(matches!(CharVocabulary::from_text(""), Err(DataError::EmptyText(_))));
    assert!(matches!(vocabulary.encode(""), Err(DataError::EmptyText(_))));
    assert!(CharVocabulary::from_characters("aba".chars()).is_err());
    for token in [-1, vocabulary.len() as i64] {
        let error = vocabulary.decode(&Tensor::from([0, token])).unwrap_err();
        assert!(matches!(error, DataError::Token { position: 1, .. }), "{error}");
    }
    assert!(vocabulary.decode(&Tensor::from([0.0])).is_err());
}

#[test]
fn windows_cover_the_text() {
    let tokens = Tensor::arange(0, 100);
    let data = TextWindows::consecutive(&tokens, 9).unwrap();
    assert_eq!(data.len(), 11);
    let all = data.all(KEY).unwrap();
    assert_eq!((all.x.to_vec::<i64>(), all.y.to_vec::<i64>()), ((0..99).collect(), (1..100).collect()));
    assert_eq!(TextWindows::consecutive(&tokens, 10).unwrap().len(), 9);
    assert_eq!(TextWindows::strided(&tokens, 10, 1).unwrap().len(), 90);
    assert_eq!(TextWindows::consecutive(&tokens, 99).unwrap().len(), 1);
    for (length, stride) in [(100, 1), (0, 1), (5, 0)] {
        assert!(TextWindows::strided(&tokens, length, stride).is_err());
    }
    assert!(TextWindows::consecutive(&Tensor::from([0.5, 1.0]), 1).is_err());
    assert!(matches!(data.batch(&[11], KEY), Err(DataError::Index { .. })));
    // Random windows: each of the four places comes up, nothing else, and the key decides.
    let data = TextWindows::random(&Tensor::arange(0, 10), 6, 1000).unwrap();
    let starts = |key| data.all(key).unwrap().x.index((.., 0)).to_vec::<i64>();
    assert_eq!(starts(KEY).into_iter().collect::<BTreeSet<_>>(), (0..4).collect());
    assert!(starts(KEY) == starts(KEY) && starts(KEY) != starts(Key::new(1)));
    let alone = data.batch(&[7], KEY).unwrap().x;
    assert_eq!(alone.to_vec::<i64>()[0], starts(KEY)[7]);
}

#[test]
fn generators_follow_their_formulas() {
    let radius =
        |data: &TensorDataset| data.x().square().sum_axes(&[1], false).to_dtype(DType::F64).sqrt().to_vec::<f64>();
    let circles = sets::circles(101, 0.5, 0.0, Key::new(1)).unwrap();
    for (radius, class) in radius(&circles).into_iter().zip(circles.y().to_vec::<i64>()) {
        assert!((radius - if class == 0 { 1.0 } else { 0.5 }).abs() < 1e-6);
    }
    let moons = sets::two_moons(100, 0.0, Key::new(1)).unwrap();
    for (point, class) in moons.x().to_vec::<f32>().chunks_exact(2).zip(moons.y().to_vec::<i64>()) {
        let (x, y) = if class == 0 { (point[0], point[1]) } else { (1.0 - point[0], 0.5 - point[1]) };
        assert!((x * x + y * y - 1.0).abs() < 1e-5 && y >= -1e-6);
    }
    let spirals = sets::spirals(90, 3, 1.0, 0.0, Key::new(1)).unwrap();
    assert!(radius(&spirals).iter().all(|&radius| radius <= 1.0 + 1e-6));
    for class in 0..3 {
        assert_eq!(spirals.y().eq_scalar(f64::from(class)).count_nonzero().item::<i64>(), 30);
    }
    let clouds = sets::xor_clouds(400, 0.1, Key::new(1)).unwrap();
    for (point, class) in clouds.x().to_vec::<f32>().chunks_exact(2).zip(clouds.y().to_vec::<i64>()) {
        assert_eq!(i64::from(point[0] * point[1] < 0.0), class);
    }
    let sine = sets::sine(500, 0.0, Key::new(1)).unwrap();
    let expected = (sine.x() * (2.0 * std::f64::consts::PI)).sin();
    assert!((&expected - sine.y()).abs().max().item::<f32>() < 1e-5);
}

#[test]
fn mixtures_have_their_moments() {
    let (weights, means, stds) = ([0.25, 0.75], [-2.0, 3.0], [0.5, 1.0]);
    let data = sets::gaussian_mixture_1d(20_000, &weights, &means, &stds, Key::new(2)).unwrap();
    let x = data.x().to_dtype(DType::F64).to_vec::<f64>();
    let y = data.y().to_vec::<i64>();
    for k in 0..2 {
        let own: Vec<f64> = x.iter().zip(&y).filter(|&(_, &y)| y == k as i64).map(|(&x, _)| x).collect();
        let mean = own.iter().sum::<f64>() / own.len() as f64;
        let variance = own.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / own.len() as f64;
        assert!((own.len() as f64 / 20_000.0 - weights[k]).abs() < 0.015); // five standard deviations
        assert!((mean - means[k]).abs() < 0.05 && (variance.sqrt() - stds[k]).abs() < 0.03);
    }
    let covariance = [[2.0, 0.9], [0.9, 0.5]];
    let data = sets::gaussian_mixture_2d(20_000, &[1.0], &[[1.0, -1.0]], &[covariance], Key::new(3)).unwrap();
    let x = data.x().to_dtype(DType::F64) - Tensor::from([1.0, -1.0]);
    let estimate = x.t().matmul(&x) / 20_000.0;
    assert!((estimate - Tensor::from(covariance)).abs().max().item::<f64>() < 0.1);
    for bad in [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.1], [0.2, 1.0]], [[-1.0, 0.0], [0.0, 1.0]], [[f64::NAN; 2]; 2]] {
        assert!(sets::gaussian_mixture_2d(5, &[1.0], &[[0.0, 0.0]], &[bad], KEY).is_err(), "{bad:?}");
    }
    assert!(sets::gaussian_mixture_1d(5, &[0.5, 0.6], &means, &stds, KEY).is_err());
    assert!(sets::gaussian_mixture_1d(5, &weights, &means, &[1.0], KEY).is_err());
}

#[test]
fn generators_are_seeded_and_check_their_parameters() {
    let generators: [fn(Key) -> TensorDataset; 6] = [
        |key| sets::xor_clouds(40, 0.1, key).unwrap(),
        |key| sets::two_moons(40, 0.1, key).unwrap(),
        |key| sets::circles(40, 0.5, 0.1, key).unwrap(),
        |key| sets::spirals(40, 2, 1.5, 0.1, key).unwrap(),
        |key| sets::sine(40, 0.1, key).unwrap(),
        |key| sets::blobs(40, &[[0.0, 0.0], [1.0, 1.0]], 0.1, key).unwrap(),
    ];
    for generate in generators {
        let x = |key| generate(key).x().to_vec::<f32>();
        assert!(x(Key::new(1)) == x(Key::new(1)) && x(Key::new(1)) != x(Key::new(2)));
    }
    assert!(sets::two_moons(1, 0.1, KEY).is_err() && sets::two_moons(10, -0.1, KEY).is_err());
    assert!(sets::circles(10, 1.0, 0.0, KEY).is_err() && sets::blobs(10, &[], 0.1, KEY).is_err());
    assert!(sets::spirals(10, 0, 1.0, 0.0, KEY).is_err() && sets::sine(0, 0.0, KEY).is_err());
}

#[test]
fn digits_are_those_of_scikit_learn() {
    let digits = sets::digits().unwrap();
    let counts: Vec<i64> = (0..10).map(|k| digits.y().eq_scalar(f64::from(k)).count_nonzero().item::<i64>()).collect();
    assert_eq!(counts, [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
    let first: Vec<f32> = digits.x().get(0).to_vec::<f32>().into_iter().map(|x| x * 16.0).collect();
    assert_eq!(first[..16], [0., 0., 5., 13., 9., 1., 0., 0., 0., 0., 13., 15., 10., 15., 5., 0.]);
    assert_eq!((digits.x().max().item::<f32>(), digits.x().min().item::<f32>()), (1.0, 0.0));
}

#[test]
fn sets_of_the_data_folder_are_as_described() {
    let Some(folder) = sets::data_dir() else {
        println!("SKIPPED: data set absent: no data folder; set TOVE_DATA");
        return;
    };
    let fashion = sets::fashion_mnist(Some(&folder)).unwrap();
    assert_eq!((fashion.train.x().dims(), fashion.test.len()), (&[60_000, 1, 28, 28][..], 10_000));
    assert!((fashion.train.x().mean().item::<f32>() - 0.2860).abs() < 1e-4);
    assert_eq!(fashion.test.y().eq_scalar(7.0).count_nonzero().item::<i64>(), 1000);
    let cifar = sets::cifar10_subset(None).unwrap();
    assert_eq!(cifar.train.y().to_vec::<i64>()[..5], [6, 9, 9, 4, 1]);
    assert_eq!((cifar.train.x().at::<f32>(&[0, 1, 0, 0]) * 255.0).round(), 62.0);
    let text = sets::tinyshakespeare(None).unwrap();
    let vocabulary = CharVocabulary::from_text(&text).unwrap();
    assert_eq!((text.len(), vocabulary.len()), (1_115_394, 65));
    assert_eq!(vocabulary.decode(&vocabulary.encode(&text).unwrap()).unwrap(), text);
}

#[test]
fn a_missing_set_says_how_to_get_it() {
    let nowhere = std::path::Path::new("/nonexistent");
    let error = sets::fashion_mnist(Some(nowhere)).unwrap_err().to_string();
    for part in ["fashion-mnist", "/nonexistent/fashion-mnist/train-images-idx3-ubyte", "zalandoresearch", "TOVE_DATA"]
    {
        assert!(error.contains(part), "{error}");
    }
    assert!(matches!(sets::tinyshakespeare(Some(nowhere)), Err(DataError::Missing { .. })));
}
