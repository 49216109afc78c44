//! What is written comes back, other readers accept it, and files appear complete or not at all.

use super::{Folder, corpus};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tove_tensor::io::safetensors::SafeTensors;
use tove_tensor::io::{FaultKind, FileError, NativeData, RawArray, Values, WriteOptions, npy, npz, safetensors};

/// An array of any of the five types.
#[derive(Debug, Clone, PartialEq)]
enum Owned {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    Bool(Vec<bool>),
}

impl Owned {
    fn values(&self) -> Values<'_> {
        match self {
            Owned::F32(v) => Values::F32(v),
            Owned::F64(v) => Values::F64(v),
            Owned::I64(v) => Values::I64(v),
            Owned::U8(v) => Values::U8(v),
            Owned::Bool(v) => Values::Bool(v),
        }
    }
}

fn any_array() -> impl Strategy<Value = (Vec<usize>, Owned)> {
    (prop::collection::vec(0usize..5, 0..4), 0..5, any::<u64>()).prop_map(|(shape, kind, seed)| {
        let bits = |i: usize| (seed ^ i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(i as u32 % 64);
        let indices = 0..shape.iter().product::<usize>();
        let owned = match kind {
            0 => Owned::F32(indices.map(|i| bits(i) as i32 as f32 / 64.0).collect()),
            1 => Owned::F64(indices.map(|i| bits(i) as i64 as f64 / 1e9).collect()),
            2 => Owned::I64(indices.map(|i| bits(i) as i64).collect()),
            3 => Owned::U8(indices.map(|i| bits(i) as u8).collect()),
            _ => Owned::Bool(indices.map(|i| bits(i) % 2 == 0).collect()),
        };
        (shape, owned)
    })
}

#[track_caller]
fn assert_same(array: RawArray, shape: &[usize], owned: &Owned) {
    assert_eq!(array.shape(), shape);
    let found = match array.to_owned_native().expect("native").data {
        NativeData::F32(v) => Owned::F32(v),
        NativeData::F64(v) => Owned::F64(v),
        NativeData::I64(v) => Owned::I64(v),
        NativeData::U8(v) => Owned::U8(v),
        NativeData::Bool(v) => Owned::Bool(v),
        NativeData::Mapped { .. } => panic!("asked for memory of its own"),
    };
    assert_eq!(&found, owned);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, rng_seed: proptest::test_runner::RngSeed::Fixed(5), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_format_gives_back_what_was_written(arrays in prop::collection::vec(any_array(), 0..5), compress: bool) {
        let folder = Folder::new("round-trip");
        let names: Vec<String> = (0..arrays.len()).map(|i| format!("layer.{i}/\"ü\" {i}")).collect();
        let list: Vec<(&str, &[usize], Values<'_>)> = names
            .iter()
            .zip(&arrays)
            .map(|(name, (shape, owned))| (name.as_str(), shape.as_slice(), owned.values()))
            .collect();
        let options = WriteOptions { overwrite: true, compress };
        let metadata = BTreeMap::from([("ключ".to_owned(), "line\nbreak \u{1}".to_owned())]);
        npz::write(folder.join("a.npz"), &list, options).expect("npz");
        safetensors::write(folder.join("a.safetensors"), &list, &metadata, options).expect("safetensors");
        let from_npz = npz::read(folder.join("a.npz")).expect("npz");
        let file = SafeTensors::open(folder.join("a.safetensors")).expect("safetensors");
        prop_assert_eq!(file.metadata(), &metadata);
        prop_assert_eq!(from_npz.len(), arrays.len());
        prop_assert_eq!(file.names().count(), arrays.len());
        for ((name, (shape, owned)), (npz_name, array)) in names.iter().zip(&arrays).zip(from_npz) {
            prop_assert_eq!(name, &npz_name);
            assert_same(array, shape, owned);
            assert_same(file.read(name).expect("tensor"), shape, owned);
            npy::write(folder.join("a.npy"), shape, owned.values(), options).expect("npy");
            assert_same(npy::read(folder.join("a.npy")).expect("npy"), shape, owned);
            assert_same(npy::map(folder.join("a.npy")).expect("npy"), shape, owned);
        }
        // the reference implementation reads it too
        let bytes = std::fs::read(folder.join("a.safetensors")).expect("bytes");
        let theirs = ::safetensors::SafeTensors::deserialize(&bytes).expect("the reference reads it");
        for (name, (shape, _)) in names.iter().zip(&arrays) {
            let tensor = theirs.tensor(name).expect("tensor");
            prop_assert_eq!(tensor.shape(), shape.as_slice());
        }
        prop_assert!(folder.list().iter().all(|name| !name.ends_with(".tmp")));
    }
}

/// numpy wrote these; the same array written here gives the same bytes.
#[test]
fn npy_bytes_are_those_of_numpy() {
    let cases: [(&str, &[usize], Values<'_>); 3] = [
        ("scalar", &[], Values::F64(&[2.5])),
        ("one_axis", &[5], Values::I64(&[0, 1, 2, 3, 4])),
        ("empty", &[0, 5], Values::F32(&[])),
    ];
    for (name, shape, values) in cases {
        let mut bytes = Vec::new();
        npy::write_to(&mut bytes, shape, values).expect("write");
        assert_eq!(bytes, std::fs::read(corpus(&format!("npy/{name}.npy"))).expect("numpy's"), "{name}");
    }
}

#[test]
fn elements_of_written_safetensors_are_aligned() {
    let mut bytes = Vec::new();
    let list: [(&str, &[usize], Values<'_>); 3] =
        [("a", &[1], Values::U8(&[1])), ("b", &[1], Values::F64(&[2.0])), ("c", &[1], Values::F32(&[3.0]))];
    safetensors::write_to(&mut bytes, &list, &BTreeMap::new()).expect("write");
    let header = u64::from_le_bytes(bytes[..8].try_into().expect("length")) as usize;
    assert_eq!((8 + header) % 64, 0);
    let file = SafeTensors::from_bytes(bytes).expect("sound");
    assert_eq!(file.names().collect::<Vec<_>>(), ["b", "c", "a"], "wide types first");
}

#[test]
fn an_existing_file_is_replaced_only_when_asked() {
    let folder = Folder::new("overwrite");
    let path = folder.join("x.npy");
    npy::write(&path, &[1], Values::F32(&[1.0]), WriteOptions::default()).expect("first");
    let error = npy::write(&path, &[1], Values::F32(&[2.0]), WriteOptions::default()).expect_err("second");
    assert!(matches!(error, FileError::Exists { .. }), "{error}");
    assert_same(npy::read(&path).expect("kept"), &[1], &Owned::F32(vec![1.0]));
    npy::write(&path, &[1], Values::F32(&[2.0]), WriteOptions::overwriting()).expect("asked");
    assert_same(npy::read(&path).expect("replaced"), &[1], &Owned::F32(vec![2.0]));
    assert_eq!(folder.list(), ["x.npy"]);
}

#[test]
fn a_failed_write_keeps_the_old_file_and_leaves_nothing_behind() {
    let folder = Folder::new("failed");
    let path = folder.join("x.npz");
    npz::write(&path, &[("a", &[1], Values::U8(&[1]))], WriteOptions::default()).expect("first");
    // the second array is at fault, after the first has gone to the temporary file
    let arrays: [(&str, &[usize], Values<'_>); 2] = [("a", &[1], Values::U8(&[2])), ("b", &[3], Values::U8(&[1]))];
    let error = npz::write(&path, &arrays, WriteOptions::overwriting()).expect_err("shape and values disagree");
    assert_eq!(error.fault().expect("fault").kind, FaultKind::Refused);
    assert!(error.to_string().contains("array \"b\": shape (3) needs 3 elements, 1 were given"), "{error}");
    assert_same(npz::read(&path).expect("kept").remove(0).1, &[1], &Owned::U8(vec![1]));
    assert_eq!(folder.list(), ["x.npz"]);
}

#[test]
fn a_map_outlives_the_replacement_of_its_file() {
    let folder = Folder::new("replaced");
    let path = folder.join("x.npy");
    npy::write(&path, &[2], Values::I64(&[1, 2]), WriteOptions::default()).expect("first");
    let mapped = npy::map(&path).expect("map");
    npy::write(&path, &[1], Values::I64(&[9]), WriteOptions::overwriting()).expect("replaced");
    assert_same(mapped, &[2], &Owned::I64(vec![1, 2]));
}

#[test]
fn names_that_no_reader_would_take_are_refused() {
    let folder = Folder::new("names");
    let one = Values::U8(&[1]);
    for names in [["../x", "y"], ["/x", "y"], ["x", "x"], ["c:x", "y"]] {
        let arrays = names.map(|name| (name, &[1usize][..], one));
        assert!(npz::write(folder.join("x.npz"), &arrays, WriteOptions::default()).is_err(), "{names:?}");
    }
    for names in [["x", "x"], ["__metadata__", "y"]] {
        let arrays = names.map(|name| (name, &[1usize][..], one));
        assert!(safetensors::write_to(&mut Vec::new(), &arrays, &BTreeMap::new()).is_err(), "{names:?}");
    }
    assert!(folder.list().is_empty());
}

#[test]
fn the_same_arrays_give_the_same_bytes() {
    let folder = Folder::new("same");
    let arrays: [(&str, &[usize], Values<'_>); 2] =
        [("a", &[1], Values::U8(&[2])), ("b", &[2], Values::F32(&[1.0, 2.0]))];
    let reversed = [arrays[1], arrays[0]];
    let mut first = Vec::new();
    let mut second = Vec::new();
    safetensors::write_to(&mut first, &arrays, &BTreeMap::new()).expect("write");
    safetensors::write_to(&mut second, &reversed, &BTreeMap::new()).expect("write");
    assert_eq!(first, second);
    for name in ["1.npz", "2.npz"] {
        npz::write(folder.join(name), &arrays, WriteOptions::default()).expect("write");
    }
    assert_eq!(std::fs::read(folder.join("1.npz")).expect("1"), std::fs::read(folder.join("2.npz")).expect("2"));
}
