//! Parquet files of other writers: every compression in use, and columns that a flat table cannot hold.

use std::path::PathBuf;

use tove_data::table::parquet::{ParquetChunks, read_parquet};
use tove_data::table::{Column, CsvOptions, Kind, Table, TableFile, Wanted};

use super::fixture;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/parquet").join(name)
}

#[test]
fn every_compression_is_read() {
    let about = fixture("parquet_codecs.json");
    let columns = &about["columns"];
    let list = |name: &str| columns[name].as_array().unwrap().iter();
    let expected = Table::new([
        ("x", Column::Float(list("x").map(|value| value.as_f64()).collect())),
        ("n", Column::Integer(list("n").map(|value| value.as_i64()).collect())),
        ("city", Column::Categorical(list("city").map(|value| value.as_str()).collect())),
    ])
    .unwrap();
    let files: Vec<&str> = about["files"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    for codec in ["none", "snappy", "gzip", "brotli", "lz4", "zstd"] {
        assert!(files.iter().any(|name| name.contains(codec)), "{codec}");
    }
    for name in files {
        assert_eq!(read_parquet(file(name)).unwrap().0, expected, "{name}");
        let pieces: Vec<Table> = ParquetChunks::open(file(name), 64).unwrap().map(Result::unwrap).collect();
        assert_eq!(pieces.iter().map(Table::n_rows).sum::<usize>(), 200, "{name}");
    }
}

#[test]
fn columns_that_a_table_cannot_hold_can_be_left_out() {
    let path = file("polars-nested.parquet");
    let refused = read_parquet(&path).unwrap_err().to_string();
    assert!(refused.contains("\"tags\"") && refused.contains("nested") && refused.contains("leave"), "{refused}");
    let read =
        |wanted: &Wanted| TableFile::open(&path).unwrap().read(&CsvOptions::new(), wanted).map(|(table, _)| table);
    let unneeded =
        |names: &[&str]| Wanted { only: None, unneeded: names.iter().map(|&name| name.to_owned()).collect() };
    let large = read(&unneeded(&["tags", "place"])).unwrap_err().to_string();
    assert!(large.contains("\"hash\"") && large.contains("18446744073709551615"), "{large}");
    let table = read(&unneeded(&["tags", "place", "hash", "x"])).unwrap();
    assert_eq!(table.names(), ["x", "tags", "place", "hash", "small", "y"]);
    assert_eq!((table.column("tags").unwrap().missing(), table.column("hash").unwrap().missing()), (40, 40));
    // What can be read is, needed or not; unsigned numbers that fit are integers.
    assert_eq!((table.column("x").unwrap().missing(), table.column("small").unwrap().kind()), (0, Kind::Integer));
    // Columns that nobody asks for are not looked at.
    let only = Wanted { only: Some(vec!["y".into(), "x".into(), "none".into()]), unneeded: Vec::new() };
    assert_eq!(read(&only).unwrap().names(), ["x", "y"]);
    let pieces: Vec<Table> = ParquetChunks::open_wanted(&path, 15, &only).unwrap().map(Result::unwrap).collect();
    assert_eq!(pieces.iter().map(Table::n_rows).collect::<Vec<_>>(), [15, 15, 10]);
    let dropped = unneeded(&["tags", "place", "hash"]);
    assert!(ParquetChunks::open_wanted(&path, 15, &dropped).unwrap().all(|table| table.unwrap().n_columns() == 6));
}
