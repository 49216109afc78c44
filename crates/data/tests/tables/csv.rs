//! What CSV files can look like, and what is said when they are wrong.

use tove_data::table::csv::{Charset, Ragged};
use tove_data::table::{Column, CsvOptions, Kind, ReadReport, Table, Unit, read_csv};
use tove_data::{DataError, Remedy};

use super::{Folder, packed};

fn read(text: &str) -> (Table, ReadReport) {
    CsvOptions::new().read_bytes(text.as_bytes()).unwrap()
}

fn kinds(text: &str) -> Vec<Kind> {
    read(text).0.columns().iter().map(Column::kind).collect()
}

fn refusal(options: &CsvOptions, text: &str) -> String {
    options.read_bytes(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn kinds_widen_over_the_whole_file() {
    use Kind::*;
    assert_eq!(
        kinds("a,b,c,d,e\n1,1.5,true,2001-02-03,x\n2,2,false,2001-02-04,y\n"),
        [Integer, Float, Boolean, Date, Categorical]
    );
    assert_eq!(kinds("a,b,c,d\n1,true,2001-02-03,007\n2.5,1,x,008\n"), [Float, Categorical, Categorical, Categorical]);
    assert_eq!(kinds("a,b\n,NA\n?,null\n"), [Float, Float], "nothing but missing values");
    let prose: String = (0..50).map(|i| format!("line number {i}\n")).collect();
    assert_eq!(kinds(&format!("t\n{prose}")), [Text]);
    // The last of 200,000 rows decides, far from the block of the first; the spelling of all others is kept.
    let many: String = (0..200_000).map(|i| format!("{},{}\n", i % 7, i % 5)).collect();
    let (table, _) = read(&format!("a,b\n{many}0.5,x\n"));
    assert_eq!(table.columns().iter().map(Column::kind).collect::<Vec<_>>(), [Float, Categorical]);
    let Column::Categorical(names) = table.column("b").unwrap() else { panic!() };
    assert_eq!(names.categories(), ["0", "1", "2", "3", "4", "x"]);
    assert_eq!((names.get(4), table.column("a").unwrap().number(8)), (Some("4"), Some(1.0)));
}

#[test]
fn quotes_newlines_marks_and_packing() {
    let text = "\u{feff}name;note\r\n\"Smith; A.\";\"two\nlines\"\r\n\r\nÄ;\"\"\"q\"\"\"\r\n";
    let (table, report) = read(text);
    assert_eq!(table.names(), ["name", "note"]);
    assert_eq!(
        (table.columns()[0].text(0).as_deref(), table.columns()[1].text(0).as_deref()),
        (Some("Smith; A."), Some("two\nlines"))
    );
    assert_eq!(
        (table.columns()[0].text(1).as_deref(), table.columns()[1].text(1).as_deref()),
        (Some("Ä"), Some("\"q\""))
    );
    assert_eq!((report.delimiter.as_str(), report.blank_lines, report.encoding.as_str()), (";", 1, "utf-8"));
    assert_eq!(CsvOptions::new().read_bytes(&packed(text.as_bytes())).unwrap().0, table);
    let folder = Folder::new();
    assert_eq!(read_csv(folder.file("t.csv.gz", &packed(text.as_bytes()))).unwrap().0, table);
    let (latin, report) = CsvOptions::new().read_bytes(b"a,b\ncaf\xe9,\x80\n").unwrap();
    assert_eq!(
        (latin.columns()[0].text(0).as_deref(), latin.columns()[1].text(0).as_deref()),
        (Some("café"), Some("€"))
    );
    assert_eq!((report.encoding.as_str(), report.notes().len()), ("latin-1", 1));
    assert_eq!(read("a\r1\r2\r").0.column("a").unwrap(), &Column::integers(vec![1, 2]));
}

#[test]
fn quoted_fields_far_apart_are_found_in_every_block() {
    // Newlines and delimiters inside quotes fall on block boundaries; then quotes that do not quote mislead the parity.
    for stray in ["", "5\" pipe"] {
        let rows: Vec<String> = (0..60_000).map(|i| format!("{i},\"a,\n{}\",{stray}\n", "x".repeat(i % 41))).collect();
        let (table, _) = read(&format!("i,t,s\n{}", rows.concat()));
        let expected: Vec<i64> = (0..60_000).collect();
        assert_eq!(table.column("i").unwrap(), &Column::integers(expected), "{stray}");
        assert_eq!(table.column("t").unwrap().text(59_999).unwrap().len(), 3 + 59_999 % 41);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let rows: String = (0..100_000).map(|i| format!("{},\"{}\",{:?}\n", i % 97, i % 13, i as f64 / 7.0)).collect();
    let text = format!("a,b,c\n{rows}");
    let tables: Vec<Table> = [1, 2, 3, 8]
        .map(|threads| {
            tove_tensor::set_num_threads(threads);
            read(&text).0
        })
        .to_vec();
    tove_tensor::set_num_threads(0);
    assert!(tables.windows(2).all(|two| two[0] == two[1]));
}

#[test]
fn options_override_what_is_found() {
    let (table, report) = CsvOptions::new()
        .header(false)
        .delimiter(b'|')
        .decimal_comma(true)
        .kind("column_1", Kind::Text)
        .kind("column_3", Kind::Boolean)
        .missing_tokens(["-"])
        .read_bytes(b"01|3,5|yes\n02|-|0\n")
        .unwrap();
    assert_eq!(table.column("column_1").unwrap(), &Column::texts(["01", "02"]));
    assert_eq!(table.column("column_2").unwrap(), &Column::floats(vec![3.5, f64::NAN]));
    assert_eq!(table.column("column_3").unwrap(), &Column::booleans(vec![true, false]));
    assert!(report.columns[0].given && !report.columns[1].given);
    let quoted = "c,n\n\"NA\",\"\"\nNA,1\n\"\",2\nx,3\n";
    let (table, _) = read(quoted);
    let values: Vec<_> = (0..3).map(|row| table.columns()[0].text(row).map(|text| text.into_owned())).collect();
    assert_eq!(values, [Some("NA".to_owned()), None, Some(String::new())]);
    assert_eq!(table.columns()[1].missing(), 1, "an empty number in quotes is missing");
    let (table, _) = CsvOptions::new().quoted_missing(true).read_bytes(quoted.as_bytes()).unwrap();
    assert_eq!(table.columns()[0].missing(), 3);
}

#[test]
fn dates_have_the_unit_they_need() {
    let unit = |text: &str| match read(text).0.column("d").unwrap() {
        Column::Date(dates) => (dates.unit(), dates.to_text(0).unwrap()),
        other => panic!("{other:?}"),
    };
    assert_eq!(unit("d\n2024-02-29\n"), (Unit::Days, "2024-02-29".to_owned()));
    assert_eq!(unit("d\n2024-02-29\n2024-02-29 12:00:01\n"), (Unit::Seconds, "2024-02-29 00:00:00".to_owned()));
    assert_eq!(unit("d\n1969-12-31T23:59:59.5Z\n"), (Unit::Microseconds, "1969-12-31 23:59:59.500000".to_owned()));
}

#[test]
fn everything_coerced_or_dropped_is_counted() {
    let text = "a,b\n1,x\n2\nthree,y\n4,z,!\nfive,w\n";
    let options = CsvOptions::new().ragged(Ragged::Drop).kind("a", Kind::Integer).coerce(true);
    let (table, report) = options.read_bytes(text.as_bytes()).unwrap();
    assert_eq!((table.n_rows(), report.dropped_rows, report.dropped_lines.clone()), (3, 2, vec![3, 5]));
    assert_eq!((report.columns[0].coerced, report.columns[0].missing), (2, 2));
    assert_eq!(report.columns[0].first_coerced, Some((4, "three".to_owned())));
    assert_eq!(report.notes().len(), 2);
    let (_, report) = read("a,,b\n1,\"2\"x,3\n");
    assert_eq!((report.odd_quotes, report.unnamed_columns), (1, 1));
}

#[test]
fn errors_name_file_line_column_and_value() {
    let folder = Folder::new();
    let plain = CsvOptions::new();
    let path = folder.file("bad.csv", b"a,b\n1,2\n\"x\ny\",3,4\n");
    let error = plain.read(&path).unwrap_err().to_string();
    assert!(
        error.contains("bad.csv, line 3")
            && error.contains("3 fields")
            && error.contains("header has 2")
            && error.contains("\"4\""),
        "{error}"
    );
    let short = refusal(&plain, "a,b\n1,2\n5\n");
    assert!(short.contains("line 3") && short.contains("1 fields") && short.contains("\"5\""), "{short}");
    let value = refusal(&plain.clone().kind("b", Kind::Integer), "a,b\n1,2\n3,four\n");
    assert!(
        value.contains("line 3") && value.contains("\"b\"") && value.contains("\"four\"") && value.contains("integer"),
        "{value}"
    );
    let twice = refusal(&plain, "a,b,a,b,c\n1,2,3,4,5\n");
    assert!(twice.contains("\"a\"") && twice.contains("\"b\"") && !twice.contains("\"c\""), "{twice}");
    let open = refusal(&plain, "a,b\n1,\"2\n3,4\n");
    assert!(open.contains("line 2") && open.contains("never closed"), "{open}");
    for empty in ["", "\n\n", "\u{feff}"] {
        assert!(refusal(&plain, empty).contains("is empty"), "{empty:?}");
    }
    let name = refusal(&plain.clone().kind("prise", Kind::Text), "price,b\n1,2\n");
    assert!(name.contains("did you mean \"price\""), "{name}");
    assert!(plain.read_bytes(b"\xff\xfea\0").unwrap_err().to_string().contains("UTF-16"));
    assert!(plain.read_bytes(b"PAR1xxxx").unwrap_err().to_string().contains("Parquet"));
    assert!(plain.read(folder.path("none.csv")).unwrap_err().to_string().contains("none.csv"));
    let latin = plain.clone().charset(Charset::Utf8).read_bytes(b"a\nb\n\xe9\n").unwrap_err();
    assert!(matches!(&latin, DataError::Row { line: 3, .. }), "{latin}");
    assert_eq!(read("a,b\n").0.n_rows(), 0, "a header alone is a table without rows");
}

#[test]
fn chunks_are_the_whole_file_piece_by_piece() {
    let folder = Folder::new();
    let rows: String =
        (0..5000).map(|i| format!("{i},\"é\n{}\",{}\n", i % 3, if i == 4000 { "x" } else { "7" })).collect();
    let text = format!("i,t,late\n{rows}");
    for (name, bytes) in [("t.csv", text.clone().into_bytes()), ("t.csv.gz", packed(text.as_bytes()))] {
        let path = folder.file(name, &bytes);
        let (whole, _) = read_csv(&path).unwrap();
        let chunks = CsvOptions::new().chunks(&path, 701).unwrap();
        assert_eq!(chunks.kinds(), [Kind::Integer, Kind::Categorical, Kind::Categorical]);
        let parts: Vec<Table> = chunks.collect::<Result<_, _>>().unwrap();
        assert!(parts[..7].iter().all(|part| part.n_rows() == 701));
        let joined = parts[1..].iter().fold(parts[0].clone(), |all, part| all.append(part).unwrap());
        assert!(joined == whole, "{name}");
    }
    let latin = folder.file("l.csv", b"a\nx\n\xe9\n");
    assert_eq!(
        CsvOptions::new().chunks(&latin, 9).unwrap().next().unwrap().unwrap().columns()[0].text(1).as_deref(),
        Some("é")
    );
    let bad = folder.file("b.csv", b"a,b\n1,2\n3,4\n5\n6,7\n");
    let mut chunks = CsvOptions::new().kind("a", Kind::Integer).kind("b", Kind::Integer).chunks(&bad, 2).unwrap();
    assert_eq!(chunks.next().unwrap().unwrap().n_rows(), 2);
    let error = chunks.next().unwrap().unwrap_err().to_string();
    assert!(error.contains("line 4") && chunks.next().is_none(), "{error}");
    assert!(CsvOptions::new().chunks(&bad, 0).is_err());
}

#[test]
fn chunks_take_memory_of_a_chunk_not_of_the_file() {
    let folder = Folder::new();
    let line = "1234567,abcdefgh,3.14159\n";
    let path = folder.file("big.csv", format!("a,b,c\n{}", line.repeat(1_000_000)).as_bytes());
    let (rows, most) = super::meter::most_held(|| {
        CsvOptions::new().chunks(&path, 10_000).unwrap().map(|chunk| chunk.unwrap().n_rows()).sum::<usize>()
    });
    assert_eq!(rows, 1_000_000);
    assert!(most < 16 << 20, "{most} bytes held for a file of 25 MB");
}

/// Errors carry the setting that avoids them, and name it by its function.
#[test]
fn errors_have_remedies() {
    let read = |options: CsvOptions, bytes: &[u8]| options.read_bytes(bytes).unwrap_err();
    let plain = CsvOptions::new;
    for (error, remedy, ends) in [
        (read(plain(), b"a,b\n1,2,3\n"), Remedy::DropRagged, "fix the row, or drop such rows (`CsvOptions::ragged`)"),
        (read(plain(), b"a,a\n1,2\n"), Remedy::NoHeader, "read the file without a header (`CsvOptions::header`)"),
        (
            read(plain().kind("a", Kind::Float), b"a\nx\n"),
            Remedy::Coerce,
            "fix the value, or make such values missing (`CsvOptions::coerce`)",
        ),
        (
            read(plain().charset(Charset::Utf8), b"a\n\xe4\n"),
            Remedy::Latin1,
            "convert the file, or read the file as latin-1 (`CsvOptions::charset`)",
        ),
    ] {
        assert_eq!(error.remedies(), [remedy], "{error}");
        assert!(error.to_string().ends_with(ends), "{error}");
        let reworded = error.reworded(|_| "press the button".to_owned()).to_string();
        assert!(reworded.ends_with(", or press the button") && !reworded.contains("::"), "{reworded}");
    }
    // The remedy works.
    let (table, _) = plain().ragged(Ragged::Drop).read_bytes(b"a,b\n1,2,3\n4,5\n").unwrap();
    assert_eq!(table.n_rows(), 1);
}
