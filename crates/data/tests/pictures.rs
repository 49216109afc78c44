//! Pictures (feature `images`): what was written by the `image` crate is read as planes; damage is an error.
#![cfg(feature = "images")]

use image::{GrayImage, Luma, Rgb, RgbImage, RgbaImage};
use tove_data::images::{cover, image_size, read_image};
use tove_tensor::{DType, Tensor};

#[test]
fn pictures_are_read_as_planes_and_damage_is_an_error() {
    let folder = std::env::temp_dir().join(format!("tove-pictures-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let colour = RgbImage::from_fn(3, 2, |x, y| Rgb([x as u8, 10 + y as u8, 20 + (x + y) as u8]));
    let path = folder.join("colour.png");
    colour.save(&path).unwrap();
    let planes = [0, 1, 2, 0, 1, 2, 10, 10, 10, 11, 11, 11, 20, 21, 22, 21, 22, 23];
    let read = read_image(&path).unwrap();
    assert_eq!((read.dims(), read.to_vec::<u8>()), (&[3, 2, 3][..], planes.to_vec()));
    let clear = RgbaImage::from_fn(3, 2, |x, y| image::Rgba([x as u8, 10 + y as u8, 20 + (x + y) as u8, 0]));
    clear.save(folder.join("clear.png")).unwrap();
    assert_eq!(read_image(folder.join("clear.png")).unwrap().to_vec::<u8>(), planes);
    let grey = GrayImage::from_fn(16, 8, |_, _| Luma([77]));
    grey.save(folder.join("grey.jpg")).unwrap();
    let read = read_image(folder.join("grey.jpg")).unwrap();
    assert_eq!(read.dims(), [1, 8, 16]);
    assert!(read.to_vec::<u8>().iter().all(|&x| x.abs_diff(77) <= 1));
    assert_eq!(image_size(folder.join("grey.jpg")).unwrap(), [8, 16]);
    assert_eq!(image_size(&path).unwrap(), [2, 3]);
    assert!(image_size(folder.join("none.png")).is_err());
    let bytes = std::fs::read(&path).unwrap();
    for length in 0..bytes.len() - 12 {
        std::fs::write(folder.join("cut.png"), &bytes[..length]).unwrap();
        assert!(read_image(folder.join("cut.png")).is_err(), "{length}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Against PyTorch (`reference/torch_scale.py`) where nothing is cut off; ours is rounded to whole numbers.
#[test]
fn pictures_are_scaled_until_they_cover_and_the_middle_is_kept() {
    let file: serde_json::Value = serde_json::from_str(include_str!("fixtures/torch_scale.json")).unwrap();
    for case in file["cases"].as_array().unwrap() {
        let size = |name: &str| [0, 1].map(|i| case[name][i].as_u64().unwrap() as usize);
        let numbers =
            |name: &str| case[name].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect::<Vec<_>>();
        let ([h, w], [height, width]) = (size("before"), size("after"));
        let pixels: Vec<u8> = numbers("pixels").into_iter().map(|x| x as u8).collect();
        let scaled = cover(&Tensor::from_vec(pixels, [2, h, w]), height, width).unwrap();
        assert_eq!(scaled.dims(), [2, height, width]);
        for (ours, theirs) in scaled.to_vec::<u8>().into_iter().zip(numbers("scaled")) {
            assert!((f64::from(ours) - theirs).abs() <= 0.501, "{h} × {w} to {height} × {width}: {ours} and {theirs}");
        }
    }
    // Another proportion: what sticks out on both sides is cut off, and what is kept is what scaling alone gives.
    let wide = Tensor::from_vec((0..2 * 4 * 10).map(|i| (i * 37 % 256) as u8).collect(), [2, 4, 10]);
    assert_eq!(cover(&wide, 4, 4).unwrap().to_vec::<u8>(), wide.narrow(2, 3, 4).to_vec::<u8>());
    let high = wide.permute(&[0, 2, 1]).contiguous();
    assert_eq!(cover(&high, 4, 4).unwrap().to_vec::<u8>(), high.narrow(1, 3, 4).to_vec::<u8>());
    // A constant stays one, however odd the sizes.
    for (height, width) in [(1, 1), (3, 17), (50, 2), (1, 100)] {
        let grey = cover(&Tensor::full([1, 7, 5], 77.0, DType::U8), height, width).unwrap();
        assert!(grey.to_vec::<u8>().iter().all(|&x| x == 77), "{height} × {width}");
    }
    assert!(cover(&wide, 0, 3).is_err() && cover(&Tensor::zeros([1, 0, 3], DType::U8), 2, 2).is_err());
    assert!(cover(&Tensor::zeros([4, 4], DType::U8), 2, 2).is_err());
    assert!(cover(&Tensor::zeros([1, 4, 4], DType::F32), 2, 2).is_err());
}
