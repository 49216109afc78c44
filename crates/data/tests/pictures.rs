//! Pictures (feature `images`): what was written by the `image` crate is read as planes; damage is an error.
#![cfg(feature = "images")]

use image::{GrayImage, Luma, Rgb, RgbImage, RgbaImage};
use tove_data::images::read_image;

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
    let bytes = std::fs::read(&path).unwrap();
    for length in 0..bytes.len() - 12 {
        std::fs::write(folder.join("cut.png"), &bytes[..length]).unwrap();
        assert!(read_image(folder.join("cut.png")).is_err(), "{length}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
