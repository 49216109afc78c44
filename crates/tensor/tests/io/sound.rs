//! Sound files of numpy, safetensors and torch come back with their exact values.

use super::corpus;
use serde_json::Value;
use tove_tensor::io::npz::{self, NpzReader};
use tove_tensor::io::safetensors::SafeTensors;
use tove_tensor::io::{NativeDType, NativeData, RawArray, npy};

fn expected() -> serde_json::Map<String, Value> {
    let text = include_str!("../reference/corpus.json");
    let value: Value = serde_json::from_str(text).expect("corpus.json");
    value["files"].as_object().expect("files").clone()
}

/// Elements as f64 and i64, whatever the type; a mapped array is read through its bytes.
fn elements(data: &NativeData) -> Vec<f64> {
    match data {
        NativeData::F32(v) => v.iter().map(|&x| f64::from(x)).collect(),
        NativeData::F64(v) => v.clone(),
        NativeData::I64(v) => v.iter().map(|&x| x as f64).collect(),
        NativeData::U8(v) => v.iter().map(|&x| f64::from(x)).collect(),
        NativeData::Bool(v) => v.iter().map(|&x| f64::from(u8::from(x))).collect(),
        NativeData::Mapped { dtype, map, range } => {
            let bytes = &map[range.clone()];
            match dtype {
                NativeDType::F32 => bytes.as_chunks().0.iter().map(|&b| f64::from(f32::from_ne_bytes(b))).collect(),
                NativeDType::F64 => bytes.as_chunks().0.iter().map(|&b| f64::from_ne_bytes(b)).collect(),
                NativeDType::I64 => bytes.as_chunks().0.iter().map(|&b| i64::from_ne_bytes(b) as f64).collect(),
                NativeDType::U8 | NativeDType::Bool => bytes.iter().map(|&b| f64::from(b)).collect(),
            }
        }
    }
}

/// `float.hex()` of Python, or an integer.
fn parse(text: &str) -> f64 {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let magnitude = match rest.strip_prefix("0x") {
        None => rest.parse().expect("number"),
        Some(hex) => {
            let (mantissa, exponent) = hex.split_once('p').expect("exponent");
            let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
            let digits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).expect("hex digits");
            digits as f64 * 2f64.powi(exponent.parse::<i32>().expect("exponent") - 4 * fraction.len() as i32)
        }
    };
    if negative { -magnitude } else { magnitude }
}

fn native_type(numpy: &str) -> NativeDType {
    match numpy {
        "float16" | "bfloat16" | "float32" => NativeDType::F32,
        "float64" => NativeDType::F64,
        "uint8" => NativeDType::U8,
        "bool" => NativeDType::Bool,
        _ => NativeDType::I64,
    }
}

#[track_caller]
fn assert_matches(array: RawArray, expected: &Value, file: &str) {
    for native in [array.clone().to_native(), array.to_owned_native()] {
        let native = native.expect(file);
        let shape: Vec<usize> =
            expected["shape"].as_array().expect("shape").iter().map(|x| x.as_u64().expect("extent") as usize).collect();
        assert_eq!(native.shape, shape, "{file}");
        assert_eq!(native.data.dtype(), native_type(expected["dtype"].as_str().expect("dtype")), "{file}");
        let wanted: Vec<u64> = expected["values"]
            .as_array()
            .expect("values")
            .iter()
            .map(|x| parse(x.as_str().expect("value")).to_bits())
            .collect();
        let found: Vec<u64> = elements(&native.data).into_iter().map(f64::to_bits).collect();
        assert_eq!(found, wanted, "{file}");
    }
}

#[test]
fn npy_of_numpy_in_every_type_order_and_version() {
    let files = expected();
    let mut count = 0;
    for (file, expected) in files.iter().filter(|(file, _)| file.ends_with(".npy")) {
        assert_matches(npy::read(corpus(file)).expect(file), expected, file);
        assert_matches(npy::map(corpus(file)).expect(file), expected, file);
        count += 1;
    }
    assert!(count >= 29, "{count} files");
}

#[test]
fn npz_of_numpy_stored_and_deflated() {
    let files = expected();
    for (file, expected) in files.iter().filter(|(file, _)| file.ends_with(".npz")) {
        let arrays = npz::read(corpus(file)).expect(file);
        assert_eq!(arrays.len(), expected.as_object().expect("arrays").len(), "{file}");
        for (name, array) in arrays {
            assert_matches(array, &expected[&name], file);
        }
    }
    let mut reader = NpzReader::open(corpus("npz/stored.npz")).expect("stored.npz");
    assert_eq!(reader.names().collect::<Vec<_>>(), ["x", "labels", "flag"]);
    assert_eq!(reader.read("labels").expect("labels").shape(), [3]);
    let missing = reader.read("weights").expect_err("no such array").to_string();
    assert!(missing.contains(r#"no array "weights"; it has "x", "labels", "flag""#), "{missing}");
}

#[test]
fn safetensors_of_numpy_and_torch() {
    let files = expected();
    for (file, expected) in files.iter().filter(|(file, _)| file.ends_with(".safetensors")) {
        let mapped = SafeTensors::open(corpus(file)).expect(file);
        let in_memory = SafeTensors::from_bytes(std::fs::read(corpus(file)).expect(file)).expect(file);
        assert_eq!(mapped.names().count(), expected.as_object().expect("tensors").len(), "{file}");
        for tensors in [&mapped, &in_memory] {
            for (name, array) in tensors.read_all().expect(file) {
                assert_matches(array, &expected[&name], &format!("{file} {name}"));
            }
        }
    }
    let numpy = SafeTensors::open(corpus("safetensors/numpy.safetensors")).expect("numpy");
    assert_eq!(numpy.metadata()["writer"], "numpy");
    assert_eq!(numpy.metadata()["note"], "äöü \"q\"");
    let torch = SafeTensors::open(corpus("safetensors/torch.safetensors")).expect("torch");
    assert_eq!(torch.metadata()["format"], "pt");
    assert_eq!(torch.shape("fc.weight").expect("shape"), [2, 3]);
}

#[test]
fn safetensors_are_read_from_the_map_without_a_copy() {
    let file = SafeTensors::open(corpus("safetensors/torch.safetensors")).expect("torch");
    let data = |name| file.read(name).expect("tensor").to_native().expect("native").data;
    assert!(matches!(data("fc.weight"), NativeData::Mapped { dtype: NativeDType::F32, .. }));
    assert!(matches!(data("fc.bias"), NativeData::F32(_)), "bf16 has to be converted");
}

#[test]
fn misaligned_elements_are_copied_out_of_the_map() {
    // one byte of U8 in front, in an order that no good writer chooses
    let header = br#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F64","shape":[1],"data_offsets":[1,9]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    bytes.push(7);
    bytes.extend(2.5f64.to_le_bytes());
    let folder = super::Folder::new("misaligned");
    let path = folder.join("odd.safetensors");
    std::fs::write(&path, bytes).expect("write");
    let file = SafeTensors::open(&path).expect("sound");
    match file.read("b").expect("b").to_native().expect("native").data {
        NativeData::F64(values) => assert_eq!(values, [2.5]),
        other => panic!("expected a copy, got {other:?}"),
    }
}

#[test]
fn one_exotic_type_does_not_hide_the_other_tensors() {
    let file = SafeTensors::open(corpus("safetensors/float8.safetensors")).expect("float8");
    assert_eq!(file.read("w").expect("w").shape(), [2]);
    let error = file.read("q").expect_err("float8 is not read").to_string();
    assert!(error.contains(r#"tensor "q": elements of type "F8_E4M3""#), "{error}");
}
