//! Damaged and hostile files: an error or a sound table, never a panic, never memory without bound.

use tove_data::table::csv::Ragged;
use tove_data::table::{Column, CsvOptions, Encoding, Schema, Table, TableEncoder};

use super::meter::most_held;
use super::{Dice, packed};

fn sound_files() -> Vec<Vec<u8>> {
    let plain =
        "a,b,c,d\n1,2.5,2001-01-01,\"x, \"\"y\"\"\"\n-3,NA,2001-01-02 03:04:05.678,\"line\nbreak\"\n,1e300,,true\n";
    let mut files = vec![
        plain.as_bytes().to_vec(),
        plain.replace(',', ";").replace('\n', "\r\n").into_bytes(),
        b"x\n1\n2\n\n\"\"\n".to_vec(),
        "\u{feff}é\tü\n1\t2\n".as_bytes().to_vec(),
        b"caf\xe9,b\n1,2\n".to_vec(),
    ];
    files.push(packed(&files[0]));
    files
}

fn mutate(dice: &mut Dice, files: &[Vec<u8>]) -> Vec<u8> {
    let mut file = files[dice.roll(files.len())].clone();
    for _ in 0..=dice.roll(4) {
        let at = dice.roll(file.len());
        match dice.roll(6) {
            0 if !file.is_empty() => file[at] ^= 1 << dice.roll(8),
            1 if !file.is_empty() => file[at] = b"\",;\n\r\t 0-.eE\0\xff"[dice.roll(14)],
            2 => file.truncate(at),
            3 => file.insert(at.min(file.len()), b"\",\n\r\"\xc3"[dice.roll(6)]),
            4 => {
                let end = (at + dice.roll(20)).min(file.len());
                let piece = file[at.min(end)..end].to_vec();
                file.extend(piece);
            }
            _ => drop(file.drain(at.min(file.len())..(at + dice.roll(6)).min(file.len()))),
        }
    }
    file
}

/// A table that can be looked at from all sides.
fn exercise(table: &Table) {
    assert!(table.columns().iter().all(|column| column.len() == table.n_rows()));
    assert!(!table.describe().to_string().is_empty() && !table.to_string().is_empty());
    let mut bytes = Vec::new();
    table.write_csv_to(&mut bytes).unwrap();
    if let Ok(encoder) = TableEncoder::fit(table, &Schema::of(table), &Encoding::default()) {
        assert_eq!(encoder.encode(table).unwrap().x.dims(), [table.n_rows(), encoder.feature_names().len()]);
    }
}

#[test]
fn mutated_csv_files_do_no_harm() {
    let (files, mut dice, mut accepted) = (sound_files(), Dice(0x9e37_79b9_7f4a_7c15), 0);
    let rounds = 20_000;
    for round in 0..rounds {
        let file = mutate(&mut dice, &files);
        let options = CsvOptions::new().ragged(if round % 2 == 0 { Ragged::Error } else { Ragged::Drop });
        let (result, most) = most_held(|| options.read_bytes(&file));
        let unpacked = if file.starts_with(&[0x1f, 0x8b]) { 1100 * file.len() } else { file.len() };
        assert!(most < (1 << 18) + 400 * unpacked, "round {round}: {most} bytes for {}", file.len());
        match result {
            Ok((table, report)) => {
                accepted += 1;
                assert_eq!(report.rows, table.n_rows());
                if round % 8 == 0 {
                    exercise(&table);
                }
            }
            Err(error) => assert!(error.to_string().len() < 2000, "{error}"),
        }
    }
    assert!(accepted > rounds / 10 && accepted < rounds * 95 / 100, "{accepted}");
}

#[test]
fn hostile_csv_files_are_refused_or_read() {
    let wide = ",".repeat(100_000) + "\n";
    let (table, report) = CsvOptions::new().read_bytes(wide.as_bytes()).unwrap();
    assert_eq!((table.n_columns(), report.unnamed_columns), (100_001, 100_001));
    let open = format!("a,b\n\"{}", "x,\n".repeat(1_000_000));
    assert!(CsvOptions::new().read_bytes(open.as_bytes()).unwrap_err().to_string().contains("line 2"));
    let long = format!("a\n{}\n", "9".repeat(1_000_000));
    assert_eq!(CsvOptions::new().read_bytes(long.as_bytes()).unwrap().0.n_rows(), 1);
    let quotes = "\"".repeat(1_000_001);
    let _ = CsvOptions::new().read_bytes(quotes.as_bytes());
    let zeros = vec![0u8; 100_000];
    let _ = CsvOptions::new().read_bytes(&zeros);
    assert!(CsvOptions::new().read_bytes(&packed(b"a,b\n1,2\n")[..20]).is_err());
}

#[cfg(feature = "parquet")]
#[test]
fn mutated_parquet_files_do_no_harm() {
    use tove_data::table::parquet::read_parquet_bytes;
    let table = Table::new([
        ("i", Column::Integer([Some(1), None, Some(3)].into_iter().collect())),
        ("f", Column::floats(vec![0.5, 1.5, f64::NAN])),
        ("s", Column::categories(["a", "b", "a"])),
    ])
    .unwrap();
    let mut sound = Vec::new();
    table.write_parquet_to(&mut sound).unwrap();
    assert_eq!(read_parquet_bytes(sound.clone()).unwrap().0, table);
    // The decoder's own panics are caught; they need not be printed.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let (mut dice, mut refused) = (Dice(77), 0);
    let outcome = std::panic::catch_unwind(move || {
        for round in 0..3000 {
            let mut file = sound.clone();
            for _ in 0..=dice.roll(3) {
                let at = dice.roll(file.len());
                match dice.roll(4) {
                    0 => file[at] ^= 1 << dice.roll(8),
                    1 => file[at] = [0, 1, 0x7f, 0x80, 0xff][dice.roll(5)],
                    2 if dice.roll(8) == 0 => file.truncate(at.max(1)),
                    _ => file.insert(at, [0, 0xff, 0x15][dice.roll(3)]),
                }
            }
            match read_parquet_bytes(file) {
                Ok((table, _)) => assert!(table.columns().iter().all(|c| c.len() == table.n_rows()), "round {round}"),
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    refused += 1;
                }
            }
        }
        refused
    });
    std::panic::set_hook(hook);
    let refused = outcome.unwrap();
    assert!(refused > 1000 && refused < 3000, "{refused}");
}

/// Records with fields of any length, quotes, byte-order marks, zeros and mixed line ends, read in every way that there is: all give
/// the same table, or all refuse.
#[test]
fn every_way_of_reading_gives_the_same() {
    let folder = super::Folder::new();
    let (mut dice, mut accepted) = (Dice(0x5eed), 0);
    let rounds = 120;
    for round in 0..rounds {
        let file = composed(&mut dice, round);
        let path = folder.file("t.csv", &file);
        let options = CsvOptions::new().ragged(if round % 3 == 0 { Ragged::Drop } else { Ragged::Error });
        let memory = options.read_bytes(&file);
        let disk = options.read(&path);
        let gzip = options.read_bytes(&packed(&file));
        let rows = 1 + dice.roll(500);
        let pieces = options.chunks(&path, rows).and_then(|chunks| {
            let tables = chunks.collect::<Result<Vec<Table>, _>>()?;
            Table::concat(tables)
        });
        match memory {
            Ok((table, report)) => {
                accepted += 1;
                let (disk, about) = disk.unwrap();
                assert!(disk == table, "round {round}");
                assert_eq!(about.columns, report.columns, "round {round}");
                assert!(gzip.unwrap().0 == table, "round {round}");
                match pieces.unwrap() {
                    Some(pieces) => assert!(pieces == table, "round {round}"),
                    None => assert_eq!(table.n_rows(), 0, "round {round}"),
                }
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.len() < 2_000, "{text}");
                assert!(disk.is_err() && gzip.is_err() && pieces.is_err(), "round {round}: {text}");
            }
        }
    }
    assert!(accepted > rounds / 3 && accepted < rounds, "{accepted}");
}

/// A file out of pieces that are awkward.
fn composed(dice: &mut Dice, round: usize) -> Vec<u8> {
    let columns = 1 + dice.roll(4);
    let mut file: Vec<u8> = if dice.roll(3) == 0 { b"\xef\xbb\xbf".to_vec() } else { Vec::new() };
    let end = |dice: &mut Dice| if dice.roll(4) == 0 { &b"\r\n"[..] } else { b"\n" };
    let names: Vec<String> = (0..columns).map(|column| format!("c{column}")).collect();
    file.extend(names.join(",").as_bytes());
    file.extend(end(dice));
    let rows = dice.roll(2_000);
    // A few records are longer than a block; most files have none of some troubles.
    let (long, odd) = (dice.roll(3) == 0, round.is_multiple_of(4));
    for row in 0..rows {
        for column in 0..columns {
            if column > 0 {
                file.push(b',');
            }
            match dice.roll(12) {
                0 => file.extend(b"\"a, \"\"b\"\"\r\nc\""),
                1 => file.extend(b"\"\""),
                2 => file.extend(b" NA "),
                3 if long && row % 97 == 5 => {
                    let length = dice.roll(600_000);
                    let quoted = dice.roll(2) == 0;
                    file.extend(if quoted { &b"\""[..] } else { b"" });
                    file.extend((0..length).map(|i| if quoted && i % 50 == 7 { b'\n' } else { b'x' }));
                    file.extend(if quoted { &b"\""[..] } else { b"" });
                }
                4 if odd => file.extend(b"5\" pipe"),
                5 if odd => file.extend(b"x\0y"),
                6 if odd && row % 400 == 399 => file.extend(b"one,more"),
                7 if odd && row % 900 == 899 => file.extend(b"\"open"),
                8 => file.extend("é€".as_bytes()),
                9 => file.extend(b"2024-02-29"),
                _ => file.extend(format!("{}", dice.roll(1000) as f64 / 4.0).as_bytes()),
            }
        }
        file.extend(end(dice));
    }
    file
}

/// One field as long as the file. How often its bytes are looked at is counted beside the reader, in `csv/body.rs`.
#[test]
fn a_field_of_many_blocks_is_read() {
    let folder = super::Folder::new();
    for quoted in [false, true] {
        let quote = if quoted { "\"" } else { "" };
        let filling = if quoted { "x,\n" } else { "xyz" };
        let long = filling.repeat(12_000_000);
        let text = format!("a,b\n1,{quote}{long}{quote}\n2,z\n");
        let path = folder.file("long.csv", text.as_bytes());
        for table in
            [CsvOptions::new().read(&path).unwrap().0, CsvOptions::new().read_bytes(text.as_bytes()).unwrap().0]
        {
            assert_eq!(table.n_rows(), 2);
            assert!(table.column("b").unwrap().text(0).as_deref() == Some(long.as_str()));
        }
        let chunks: Vec<Table> = CsvOptions::new().chunks(&path, 1).unwrap().map(Result::unwrap).collect();
        assert_eq!(chunks.len(), 2);
    }
}

/// A small file that unpacks to much is left before it does.
#[test]
fn packed_bombs_are_refused() {
    use std::io::Write;
    let folder = super::Folder::new();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(b"a,b\n").unwrap();
    let piece = vec![b'1'; 1 << 20];
    (0..200).for_each(|_| encoder.write_all(&piece).unwrap());
    let bomb = encoder.finish().unwrap();
    assert!(bomb.len() < 300_000);
    let path = folder.file("bomb.csv.gz", &bomb);
    for outcome in [
        CsvOptions::new().read(&path).map(drop),
        CsvOptions::new().read_bytes(&bomb).map(drop),
        CsvOptions::new().chunks(&path, 10).and_then(|mut chunks| chunks.try_for_each(|table| table.map(drop))),
    ] {
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("gunzip"), "{error}");
    }
}
