//! Augmentation: determinism, identities, and values against scipy (`reference/scipy_images.py`).

use serde_json::Value;
use tove_data::augment::{Augment, blur, reflect_horizontal, reflect_vertical, rotate, shift};
use tove_data::{Dataset, Key, TensorDataset, sets};
use tove_tensor::{DType, Tensor, set_num_threads};

fn images(n: usize, dtype: DType) -> Tensor {
    Key::new(11).uniform([n, 3, 12, 10], dtype)
}

/// One of everything.
fn everything() -> Augment {
    let geometry = Augment::new().random_crop(2).reflect_horizontal(0.5).reflect_vertical(0.3).shift(2, 1).rotate(15.0);
    geometry.blur(0.2, 1.0).noise(0.1).cutout(3).normalize(&[0.4, 0.5, 0.6], &[0.2])
}

/// Each step alone.
fn single_steps() -> Vec<(&'static str, Augment)> {
    vec![
        ("crop", Augment::new().random_crop(2)),
        ("crop to", Augment::new().random_crop_to(7, 5, 1)),
        ("horizontal", Augment::new().reflect_horizontal(0.5)),
        ("vertical", Augment::new().reflect_vertical(0.5)),
        ("shift", Augment::new().shift(3, 3)),
        ("rotate", Augment::new().rotate(20.0)),
        ("blur", Augment::new().blur(0.1, 2.0)),
        ("noise", Augment::new().noise(0.2)),
        ("cutout", Augment::new().cutout(4)),
    ]
}

fn same(a: &Tensor, b: &Tensor) -> bool {
    a.dims() == b.dims() && a.to_f64_vec().iter().zip(b.to_f64_vec()).all(|(a, b)| a.to_bits() == b.to_bits())
}

#[test]
fn augmentation_is_deterministic_under_a_seed() {
    let x = images(16, DType::F32);
    for (name, steps) in single_steps().into_iter().chain([("everything", everything())]) {
        let first = steps.apply(&x, Key::new(1)).unwrap();
        assert!(same(&first, &steps.apply(&x, Key::new(1)).unwrap()), "{name}");
        assert!(!same(&first, &steps.apply(&x, Key::new(2)).unwrap()), "{name} ignores the key");
    }
}

#[test]
fn a_sample_does_not_depend_on_its_batch_or_on_threads() {
    let x = images(200, DType::F32);
    let data = TensorDataset::new(x, Tensor::arange(0, 200)).unwrap().augmented(everything());
    let key = Key::new(3);
    set_num_threads(1);
    let all = data.all(key).unwrap();
    for threads in [2, 3, 8] {
        set_num_threads(threads);
        assert!(same(&data.all(key).unwrap().x, &all.x));
    }
    set_num_threads(0);
    let batch = data.batch(&[150, 3, 3, 77], key).unwrap();
    for (row, index) in [150, 3, 3, 77].into_iter().enumerate() {
        assert!(same(&batch.x.get(row), &all.x.get(index)));
    }
    assert_eq!(batch.y.to_vec::<i64>(), [150, 3, 3, 77]);
    let part = data.subset(vec![77, 5]).unwrap();
    assert!(same(&part.batch(&[0], key).unwrap().x.get(0), &all.x.get(77)));
}

#[test]
fn reflection_twice_is_the_identity() {
    for dtype in [DType::F32, DType::F64] {
        let x = images(5, dtype);
        for reflect in [reflect_horizontal, reflect_vertical] {
            let once = reflect(&x).unwrap();
            assert!(!same(&once, &x) && same(&reflect(&once).unwrap(), &x));
        }
        let both = Augment::new().reflect_horizontal(1.0).reflect_vertical(1.0);
        let turned = both.apply(&both.apply(&x, Key::new(0)).unwrap(), Key::new(1)).unwrap();
        assert!(same(&turned, &x));
    }
    let x = Tensor::arange(0, 6).to_dtype(DType::F64).reshape([1, 1, 2, 3]);
    assert_eq!(reflect_horizontal(&x).unwrap().to_vec::<f64>(), [2.0, 1.0, 0.0, 5.0, 4.0, 3.0]);
    assert_eq!(reflect_vertical(&x).unwrap().to_vec::<f64>(), [3.0, 4.0, 5.0, 0.0, 1.0, 2.0]);
}

#[test]
fn blur_preserves_the_mean() {
    for (height, width) in [(12, 10), (1, 9), (3, 2), (1, 1)] {
        let x = Key::new(5).normal([4, 2, height, width], DType::F64);
        for sigma in [0.0, 0.1, 0.5, 1.0, 3.0, 20.0] {
            let blurred = blur(&x, sigma).unwrap();
            let planes = |x: &Tensor| x.reshape([8, height * width]).sum_axes(&[1], false).to_vec::<f64>();
            for (before, after) in planes(&x).into_iter().zip(planes(&blurred)) {
                assert!((before - after).abs() < 1e-12, "{sigma}: {before} {after}");
            }
        }
        // What is even stays even; what is not is evened out.
        let even = Tensor::full([1, 1, height, width], 0.7, DType::F64);
        assert!(blur(&even, 2.0).unwrap().to_vec::<f64>().iter().all(|x| (x - 0.7).abs() < 1e-14));
    }
    let x = Key::new(5).normal([1, 1, 20, 20], DType::F64);
    assert!(blur(&x, 1.0).unwrap().std(1).item::<f64>() < 0.5 * x.std(1).item::<f64>());
    let single = blur(&x.to_dtype(DType::F32), 1.0).unwrap();
    assert!((single.mean().item::<f32>() - x.mean().item::<f64>() as f32).abs() < 1e-6);
}

#[test]
fn blur_and_rotation_agree_with_scipy() {
    let file: Value = serde_json::from_str(include_str!("fixtures/scipy_images.json")).unwrap();
    let plane = |value: &Value| {
        let rows = value.as_array().unwrap();
        let data: Vec<f64> = rows.iter().flat_map(|row| row.as_array().unwrap()).map(|x| x.as_f64().unwrap()).collect();
        let width = data.len() / rows.len();
        Tensor::from_vec(data, [1, 1, rows.len(), width])
    };
    for case in file["cases"].as_array().unwrap() {
        let (x, amount) = (plane(&case["image"]), case["amount"].as_f64().unwrap());
        let change = if case["kind"] == "blur" { blur } else { rotate };
        let (ours, theirs) = (change(&x, amount).unwrap(), plane(&case["expected"]));
        for (ours, theirs) in ours.to_vec::<f64>().into_iter().zip(theirs.to_vec::<f64>()) {
            assert!((ours - theirs).abs() < 1e-12, "{} {amount} of {:?}: {ours} {theirs}", case["kind"], x.dims());
        }
    }
}

#[test]
fn shifts_and_crops_move_pixels() {
    let x = Tensor::arange(1, 10).to_dtype(DType::F32).reshape([1, 1, 3, 3]);
    let moved = |down, right| shift(&x, down, right).unwrap().to_vec::<f32>();
    assert_eq!(moved(1, 0), [0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(moved(-1, 1), [0.0, 4.0, 5.0, 0.0, 7.0, 8.0, 0.0, 0.0, 0.0]);
    assert_eq!((moved(0, 0), moved(5, 0), moved(0, isize::MIN)), (x.to_vec::<f32>(), vec![0.0; 9], vec![0.0; 9]));
    // Every place of the window comes up, equally often: 49 of them, 200 times each.
    let x = images(1, DType::F32);
    let many = x.index_select(0, &Tensor::zeros([9800], DType::I64));
    let crops = Augment::new().random_crop(3).apply(&many, Key::new(2)).unwrap();
    let mut seen = std::collections::HashMap::<Vec<u32>, usize>::new();
    for crop in crops.to_vec::<f32>().chunks_exact(360) {
        *seen.entry(crop.iter().map(|x| x.to_bits()).collect()).or_default() += 1;
    }
    assert_eq!(seen.len(), 49);
    // Six standard deviations, √(9800/49) ≈ 14.
    assert!(seen.values().all(|count| (116..=284).contains(count)), "{:?}", seen.values());
    for (down, right) in [(-3, 3), (0, 0), (2, -1)] {
        let shifted = shift(&x, down, right).unwrap().to_vec::<f32>();
        assert!(seen.contains_key(&shifted.iter().map(|x| x.to_bits()).collect::<Vec<_>>()));
    }
}

#[test]
fn noise_cutout_and_normalisation_do_what_they_say() {
    let zero = Tensor::zeros([50, 1, 20, 20], DType::F64);
    let noise = Augment::new().noise(0.5).apply(&zero, Key::new(1)).unwrap();
    assert!((noise.std(1).item::<f64>() - 0.5).abs() < 0.02 && noise.mean().item::<f64>().abs() < 0.02);
    let ones = Tensor::ones([200, 2, 9, 9], DType::F32);
    let cut = Augment::new().cutout(4).apply(&ones, Key::new(1)).unwrap().to_vec::<f32>();
    for image in cut.chunks_exact(162) {
        let zeros = image[..81].iter().filter(|&&x| x == 0.0).count();
        assert!((4..=16).contains(&zeros) && image[..81] == image[81..], "{zeros}");
    }
    let x = images(40, DType::F64);
    let (mean, std) = (x.mean_axes(&[0, 2, 3], false).to_vec::<f64>(), x.std(1).item::<f64>());
    let normal = Augment::new().normalize(&mean, &[std]).apply(&x, Key::new(0)).unwrap();
    assert!(normal.mean_axes(&[0, 2, 3], false).to_vec::<f64>().iter().all(|mean| mean.abs() < 1e-13));
    let bytes = Tensor::from([0u8, 51, 255, 102]).reshape([1, 1, 2, 2]);
    let floats = Augment::new().apply(&bytes, Key::new(0)).unwrap();
    assert_eq!((floats.dtype(), floats.to_vec::<f32>()), (DType::F32, vec![0.0, 0.2, 1.0, 0.4]));
}

#[test]
fn parameters_out_of_range_are_refused() {
    let x = images(2, DType::F32);
    let refused = |steps: Augment, part: &str| {
        let error = steps.apply(&x, Key::new(0)).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(Augment::new().random_crop_to(20, 5, 1), "does not fit an image of 12 × 10 padded by 1");
    refused(Augment::new().random_crop_to(0, 5, 1), "without pixels");
    refused(Augment::new().random_crop(usize::MAX), "at most");
    refused(Augment::new().shift(0, usize::MAX), "at most");
    refused(Augment::new().cutout(usize::MAX), "at most");
    refused(Augment::new().reflect_horizontal(1.5), "not a probability");
    refused(Augment::new().rotate(f64::NAN), "angle");
    refused(Augment::new().blur(2.0, 1.0), "low ≤ high");
    refused(Augment::new().blur(0.0, 1e9), "1000");
    refused(Augment::new().noise(-1.0), "deviation");
    refused(Augment::new().normalize(&[0.0; 2], &[1.0]), "2 means and 1 deviations for 3 channels");
    refused(Augment::new().normalize(&[0.0], &[0.0]), "positive");
    assert!(everything().apply(&x.get(0), Key::new(0)).unwrap_err().to_string().contains("four axes"));
    assert!(everything().apply(&x.to_dtype(DType::I64), Key::new(0)).unwrap_err().to_string().contains("i64"));
    assert!(blur(&x, -1.0).is_err() && rotate(&x, f64::INFINITY).is_err());
    for shape in [[0, 3, 4, 4], [2, 0, 4, 4], [2, 3, 0, 4]] {
        let steps = Augment::new().shift(1, 1).blur(1.0, 1.0).cutout(2);
        assert_eq!(steps.apply(&Tensor::zeros(shape, DType::F32), Key::new(0)).unwrap().dims(), shape);
    }
}

#[test]
fn nested_augmentation_draws_other_numbers() {
    let zero = TensorDataset::new(Tensor::zeros([1, 1, 4, 4], DType::F64), Tensor::from([0i64])).unwrap();
    let once = zero.clone().augmented(Augment::new().noise(1.0)).all(Key::new(1)).unwrap().x;
    let twice = zero.augmented(Augment::new().noise(1.0)).augmented(Augment::new().noise(1.0));
    let twice = twice.all(Key::new(1)).unwrap().x;
    assert!((&twice - &once * 2.0).abs().max().item::<f64>() > 0.1);
}

#[test]
fn digits_survive_a_pipeline() {
    let data = sets::digits().unwrap().augmented(Augment::new().shift(1, 1));
    let batch = data.batch(&[0, 1, 2], Key::new(0)).unwrap();
    assert_eq!((batch.x.dims(), batch.y.to_vec::<i64>()), (&[3, 1, 8, 8][..], vec![0, 1, 2]));
}
