//! Tensors through files and back.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use tove_tensor::io::{WriteOptions, read_npz, read_safetensors, write_npz, write_safetensors};
use tove_tensor::{DType, Tensor};

fn place(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tove-tensor-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

fn samples() -> Vec<(&'static str, Tensor)> {
    vec![
        ("matrix", Tensor::from([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]])),
        ("view", Tensor::from([[1.0, 2.0], [3.0, 4.0]]).t()),
        ("scalar", Tensor::scalar(7i64)),
        ("empty", Tensor::zeros([0, 3], DType::F64)),
        ("mask", Tensor::from([true, false, true])),
        ("bytes", Tensor::from([1u8, 255])),
    ]
}

fn check(read: Vec<(String, Tensor)>) {
    let samples = samples();
    assert_eq!(read.len(), samples.len());
    for (name, x) in read {
        let (_, expected) = samples.iter().find(|(sample, _)| *sample == name).unwrap();
        assert_eq!((x.shape(), x.dtype()), (expected.shape(), expected.dtype()), "{name}");
        assert_eq!(x.to_f64_vec(), expected.to_f64_vec(), "{name}");
    }
}

#[test]
fn npz_round_trip() {
    let path = place("all.npz");
    let samples = samples();
    let named: Vec<(&str, &Tensor)> = samples.iter().map(|(name, x)| (*name, x)).collect();
    for compress in [false, true] {
        write_npz(&path, &named, WriteOptions { overwrite: true, compress }).unwrap();
        check(read_npz(&path).unwrap());
    }
}

#[test]
fn safetensors_round_trip_shares_the_map() {
    let path = place("all.safetensors");
    let samples = samples();
    let named: Vec<(&str, &Tensor)> = samples.iter().map(|(name, x)| (*name, x)).collect();
    write_safetensors(&path, &named, &BTreeMap::new(), WriteOptions::overwriting()).unwrap();
    let tensors = read_safetensors(&path).unwrap();
    check(tensors.clone());
    // Writing to a mapped tensor goes to a copy.
    let mut copy = tensors.iter().find(|(name, _)| name == "matrix").unwrap().1.clone();
    copy.as_mut_slice::<f32>().unwrap()[0] = 100.0;
    check(tensors);
    assert_eq!(copy.at::<f32>(&[0, 0]), 100.0);
}

#[test]
fn nothing_is_overwritten_unasked() {
    let path = place("once.npy");
    let x = Tensor::from([1.0]);
    x.write_npy(&path, WriteOptions::overwriting()).unwrap();
    let error = Tensor::from([2.0]).write_npy(&path, WriteOptions::default()).unwrap_err();
    assert!(error.to_string().contains("exists already"), "{error}");
    assert_eq!(Tensor::read_npy(&path).unwrap().to_vec::<f64>(), [1.0]);
}
