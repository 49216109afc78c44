//! Every hostile file of the corpus: refused for the right reason, quickly, without memory.

use super::corpus;
use super::meter::peak_bytes;
use tove_tensor::io::npz::{self, Limits, NpzReader};
use tove_tensor::io::safetensors::SafeTensors;
use tove_tensor::io::{FaultKind, FileError, RawArray, npy};

/// What refusing a file of a few kilobytes may hold in memory.
const ENOUGH: usize = 1 << 20;

#[track_caller]
fn assert_refused<T>(file: &str, kind: FaultKind, reason: &str, read: impl Fn() -> Result<T, FileError>) {
    let (result, peak) = peak_bytes(read);
    let Err(error) = result else { panic!("{file} was accepted") };
    let message = error.to_string();
    let fault = error.fault().unwrap_or_else(|| panic!("{file}: {message} is not the content's fault"));
    assert_eq!(fault.kind, kind, "{message}");
    assert!(message.contains(reason), "{file}: {message} does not say {reason:?}");
    assert!(message.contains(file.rsplit('/').next().expect("file name")), "{message} does not name {file}");
    assert!(!fault.advice.is_empty());
    assert!(peak < ENOUGH, "{file}: {peak} bytes held");
}

fn refuse_npy(name: &str, kind: FaultKind, reason: &str) {
    let file = format!("npy/hostile_{name}.npy");
    assert_refused(&file, kind, reason, || npy::read(corpus(&file)));
    // a map learns of missing and of surplus bytes by the same comparison, with other words
    let reason = if name.ends_with("_data") || name == "shape_lies_1_tib" { "needs" } else { reason };
    assert_refused(&file, kind, reason, || npy::map(corpus(&file)));
}

fn refuse_npz(name: &str, kind: FaultKind, reason: &str) {
    let file = format!("npz/hostile_{name}.npz");
    assert_refused(&file, kind, reason, || npz::read(corpus(&file)));
}

fn refuse_safetensors(name: &str, kind: FaultKind, reason: &str) {
    let file = format!("safetensors/hostile_{name}.safetensors");
    let all = || -> Result<Vec<(String, RawArray)>, FileError> { SafeTensors::open(corpus(&file))?.read_all() };
    assert_refused(&file, kind, reason, all);
}

/// One named test per file.
macro_rules! refused {
    ($module:ident in $format:literal by $refuse:ident: $($name:ident $kind:ident $reason:literal;)*) => {
        mod $module {
            use super::*;
            $(#[test] fn $name() { $refuse(stringify!($name), FaultKind::$kind, $reason); })*

            #[test]
            fn every_file_has_a_test() {
                let tested = [$(stringify!($name)),*];
                for entry in std::fs::read_dir(corpus($format)).expect("corpus") {
                    let name = entry.expect("entry").file_name().to_string_lossy().into_owned();
                    let Some(case) = name.strip_prefix("hostile_").and_then(|rest| rest.split('.').next()) else { continue };
                    assert!(tested.contains(&case) || ELSEWHERE.contains(&case), "{name} has no test");
                }
            }
        }
    };
}

/// Files whose test needs more than a refusal; they follow below.
const ELSEWHERE: [&str; 3] = ["bomb_honest", "u64_too_large", "lying_sizes"];

refused! { npy_refused in "npy" by refuse_npy:
    empty_file Malformed "ends inside the npy header";
    wrong_magic Malformed "starts with \\x93NUMPY";
    zip_named_npy Unsupported "read it as .npz";
    version_9 Unsupported "version 9.0";
    header_cut Malformed "of which 30 are there";
    header_length_huge TooLarge "a header of 4294967295 bytes";
    header_not_utf8 Malformed "byte 56: the header of an npy version 3.0 file is not UTF-8";
    truncated_data Malformed "the file ends after 15";
    trailing_data Malformed "bytes after the array";
    shape_2_60 Malformed "more bytes than can be addressed";
    shape_lies_1_tib Malformed "the file ends after 16";
    shape_overflows Malformed "more bytes than can be addressed";
    shape_overflows_behind_zero Malformed "more bytes than can be addressed";
    shape_beyond_u64 Malformed "too large to address";
    shape_negative Malformed "byte 61: a negative extent";
    shape_not_numbers Malformed "tuple of integers";
    shape_65_axes TooLarge "more than 64 axes";
    object_dtype Unsupported "pickles, which run code";
    record_dtype Unsupported "record array";
    text_dtype Unsupported "text is not read";
    complex_dtype Unsupported "complex numbers are not read";
    no_byte_order Malformed "needs a byte order";
    key_missing Malformed "lacks 'fortran_order'";
    key_twice Malformed "\"shape\" given twice";
    key_unknown Malformed "unknown header key \"code\"";
    code_in_header Malformed "should have ''' here, found '_'";
    text_after_dict Malformed "after the header's closing brace";
    string_open Malformed "does not end";
    nested_deep Malformed "should have ''' here, found '{'";
}

refused! { npz_refused in "npz" by refuse_npz:
    not_a_zip Malformed "zip";
    empty_file Malformed "zip";
    cut Malformed "zip";
    path_up Malformed "leads out of its folder";
    path_absolute Malformed "leads out of its folder";
    path_windows Malformed "leads out of its folder";
    bomb_small_shape Malformed "bytes after the array of shape (2)";
    shape_lies TooLarge "1099511627776 bytes of deflated elements";
    wrong_checksum Malformed "array \"a\": cannot be unpacked";
    overlapping_entries Malformed "overlap";
    lying_count Malformed "zip";
    bzip2 Unsupported "zip compression method";
    object_entry Unsupported "array \"a\", byte";
    garbage_entry Malformed "array \"a\", byte 0: the file ends inside the npy header";
}

refused! { safetensors_refused in "safetensors" by refuse_safetensors:
    empty_file Malformed "only 0 bytes";
    seven_bytes Malformed "only 7 bytes";
    header_2_63 TooLarge "a header of 9223372036854775808 bytes";
    header_longer_than_file Malformed "a header of 5000 bytes is promised";
    header_length_zero Malformed "does not start with '{'";
    not_json Malformed "EOF while parsing";
    not_object Malformed "does not start with '{'";
    text_after_json Malformed "trailing characters";
    not_utf8 Malformed "byte 10: the header is not UTF-8";
    nested_deep Malformed "tensor \"a\"";
    overlapping Malformed "tensor \"b\": begins at byte 4, inside the tensor before it, which ends at 8";
    same_bytes Malformed "tensor \"b\": begins at byte 0, inside the tensor before it, which ends at 8";
    hole Malformed "tensor \"b\": begins at byte 12, behind a hole after the tensor before it, which ends at 8";
    hidden_tail Malformed "the tensors end at byte 8 of 12";
    beyond_file Malformed "bytes 0 to 8 of 7 bytes of data";
    backwards Malformed "bytes 8 to 0";
    offset_2_64 Malformed "tensor \"a\"";
    size_mismatch Malformed "\"F32\" of shape (3) does not fill its 8 bytes";
    dtype_mismatch Malformed "\"F64\" of shape (2) does not fill its 8 bytes";
    shape_negative Malformed "tensor \"a\"";
    shape_fraction Malformed "tensor \"a\"";
    shape_overflows Malformed "more bytes than can be addressed";
    shape_overflows_behind_zero Malformed "more bytes than can be addressed";
    name_twice Malformed "\"a\" is given twice";
    field_missing Malformed "missing field `data_offsets`";
    metadata_number Malformed "expected a string";
    dtype_unknown Unsupported "elements of type \"Q7\"";
    pickle Unsupported "pickles run code when loaded";
}

#[test]
fn an_honest_bomb_is_bounded_by_the_limit() {
    let path = corpus("npz/hostile_bomb_honest.npz");
    let (result, peak) = peak_bytes(|| NpzReader::open_with(&path, Limits { bytes: 1 << 20 })?.read_all());
    let error = result.expect_err("16 MB do not fit in 1 MiB");
    assert_eq!(error.fault().expect("fault").kind, FaultKind::TooLarge);
    assert!(error.to_string().contains("open it with a higher limit"), "{error}");
    assert!(peak < ENOUGH, "{peak}");
    let (array, peak) = peak_bytes(|| npz::read(&path).expect("allowed by default").remove(0).1);
    assert_eq!(array.shape(), [2_000_000]);
    assert!(peak < 3 * 16_000_000, "{peak}");
}

#[test]
fn the_limit_counts_all_arrays_of_an_archive() {
    let mut reader = NpzReader::open_with(corpus("npz/stored.npz"), Limits { bytes: 50 }).expect("directory");
    assert!(reader.read("x").is_ok(), "48 bytes");
    assert!(reader.read("labels").is_err(), "12 more");
    assert!(reader.read("flag").is_ok(), "1 more");
}

#[test]
fn sizes_in_the_zip_directory_are_not_used_to_allocate() {
    let path = corpus("npz/hostile_lying_sizes.npz");
    let (result, peak) = peak_bytes(|| npz::read(&path));
    assert!(result.is_err());
    assert!(peak < ENOUGH, "{peak}");
}

#[test]
fn u64_beyond_i64_is_an_error_of_the_conversion() {
    let array = npy::read(corpus("npy/hostile_u64_too_large.npy")).expect("the file itself is sound");
    let fault = array.to_native().expect_err("2^63");
    assert!(fault.to_string().contains("u64 value 9223372036854775808 at row-major position 1"), "{fault}");
}

#[test]
fn a_missing_file_and_a_folder_are_errors_of_the_system() {
    for path in [corpus("npy/no_such.npy"), corpus("npy")] {
        for error in [npy::read(&path).expect_err("read"), npy::map(&path).expect_err("map")] {
            assert!(matches!(error, FileError::Io { .. }), "{error}");
            assert!(error.to_string().contains(&path.display().to_string()), "{error}");
        }
        assert!(matches!(SafeTensors::open(&path), Err(FileError::Io { .. })));
        assert!(matches!(NpzReader::open(&path), Err(FileError::Io { .. } | FileError::Content { .. })));
    }
}
