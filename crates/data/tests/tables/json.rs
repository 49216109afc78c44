//! Tables in JSON: lists of objects and objects line by line.

use tove_data::table::{Column, CsvOptions, Kind, Table, TableFile, Wanted};

use super::{Dice, Folder, packed};

fn read(folder: &Folder, bytes: &[u8]) -> Result<Table, String> {
    let path = folder.file("t.json", bytes);
    let file = TableFile::open(path).map_err(|error| error.to_string())?;
    let read = file.read(&CsvOptions::new(), &Wanted::default());
    read.map(|(table, _)| table).map_err(|error| error.to_string())
}

#[test]
fn objects_become_rows() {
    let folder = Folder::new();
    let lines = "{\"n\": 1, \"x\": 0.1, \"s\": \"a, \\\"b\\\"\\n\", \"t\": true}\n\n{\"s\": \"NA\", \"n\": null, \"d\": \"2024-05-06\"}\n";
    let list = "[{\"n\": 1, \"x\": 0.1, \"s\": \"a, \\\"b\\\"\\n\", \"t\": true},\n {\"s\": \"NA\", \"n\": null, \"d\": \"2024-05-06\"}]";
    let marked = format!("\u{feff}{lines}");
    for bytes in [lines.as_bytes(), list.as_bytes(), marked.as_bytes(), &packed(lines.as_bytes())] {
        let table = read(&folder, bytes).unwrap();
        assert_eq!(table.names(), ["n", "x", "s", "t", "d"]);
        assert_eq!(table.column("n").unwrap(), &Column::Integer([Some(1), None].into_iter().collect()));
        assert_eq!(table.column("x").unwrap(), &Column::floats(vec![0.1, f64::NAN]));
        let s = table.column("s").unwrap();
        assert_eq!((s.text(0).as_deref(), s.text(1).as_deref()), (Some("a, \"b\"\n"), Some("NA")));
        assert_eq!([table.column("t").unwrap().kind(), table.column("d").unwrap().kind()], [Kind::Boolean, Kind::Date]);
    }
    // Bits come back as they were.
    let numbers = [0.1, 1e300, -2.5e-300, 5e-324, 123_456_789.123_456_79];
    let text: String = numbers.iter().map(|x| format!("{{\"x\": {x:e}}}\n")).collect();
    assert_eq!(read(&folder, text.as_bytes()).unwrap().column("x").unwrap(), &Column::floats(numbers.to_vec()));
}

#[test]
fn what_is_no_table_is_refused_with_its_line() {
    let folder = Folder::new();
    for (text, words) in [
        ("{\"a\": 1}\n{\"a\": 1, \"a\": 2}\n", vec!["line 2", "\"a\"", "duplicate key"]),
        ("[{\"a\": 1},\n{\"a\": [1]}]", vec!["line 2", "list"]),
        ("{\"a\": {\"b\": 1}}", vec!["line 1", "object inside"]),
        ("{\"a\": 1}\n{\"a\": \n", vec!["t.json", "JSON"]),
        ("{\"a\": 1}\n3\n", vec!["line 2", "object"]),
        ("[{\"a\": 1}, 3]", vec!["line 1", "object"]),
    ] {
        let error = read(&folder, text.as_bytes()).unwrap_err();
        assert!(words.iter().all(|word| error.contains(word)), "{text}: {error}");
    }
    // Text that only begins with a brace is CSV.
    assert_eq!(read(&folder, b"{id},x\n1,2\n").unwrap().names(), ["{id}", "x"]);
}

#[test]
fn mutated_json_does_no_harm() {
    let folder = Folder::new();
    let sound =
        "{\"a\": 1, \"b\": \"x,\\u00e9\\n\", \"c\": [null]}\n{\"a\": 2.5e3, \"b\": null}\n".replace("[null]", "true");
    let (mut dice, mut accepted) = (Dice(4711), 0);
    for _ in 0..4_000 {
        let mut file = sound.clone().into_bytes();
        for _ in 0..=dice.roll(3) {
            let at = dice.roll(file.len());
            match dice.roll(5) {
                0 => file[at] ^= 1 << dice.roll(8),
                1 => file[at] = b"{}[]\",:\\0\n\0\xff"[dice.roll(12)],
                2 => file.truncate(at.max(1)),
                3 => file.insert(at, b"{}[]\",:\\\n"[dice.roll(9)]),
                _ => {
                    let piece = file[at..(at + dice.roll(30)).min(file.len())].to_vec();
                    file.extend(piece);
                }
            }
        }
        match read(&folder, &file) {
            Ok(table) => {
                accepted += 1;
                assert!(table.columns().iter().all(|column| column.len() == table.n_rows()));
            }
            Err(error) => assert!(!error.is_empty() && error.len() < 2_000, "{error}"),
        }
    }
    assert!(accepted > 200, "{accepted}");
    // Depth without end is refused, not followed.
    let deep = format!("{{\"a\": {}", "[".repeat(200_000));
    assert!(read(&folder, deep.as_bytes()).is_err());
}
