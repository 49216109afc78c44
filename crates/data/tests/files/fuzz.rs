//! Damaged and hostile files: an error or a sound tensor, never a panic, never more memory than the bytes account for.

use tove_data::images::{cifar, idx as format};
use tove_data::{DataError, images::read_idx, text::read_text};
use tove_tensor::io::{FaultKind, FileError};

use super::meter::most_held;
use super::{Folder, idx, packed};

const ROUNDS: usize = 60_000;
/// Buffers and the state of the decoder, whatever the file.
const BASE: usize = 1 << 18;

/// A generator of the test's own, so that the mutations stay the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % sides.max(1)
    }
}

fn sound_files() -> Vec<Vec<u8>> {
    let elements: Vec<u8> = (0..96).collect();
    let mut files = vec![
        idx(8, &[4, 4, 6], &elements),
        idx(9, &[96], &elements),
        idx(0x0b, &[6, 8], &elements),
        idx(0x0c, &[2, 3, 4], &elements),
        idx(0x0d, &[24], &elements),
        idx(0x0e, &[3, 4], &elements),
        idx(8, &[], &[5]),
        idx(8, &[0, 28, 28], &[]),
    ];
    files.extend(files.clone().iter().map(|file| packed(file)));
    files
}

fn mutate(dice: &mut Dice, files: &[Vec<u8>]) -> Vec<u8> {
    let mut file = files[dice.roll(files.len())].clone();
    for _ in 0..=dice.roll(3) {
        let length = file.len();
        // Headers and trailers decide; elements are just elements.
        let at = if dice.roll(3) == 0 { dice.roll(length) } else { dice.roll(length.min(24)) };
        match dice.roll(6) {
            0 if length > 0 => file[at] ^= 1 << dice.roll(8),
            1 if length > 0 => file[at] = [0, 1, 2, 8, 9, 11, 12, 13, 14, 0x7f, 0x80, 0xff][dice.roll(12)],
            2 => file.truncate(at),
            3 => file.extend((0..dice.roll(9)).map(|i| i as u8)),
            4 => file.insert(at.min(length), [0, 0xff, 0x1f, 0x8b][dice.roll(4)]),
            _ => {
                let width = 4.min(length - at.min(length));
                let number = [0u32, 1, u32::MAX, 1 << 31, 1 << 16, 96][dice.roll(6)].to_be_bytes();
                file[at..at + width].copy_from_slice(&number[..width]);
            }
        }
    }
    file
}

#[test]
fn mutated_idx_files_do_no_harm() {
    let (files, mut dice, mut accepted) = (sound_files(), Dice(0x9e37_79b9_7f4a_7c15), 0);
    for round in 0..ROUNDS {
        let file = mutate(&mut dice, &files);
        let (result, most) = most_held(|| format::from_bytes(&file));
        // Deflate packs up to a thousandfold, and i8 becomes i64; a mutated stream may do the one, a header the other.
        let unpacked = if file.starts_with(&[0x1f, 0x8b]) { 1100 * file.len() } else { file.len() };
        assert!(most <= BASE + 24 * unpacked, "round {round}: {most} bytes for a file of {}", file.len());
        match result {
            Ok(tensor) => {
                accepted += 1;
                assert_eq!(tensor.numel(), tensor.dims().iter().product::<usize>());
            }
            Err(DataError::File(FileError::Content { fault, .. })) => {
                assert!(fault.place.offset.is_some() && !fault.problem.is_empty() && !fault.advice.is_empty());
            }
            Err(other) => panic!("round {round}: {other}"),
        }
    }
    // The mutations reach both sides of the fence.
    assert!(accepted > ROUNDS / 50 && accepted < ROUNDS * 9 / 10, "{accepted}");
}

#[test]
fn mutated_cifar_files_do_no_harm() {
    let mut records = vec![3u8; 2 * cifar::RECORD];
    records[cifar::RECORD] = 9;
    let (files, mut dice) = ([records.clone(), packed(&records)], Dice(77));
    let mut accepted = 0;
    for _ in 0..ROUNDS / 3 {
        let file = mutate(&mut dice, &files);
        if let Ok((images, labels)) = cifar::from_bytes(&file) {
            accepted += 1;
            assert_eq!(images.dims(), [labels.numel(), 3, 32, 32]);
            assert!(labels.to_vec::<i64>().iter().all(|label| (0..10).contains(label)));
        }
    }
    assert!(accepted > 100, "{accepted}");
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let folder = Folder::new();
    for file in sound_files() {
        assert!(format::from_bytes(&file).is_ok());
        for length in 0..file.len() {
            let cut = &file[..length];
            let error = format::from_bytes(cut).expect_err("cut off");
            assert!(matches!(&error, DataError::File(FileError::Content { .. })), "{error}");
            let path = folder.file("cut", cut);
            assert!(read_idx(&path).expect_err("cut off").to_string().contains("cut"), "names the file");
        }
    }
    let record = vec![1u8; cifar::RECORD];
    assert!((0..cifar::RECORD).all(|length| cifar::from_bytes(&record[..length]).is_err()));
    let gz = packed(&record);
    assert!((0..gz.len()).all(|length| cifar::from_bytes(&gz[..length]).is_err()));
}

#[test]
fn sizes_are_compared_before_anything_is_allocated() {
    let fault = |file: &[u8]| match most_held(|| format::from_bytes(file)) {
        (Err(DataError::File(FileError::Content { fault, .. })), most) if most < BASE => *fault,
        (other, most) => panic!("{other:?}, {most} bytes held"),
    };
    // A gigabyte that is not there; more than can be addressed; the same hidden behind an empty axis.
    assert!(fault(&idx(8, &[1 << 30], &[0; 8])).problem.contains("8 are there"));
    assert!(fault(&idx(0x0e, &[u32::MAX; 3], &[])).problem.contains("more than can be addressed"));
    assert!(fault(&idx(8, &[u32::MAX, u32::MAX, 0, u32::MAX], &[])).problem.contains("more than can be addressed"));
    // In a packed file the size is not known; what comes is what counts, and there is an upper limit.
    let packed_lie = fault(&packed(&idx(8, &[1 << 30], &[0; 8])));
    assert!(packed_lie.problem.contains("8 came") && packed_lie.place.item.is_some());
    assert_eq!(fault(&packed(&idx(0x0e, &[1 << 30], &[0; 8]))).kind, FaultKind::TooLarge);
    assert!(fault(&idx(0x0a, &[1], &[0])).problem.contains("0x0a"));
    assert_eq!(fault(&idx(8, &[1; 100], &[0])).kind, FaultKind::Unsupported);
    assert!(fault(&idx(8, &[2], &[0, 0, 0])).problem.contains("3 are there"));
    assert!(fault(&packed(&idx(8, &[2], &[0, 0, 0]))).problem.contains("bytes follow"));
    assert!(fault(b"PK\x03\x04").problem.contains("two zero bytes"));
}

#[test]
fn text_that_is_not_utf8_names_the_byte() {
    let folder = Folder::new();
    let error = read_text(folder.file("latin.txt", b"caf\xe9 au lait")).expect_err("Latin-1").to_string();
    assert!(error.contains("latin.txt") && error.contains("byte 3") && error.contains("convert"), "{error}");
    assert_eq!(read_text(folder.file("bom.txt", "\u{feff}été".as_bytes())).expect("UTF-8"), "été");
    assert_eq!(read_text(folder.file("t.gz", &packed("été".as_bytes()))).expect("packed UTF-8"), "été");
    let missing = read_text(folder.path().join("none.txt")).expect_err("not there").to_string();
    assert!(missing.contains("none.txt") && missing.contains("open"), "{missing}");
}
