//! Mutated files: the whole corpus, thousands of times, from a fixed seed. No panic, no memory beyond what the bytes
//! can account for, and whatever is accepted is consistent.

use super::corpus;
use super::meter::peak_bytes;
use std::io::Cursor;
use tove_tensor::io::npz::{Limits, NpzReader};
use tove_tensor::io::safetensors::SafeTensors;
use tove_tensor::io::{RawArray, npy};

const ROUNDS: usize = 200_000;
/// What a reader may hold whatever the file: buffers, the state of the decompressor.
const BASE: usize = 1 << 19;

/// A small generator of its own, so that the mutations never change under us.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// The corpus of a format, the sound files several times so that half of the mutations start from one.
fn load(format: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> =
        std::fs::read_dir(corpus(format)).expect("corpus").map(|entry| entry.expect("entry").path()).collect();
    paths.sort();
    let hostile = |path: &std::path::PathBuf| path.to_string_lossy().contains("hostile_");
    let (hostile, sound): (Vec<_>, Vec<_>) = paths.into_iter().partition(hostile);
    let copies = hostile.len().div_ceil(sound.len());
    let read = |path| std::fs::read(path).expect("file");
    hostile.iter().chain(std::iter::repeat_n(&sound, copies).flatten()).map(read).collect()
}

fn mutate(random: &mut Random, files: &[Vec<u8>]) -> Vec<u8> {
    let mut file = files[random.below(files.len())].clone();
    // most of a file may be elements, whose bytes nobody checks: look mostly at its start and end
    let place = |random: &mut Random, length: usize| match random.below(4) {
        0 => random.below(length),
        1 => length.saturating_sub(1 + random.below(length.min(120))),
        _ => random.below(length.min(160)),
    };
    for _ in 0..1 + random.below(3) {
        let at = place(random, file.len());
        let rest = file.len() - at.min(file.len());
        match random.below(8) {
            0 if rest > 0 => file[at] ^= 1 << random.below(8),
            1 if rest > 0 => {
                file[at] = *b"{}[](),:'\"\\0129-<>|fiubOLF\0\xff\x7f".get(random.below(28)).unwrap_or(&b'x')
            }
            2 => file.truncate(at),
            3 => {
                let other = &files[random.below(files.len())];
                let from = place(random, other.len());
                file.truncate(at);
                file.extend(&other[from.min(other.len())..]);
            }
            4 => {
                let width = (1 << random.below(4)).min(rest);
                let number = [0, 1, u64::MAX, 1 << 63, 1 << 31, 1 << 60, 0xFFFF, random.next()][random.below(8)];
                file[at..at + width].copy_from_slice(&number.to_le_bytes()[..width]);
            }
            5 => {
                let end = at + random.below(rest.min(64) + 1);
                let copy = file[at.min(file.len())..end.min(file.len())].to_vec();
                file.splice(at.min(file.len())..at.min(file.len()), copy);
            }
            6 => {
                let end = (at + random.below(16)).min(file.len());
                file.drain(at.min(end)..end);
            }
            _ => replace_number(random, &mut file, at),
        }
    }
    file
}

/// Replaces the first run of digits behind `at`: shapes and offsets are written in decimal.
fn replace_number(random: &mut Random, file: &mut Vec<u8>, at: usize) {
    let Some(start) = (at..file.len()).find(|&i| file[i].is_ascii_digit()) else { return };
    let end = (start..file.len()).find(|&i| !file[i].is_ascii_digit()).unwrap_or(file.len());
    let numbers = [
        "0",
        "1",
        "-1",
        "7",
        "1152921504606846976",
        "18446744073709551615",
        "99999999999999999999",
        "4294967296",
        "1e9",
    ];
    file.splice(start..end, numbers[random.below(numbers.len())].bytes());
}

/// An accepted array agrees with itself and converts or says why not.
fn use_array(array: RawArray) {
    let elements: usize = array.shape().iter().product();
    assert_eq!(array.bytes().len(), elements * array.dtype().size());
    let shape = array.shape().to_vec();
    if let Ok(native) = array.to_native() {
        assert_eq!(native.shape, shape);
    }
}

/// Conversion from i8 takes eight times the memory, rearranging as much again, and a growing buffer may be half empty.
fn bound(bytes: usize) -> usize {
    BASE + 32 * bytes
}

#[test]
fn npy_survives_mutation() {
    let files = load("npy");
    let mut random = Random(1);
    let mut accepted = 0;
    for round in 0..ROUNDS {
        let file = mutate(&mut random, &files);
        let (ok, peak) = peak_bytes(|| npy::read_from(&mut file.as_slice()).map(use_array).is_ok());
        assert!(peak <= bound(file.len()), "round {round}: {peak} bytes for a file of {}", file.len());
        accepted += usize::from(ok);
    }
    assert!(accepted > ROUNDS / 50 && accepted < ROUNDS, "{accepted} accepted: the mutations are too wild or too tame");
}

#[test]
fn npz_survives_mutation() {
    // the two bombs would spend all the time in unpacking
    let files: Vec<_> = load("npz").into_iter().filter(|file| file.len() < 5000).collect();
    assert!(files.len() >= 12);
    let mut random = Random(2);
    let mut accepted = 0;
    let limits = Limits { bytes: 1 << 12 };
    for round in 0..ROUNDS {
        let file = mutate(&mut random, &files);
        let read = || {
            let arrays = NpzReader::from_reader(Cursor::new(&file), limits)?.read_all()?;
            arrays.into_iter().for_each(|(_, array)| use_array(array));
            Ok::<(), tove_tensor::io::FileError>(())
        };
        let (result, peak) = peak_bytes(read);
        assert!(peak <= bound(file.len() + (1 << 12)), "round {round}: {peak} bytes for a file of {}", file.len());
        accepted += usize::from(result.is_ok());
    }
    assert!(accepted > ROUNDS / 100 && accepted < ROUNDS, "{accepted} accepted");
}

#[test]
fn safetensors_survive_mutation_and_agree_with_the_reference() {
    let files = load("safetensors");
    let mut random = Random(3);
    let mut accepted = 0;
    for round in 0..ROUNDS {
        let file = mutate(&mut random, &files);
        let copy = file.clone();
        let read = || {
            let tensors = SafeTensors::from_bytes(copy)?;
            for name in tensors.names() {
                tensors.read(name).map(use_array).ok();
            }
            Ok::<SafeTensors, tove_tensor::io::FileError>(tensors)
        };
        let (ours, peak) = peak_bytes(read);
        assert!(peak <= bound(file.len()), "round {round}: {peak} bytes for a file of {}", file.len());
        accepted += usize::from(ours.is_ok());
        compare_with_reference(&file, ours, round);
    }
    assert!(accepted > ROUNDS / 100 && accepted < ROUNDS, "{accepted} accepted");
}

fn compare_with_reference(file: &[u8], ours: Result<SafeTensors, tove_tensor::io::FileError>, round: usize) {
    let theirs = ::safetensors::SafeTensors::deserialize(file);
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            let (mut a, mut b): (Vec<_>, Vec<_>) = (ours.names().collect(), theirs.names());
            a.sort_unstable();
            b.sort_unstable();
            assert_eq!(a, b, "round {round}");
            for name in a {
                let tensor = theirs.tensor(name).expect("tensor");
                assert_eq!(ours.shape(name).expect("shape"), tensor.shape(), "round {round}");
                if let Ok(array) = ours.read(name) {
                    assert_eq!(&**array.bytes(), tensor.data(), "round {round}");
                }
            }
        }
        // a type name unknown to both is one tensor's problem here, the whole file's there
        (Ok(ours), Err(error)) => assert!(ours.read_all().is_err(), "round {round}: the reference says {error}"),
        (Err(error), Ok(_)) => {
            let stricter = ["given twice", "more bytes than can be addressed", "axes", "does not start with '{'"];
            let message = error.to_string();
            assert!(stricter.iter().any(|reason| message.contains(reason)), "round {round}: only we refuse: {message}");
        }
        (Err(_), Err(_)) => {}
    }
}
