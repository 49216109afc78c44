//! The reader beside a plain one: characters one by one, on one thread, from memory.

use tove_data::table::csv::Ragged;
use tove_data::table::{CsvOptions, Kind, Table};

use super::{Dice, Folder};

/// What a file of the columns a, b, c holds.
#[derive(Debug, Default, PartialEq)]
struct Plain {
    rows: Vec<Vec<Option<String>>>,
    /// Lines of the rows with another number of fields.
    ragged: Vec<usize>,
    /// A quote is not closed.
    open: bool,
}

/// A field as it is written: its characters, where its quote opened and closed.
#[derive(Default)]
struct Field {
    written: String,
    quoted: Option<String>,
    closed: bool,
}

impl Field {
    fn value(self) -> Option<String> {
        match self.quoted {
            None => Some(self.written.trim_matches([' ', '\t']).to_owned()).filter(|text| !text.is_empty()),
            // Blanks behind a closing quote go, everything else stands as it is.
            Some(text) if self.written.chars().all(|c| c == ' ') => Some(text),
            Some(text) => Some(text + &self.written),
        }
    }
}

fn plain(bytes: &[u8]) -> Plain {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let text = String::from_utf8(bytes.to_vec()).unwrap_or_else(|_| bytes.iter().map(|&byte| byte as char).collect());
    let (mut found, mut record, mut field) = (Plain::default(), Vec::new(), Field::default());
    let (mut line, mut begun) = (1, 1);
    let mut characters = text.chars().peekable();
    let mut end = |record: &mut Vec<Field>, mut field: Field, begun: usize| {
        if field.written.ends_with('\r') {
            field.written.pop();
        }
        let blank = record.is_empty() && field.written.is_empty() && field.quoted.is_none();
        record.push(field);
        let row: Vec<_> = record.drain(..).map(Field::value).collect();
        match row.len() {
            3 => found.rows.push(row),
            _ if blank => {}
            _ => found.ragged.push(begun),
        }
    };
    let mut anything = false;
    while let Some(c) = characters.next() {
        anything = true;
        line += usize::from(c == '\n');
        match &mut field {
            Field { quoted: Some(text), closed, .. } if !*closed => match c {
                '"' if characters.peek() == Some(&'"') => text.push(characters.next().unwrap()),
                '"' => *closed = true,
                c => text.push(c),
            },
            _ if c == ',' => record.push(std::mem::take(&mut field)),
            _ if c == '\n' => {
                end(&mut record, std::mem::take(&mut field), begun);
                (begun, anything) = (line, false);
            }
            Field { quoted: quoted @ None, written, .. } if c == '"' && written.chars().all(|c| c == ' ') => {
                written.clear();
                *quoted = Some(String::new());
            }
            other => other.written.push(c),
        }
    }
    let open = field.quoted.is_some() && !field.closed;
    if anything && !open {
        end(&mut record, field, begun);
    }
    found.open = open;
    found.rows.drain(..1.min(found.rows.len()));
    found
}

fn seen(table: &Table) -> Vec<Vec<Option<String>>> {
    let cell = |row: usize| move |column: &tove_data::table::Column| column.text(row).map(|text| text.into_owned());
    (0..table.n_rows()).map(|row| table.columns().iter().map(cell(row)).collect()).collect()
}

/// That both readers find the same, from memory and from disk.
fn compare(bytes: &[u8], folder: &Folder) {
    let expected = plain(bytes);
    let options = CsvOptions::new().delimiter(b',').rest(Kind::Text);
    let dropping = options.clone().ragged(Ragged::Drop);
    let path = folder.file("t.csv", bytes);
    let shown = || String::from_utf8_lossy(&bytes[..bytes.len().min(400)]).into_owned();
    for (from, dropped) in [("memory", dropping.read_bytes(bytes)), ("disk", dropping.read(&path))] {
        let Ok((table, report)) = dropped else {
            assert!(expected.open, "{from}: {:?} of {:?}", dropped.unwrap_err(), shown());
            continue;
        };
        assert!(!expected.open, "{from}: {:?}", shown());
        assert!(seen(&table) == expected.rows, "{from}: {:?}", shown());
        assert_eq!(report.dropped_rows, expected.ragged.len(), "{from}: {:?}", shown());
        let lines: Vec<usize> = report.dropped_lines.iter().map(|&line| line as usize).collect();
        assert_eq!(lines[..], expected.ragged[..lines.len()], "{from}: {:?}", shown());
    }
    // Where nothing is dropped, the first row that does not fit is told by its line.
    for (from, strict) in [("memory", options.read_bytes(bytes)), ("disk", options.read(&path))] {
        match expected.ragged.first() {
            Some(line) if !expected.open => {
                let told = strict.unwrap_err().to_string();
                assert!(told.contains(&format!("line {line}:")) || told.contains(&format!("line {line},")), "{told}");
            }
            _ => assert_eq!(strict.is_ok(), !expected.open, "{from}: {:?}", shown()),
        }
    }
}

/// Random pieces of what files are made of; `wild` ones need not be records.
fn random(dice: &mut Dice, length: usize, wild: bool) -> Vec<u8> {
    let mut file = if dice.roll(4) == 0 { "\u{feff}a,b,c\n" } else { "a,b,c\n" }.as_bytes().to_vec();
    let newline = if dice.roll(2) == 0 { "\n" } else { "\r\n" };
    let latin = dice.roll(4) == 0;
    let field = |dice: &mut Dice, file: &mut Vec<u8>| match dice.roll(9) {
        0 => {}
        1 => file.extend_from_slice("\"a, \"\"b\"\"\r\n\"".as_bytes()),
        2 => file.extend_from_slice(format!("\"{}\"", "x\n,".repeat(dice.roll(40))).as_bytes()),
        3 => file.extend_from_slice(b" padded\t"),
        4 if latin => file.extend_from_slice(b"caf\xe9"),
        4 => file.extend_from_slice("naïve€𝄞".as_bytes()),
        5 => file.extend_from_slice(b"5\" pipe"),
        6 => file.extend_from_slice(b" \"odd\"tail \"x"),
        7 => file.extend_from_slice("long".repeat(dice.roll(60)).as_bytes()),
        _ => file.extend_from_slice(format!("{}", dice.roll(1_000_000)).as_bytes()),
    };
    while file.len() < length {
        if wild {
            match dice.roll(4) {
                0 => file.push(b",\n\"\r "[dice.roll(5)]),
                _ => field(dice, &mut file),
            }
            continue;
        }
        let width = if dice.roll(500) == 0 { 1 + dice.roll(5) } else { 3 };
        for number in 0..width {
            field(dice, &mut file);
            file.extend_from_slice(if number + 1 < width { "," } else { newline }.as_bytes());
        }
    }
    file
}

#[test]
fn small_files_are_cut_as_by_the_plain_reader() {
    let (folder, mut dice) = (Folder::new(), Dice(0x1234_5678_9abc_def1));
    for round in 0..4_000 {
        let length = 8 + dice.roll(300);
        compare(&random(&mut dice, length, round % 2 == 0), &folder);
    }
}

/// Several blocks, with records across their boundaries.
#[test]
fn large_files_are_cut_as_by_the_plain_reader() {
    let (folder, mut dice) = (Folder::new(), Dice(0xfeed_beef_0bad_cafe));
    for round in 0..24 {
        compare(&random(&mut dice, 1_500_000, round % 6 == 5), &folder);
    }
    // One record across several blocks.
    let long = format!("a,b,c\n1,2,3\n4,\"{}\",6\n7,8,9\n", "line, of many\n".repeat(100_000));
    compare(long.as_bytes(), &folder);
}

#[test]
fn the_number_of_threads_changes_nothing_on_disk() {
    let (folder, mut dice) = (Folder::new(), Dice(99));
    let path = folder.file("t.csv", &random(&mut dice, 2_000_000, false));
    let read = |threads: usize| {
        tove_tensor::set_num_threads(threads);
        CsvOptions::new().delimiter(b',').ragged(Ragged::Drop).read(&path).unwrap()
    };
    let (table, report) = read(1);
    for threads in [2, 3, 8] {
        assert!(read(threads) == (table.clone(), report.clone()), "{threads} threads");
    }
    tove_tensor::set_num_threads(0);
}
