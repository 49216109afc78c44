//! Columns of numbers that are not written plainly, or not all numbers.

use tove_data::table::csv::NotNumbers;
use tove_data::table::{Column, CsvOptions, Kind, NumberFormat, ReadReport, Schema, Table};

use super::Folder;

fn read(text: &str) -> (Table, ReadReport) {
    CsvOptions::new().read_bytes(text.as_bytes()).unwrap()
}

/// A column of these values, each in quotes, beside another one.
fn column(delimiter: char, values: &[&str]) -> String {
    let rows: String = values.iter().map(|value| format!("\"{value}\"{delimiter}1\n")).collect();
    format!("x{delimiter}y\n{rows}")
}

#[test]
fn a_consistent_column_is_read_as_numbers() {
    let numbers = |delimiter: char, values: &[&str]| {
        let (table, report) = read(&column(delimiter, values));
        let x = table.column("x").unwrap().clone();
        assert_eq!(report.columns[0].format.is_some(), x.kind() == Kind::Float, "{values:?}");
        (x.kind() == Kind::Float).then(|| (0..values.len()).map(|row| x.number(row)).collect::<Vec<_>>())
    };
    let some = |values: &[f64]| Some(values.iter().map(|&value| Some(value)).collect::<Vec<_>>());
    // Separators of thousands, beside plain numbers with points.
    assert_eq!(numbers(';', &["1.5", "1,000", "-2,500.25"]), some(&[1.5, 1000.0, -2500.25]));
    assert_eq!(numbers(',', &["1,000", "12,345,678", "5"]), some(&[1000.0, 12_345_678.0, 5.0]));
    assert_eq!(numbers(';', &["1'000.5", "2'500", "7"]), some(&[1000.5, 2500.0, 7.0]));
    assert_eq!(numbers(',', &["1\u{a0}000", "2\u{a0}500"]), some(&[1000.0, 2500.0]));
    // Decimal commas, with and without points between thousands.
    assert_eq!(numbers(';', &["3,25", "2,7", "10"]), some(&[3.25, 2.7, 10.0]));
    assert_eq!(numbers(',', &["0,500", "1,250"]), some(&[0.5, 1.25]));
    assert_eq!(numbers(';', &["1.234,5", "1.000", "3,25"]), some(&[1234.5, 1000.0, 3.25]));
    // A missing value stays one.
    assert_eq!(numbers(';', &["1,5", "", "NA", "2,5"]), Some(vec![Some(1.5), None, None, Some(2.5)]));
    // What can be read in two ways, or in none, stays as it is.
    for values in [
        &["1,000", "2,500", "7"][..], // by semicolons: a thousand, or one
        &["1.5", "3,14"],
        &["1.234.567", "2.345.678"],
        &["1,2,3", "4,5"],
        &["1,000", "x"],
        &["1,00", "1.5"],
        &["12 345", "67 890"],
    ] {
        assert_eq!(numbers(';', values), None, "{values:?}");
    }
}

/// The same in a file of many blocks, at once and in pieces, also where plain blocks come first.
#[test]
fn formats_are_found_over_the_whole_file() {
    let folder = Folder::new();
    let rows: String = (0..60_000)
        .map(|i| {
            if i < 40_000 {
                format!("{};{}\n", i, i % 10)
            } else {
                format!("\"{},{:03}.5\";{}\n", i / 1000, i % 1000, i % 10)
            }
        })
        .collect();
    let path = folder.file("t.csv", format!("x;y\n{rows}").as_bytes());
    let expected = |row: usize| Some(row as f64 + if row < 40_000 { 0.0 } else { 0.5 });
    let (whole, report) = CsvOptions::new().read(&path).unwrap();
    let format = Some(NumberFormat { decimal: '.', thousands: Some(',') });
    assert_eq!(report.columns[0].format, format);
    assert!((0..60_000).all(|row| whole.column("x").unwrap().number(row) == expected(row)));
    let chunks = CsvOptions::new().chunks(&path, 7_000).unwrap();
    let schema = chunks.schema();
    assert_eq!((schema.fields()[0].kind, schema.fields()[0].format), (Kind::Float, format));
    let pieces = Table::concat(chunks.map(Result::unwrap).collect()).unwrap().unwrap();
    assert!(pieces.column("x").unwrap() == whole.column("x").unwrap());
    // A schema says how another file is written, of which a row alone would not tell.
    let later = Schema::from_json(&schema.to_json().unwrap()).unwrap();
    let (table, _) = CsvOptions::new().schema(&later).read_bytes(b"x;y\n\"1,234\";1\n7;2\n").unwrap();
    assert_eq!(table.column("x").unwrap(), &Column::floats(vec![1234.0, 7.0]));
}

#[test]
fn what_stopped_a_column_from_being_numbers_is_named() {
    let folder = Folder::new();
    let rows: String = (0..50_000)
        .map(|i| match i {
            1_234 => "n/k,1\n".to_owned(),
            40_000 => "\"multi\nline\",1\n".to_owned(),
            40_010 => "\"1,5\",2\n".to_owned(),
            49_000 => "4O,2\n".to_owned(),
            _ => format!("{}.25,3\n", i % 900),
        })
        .collect();
    let path = folder.file("t.csv", format!("x,y\n{rows}").as_bytes());
    let expected = NotNumbers {
        numbers: 49_996,
        others: 4,
        first: vec![(1_236, "n/k".into()), (40_002, "multi\nline".into()), (40_013, "1,5".into())],
    };
    let (table, report) = CsvOptions::new().read(&path).unwrap();
    assert!(matches!(table.column("x").unwrap().kind(), Kind::Categorical | Kind::Text));
    assert_eq!(report.columns[0].not_numbers.as_ref(), Some(&expected));
    let notes = report.notes().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(
        notes.contains("\"n/k\" in line 1236") && notes.contains("\"x\"") && notes.contains("4 of its 50000"),
        "{notes}"
    );
    let chunks = CsvOptions::new().chunks(&path, 1_000).unwrap();
    assert_eq!(chunks.report().columns[0].not_numbers.as_ref(), Some(&expected));
    // As the note says, the others become missing.
    let (table, report) = CsvOptions::new().kind("x", Kind::Float).coerce(true).read(&path).unwrap();
    assert_eq!((table.column("x").unwrap().missing(), report.columns[0].coerced), (4, 4));
    // Names, codes and columns that are half numbers are what they are.
    for values in [&["a", "b", "1"][..], &["007", "123", "124", "125", "126", "127"], &["1", "2", "3+", "3+", "4"]] {
        let (_, report) = read(&column(',', values));
        assert_eq!(report.columns[0].not_numbers, None, "{values:?}");
    }
}

#[test]
fn integers_widen_where_a_schema_says_integer() {
    let train = read("n,y\n1,2\n2,3\n").0;
    let options = CsvOptions::new().schema(&Schema::of(&train));
    let (table, report) = options.read_bytes(b"n,y\n3750.5,1\n2,2\n").unwrap();
    assert_eq!(table.column("n").unwrap(), &Column::floats(vec![3750.5, 2.0]));
    assert_eq!((table.column("y").unwrap().kind(), report.columns[0].kind), (Kind::Integer, Kind::Float));
    assert!(Schema::of(&train).conform(&table).is_ok());
    // In pieces the column is of integers until another number comes.
    let folder = Folder::new();
    let path = folder.file("t.csv", b"n,y\n1,1\n2,2\n3.5,3\n4,4\n5,5\n");
    let kinds: Vec<Kind> =
        options.chunks(&path, 2).unwrap().map(|table| table.unwrap().column("n").unwrap().kind()).collect();
    assert_eq!(kinds, [Kind::Integer, Kind::Float, Kind::Float]);
    let whole = Table::concat(options.chunks(&path, 2).unwrap().map(Result::unwrap).collect()).unwrap().unwrap();
    assert_eq!(whole.column("n").unwrap(), &Column::floats(vec![1.0, 2.0, 3.5, 4.0, 5.0]));
    let wrong = options.read_bytes(b"n,y\n1,1\nsix,2\n").unwrap_err().to_string();
    assert!(wrong.contains("line 3") && wrong.contains("\"six\"") && wrong.contains("integer or decimal"), "{wrong}");
    // Who says integer means it.
    let given = CsvOptions::new().kind("n", Kind::Integer).read_bytes(b"n,y\n1.5,1\n").unwrap_err().to_string();
    assert!(given.contains("1.5") && given.contains("not a valid integer"), "{given}");
}
