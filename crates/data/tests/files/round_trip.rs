//! What is written is read back.

use tove_data::images::idx::{IdxType, from_bytes, write_idx_as};
use tove_data::images::{read_idx, write_idx};
use tove_tensor::io::WriteOptions;
use tove_tensor::{DType, Key, Tensor};

use super::{Folder, idx};

#[test]
fn every_element_type_comes_back() {
    let folder = Folder::new();
    for name in ["plain.idx", "packed.idx.gz"] {
        let path = folder.path().join(name);
        for (kind, least, most) in [
            (IdxType::U8, 0, 255),
            (IdxType::I8, -128, 127),
            (IdxType::I16, -32_768, 32_767),
            (IdxType::I32, i64::from(i32::MIN), i64::from(i32::MAX)),
        ] {
            let ends = Tensor::from([least, most, 0, 1]).reshape([2, 2]);
            write_idx_as(&path, &ends, kind, WriteOptions::overwriting()).unwrap();
            let back = read_idx(&path).unwrap();
            assert_eq!((back.dtype(), back.dims()), (kind.dtype(), &[2, 2][..]));
            assert_eq!(back.to_dtype(DType::I64).to_vec::<i64>(), ends.to_vec::<i64>());
            for outside in [least - 1, most + 1] {
                let error = write_idx_as(&path, &Tensor::from([0, outside]), kind, WriteOptions::overwriting());
                assert!(error.unwrap_err().to_string().contains("element 1"));
            }
        }
        for dtype in [DType::F32, DType::F64] {
            let x = Key::new(1).normal([3, 1, 5], dtype);
            write_idx(&path, &x, WriteOptions::overwriting()).unwrap();
            let back = read_idx(&path).unwrap();
            assert_eq!((back.dtype(), back.dims()), (dtype, x.dims()));
            assert_eq!(back.to_f64_vec(), x.to_f64_vec());
        }
    }
}

#[test]
fn shapes_and_views_come_back() {
    let folder = Folder::new();
    let path = folder.path().join("x.idx");
    for shape in [&[][..], &[0], &[1], &[3, 0, 2], &[2, 3, 4, 5]] {
        let x = Tensor::ones(shape, DType::U8);
        write_idx(&path, &x, WriteOptions::overwriting()).unwrap();
        assert_eq!(read_idx(&path).unwrap().dims(), shape);
    }
    let x = Tensor::arange(0, 6).reshape([2, 3]).t();
    write_idx(&path, &x, WriteOptions::overwriting()).unwrap();
    assert_eq!(read_idx(&path).unwrap().to_vec::<i64>(), [0, 3, 1, 4, 2, 5]);
}

#[test]
fn the_bytes_are_those_of_the_format() {
    let folder = Folder::new();
    let path = folder.path().join("x.idx");
    write_idx(&path, &Tensor::from([[1i64, -2]]), WriteOptions::default()).unwrap();
    let bytes = idx(0x0c, &[1, 2], &[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe]);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(from_bytes(&idx(0x0d, &[1], &[0x3f, 0x80, 0, 0])).unwrap().to_vec::<f32>(), [1.0]);
    assert_eq!(from_bytes(&idx(0x0b, &[1], &[0xff, 0xfe])).unwrap().to_vec::<i64>(), [-2]);
    // Without leave, a file is not replaced; and what does not fit is not half written.
    assert!(write_idx(&path, &Tensor::from([1u8]), WriteOptions::default()).is_err());
    assert!(write_idx_as(&path, &Tensor::from([0.5]), IdxType::U8, WriteOptions::overwriting()).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
