//! Sets read record by record give what reading at once gives.

use tove_data::images::{StreamedImages, cifar, read_idx};
use tove_data::{DataError, Dataset, Key};
use tove_tensor::DType;

use super::meter::most_held;
use super::{Folder, idx, packed};

const KEY: Key = Key::new(0);

#[test]
fn idx_records_equal_the_whole() {
    let folder = Folder::new();
    let pixels: Vec<u8> = (0..50 * 12).map(|i| (i * 7 % 251) as u8).collect();
    let labels: Vec<u8> = (0..50).map(|i| i % 10).collect();
    for code in [8, 9] {
        let (images, labels) = (idx(code, &[50, 3, 4], &pixels), idx(8, &[50], &labels));
        for pack in [false, true] {
            let packing = |bytes: &[u8]| if pack { packed(bytes) } else { bytes.to_vec() };
            let (images, labels) = (folder.file("images", &packing(&images)), folder.file("labels", &packing(&labels)));
            let data = StreamedImages::idx(&images, &labels).unwrap();
            let whole = read_idx(&images).unwrap();
            assert_eq!(data.len(), 50);
            let batch = data.batch(&[49, 0, 7, 7], KEY).unwrap();
            assert_eq!((batch.x.dims(), batch.x.dtype()), (&[4, 1, 3, 4][..], whole.dtype()));
            for (row, index) in [49, 0, 7, 7].into_iter().enumerate() {
                assert_eq!(batch.x.get(row).to_f64_vec(), whole.get(index).to_f64_vec());
            }
            assert_eq!(batch.y.to_vec::<i64>(), [9, 0, 7, 7]);
            assert!(matches!(data.batch(&[50], KEY), Err(DataError::Index { index: 50, len: 50 })));
        }
    }
    let (short, images) =
        (folder.file("short", &idx(8, &[49], &labels[..49])), folder.file("i", &idx(8, &[50, 12], &pixels)));
    assert!(matches!(StreamedImages::idx(&images, &short), Err(DataError::Lengths { x: 50, y: 49 })));
}

#[test]
fn cifar_records_equal_the_whole() {
    let folder = Folder::new();
    let bytes: Vec<u8> = (0..5 * cifar::RECORD).map(|i| (i / cifar::RECORD) as u8 + (i % 5) as u8).collect();
    for (name, content) in [("plain", bytes.clone()), ("packed", packed(&bytes))] {
        let path = folder.file(name, &content);
        let (images, labels) = cifar::read(&path).unwrap();
        let data = StreamedImages::cifar10(&path).unwrap();
        let all = data.all(KEY).unwrap();
        assert_eq!((all.x.to_vec::<u8>(), all.y.to_vec::<i64>()), (images.to_vec::<u8>(), labels.to_vec::<i64>()));
        assert_eq!(data.batch(&[3], KEY).unwrap().x.to_vec::<u8>(), images.get(3).to_vec::<u8>());
    }
    let mut wrong = bytes;
    wrong[2 * cifar::RECORD] = 10;
    let data = StreamedImages::cifar10(folder.file("wrong", &wrong)).unwrap();
    assert!(data.batch(&[1], KEY).is_ok());
    let error = data.batch(&[2], KEY).unwrap_err().to_string();
    assert!(error.contains("byte 6146") && error.contains("label 10"), "{error}");
}

#[test]
fn a_plain_file_stays_on_disk() {
    let folder = Folder::new();
    let count = 20_000u32;
    let images = folder.file("images", &idx(8, &[count, 28, 28], &vec![1; count as usize * 784]));
    let labels = folder.file("labels", &idx(8, &[count], &vec![2; count as usize]));
    let (sum, most) = most_held(|| {
        let data = StreamedImages::idx(&images, &labels).unwrap();
        let batch = data.batch(&[0, 19_999], KEY).unwrap();
        batch.x.to_dtype(DType::I64).sum().item::<i64>()
    });
    // 15.7 MB of images; the labels as i64 take 160 kB, the reader's buffer 131 kB.
    assert!(sum == 2 * 784 && most < 1 << 20, "{most}");
}

#[test]
fn a_file_that_shrinks_is_an_error() {
    let folder = Folder::new();
    let images = folder.file("images", &idx(8, &[4, 2, 2], &[1; 16]));
    let labels = folder.file("labels", &idx(8, &[4], &[0; 4]));
    let data = StreamedImages::idx(&images, &labels).unwrap();
    std::fs::OpenOptions::new().write(true).open(&images).unwrap().set_len(20).unwrap();
    assert!(data.batch(&[0], KEY).is_ok());
    assert!(data.batch(&[3], KEY).unwrap_err().to_string().contains("images"));
}
