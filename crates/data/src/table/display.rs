//! A table as text, for people.

use std::fmt;

use super::{Column, Kind, Table};

const ROWS: usize = 10;
const WIDTH: usize = 100;
const CELL: usize = 24;

impl fmt::Display for Table {
    /// The first and last rows and as many columns as fit 100 characters; numbers to six digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<usize> = if self.rows <= ROWS {
            (0..self.rows).collect()
        } else {
            (0..ROWS / 2).chain(self.rows - ROWS / 2..self.rows).collect()
        };
        let (mut lines, mut width, mut shown) = (vec![String::new(); rows.len() + 2], 0, 0);
        for (name, column) in self.iter() {
            let mut cells = vec![clip(name), column.kind().to_string()];
            cells.extend(rows.iter().map(|&row| cell(column, row)));
            let needed = cells.iter().map(|text| text.chars().count()).max().unwrap_or(0);
            if shown > 0 && width + needed + 2 > WIDTH {
                break;
            }
            let right = column.kind().is_numeric();
            for (line, text) in lines.iter_mut().zip(&cells) {
                *line += &if right { format!("{text:>needed$}  ") } else { format!("{text:<needed$}  ") };
            }
            (width, shown) = (width + needed + 2, shown + 1);
        }
        for (number, line) in lines.iter().enumerate() {
            if number == 2 + ROWS / 2 && self.rows > ROWS {
                writeln!(f, "…")?;
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        let left_out = self.columns.len() - shown;
        let more = if left_out > 0 { format!(" ({left_out} not shown)") } else { String::new() };
        write!(f, "{} rows, {} columns{more}", self.rows, self.columns.len())
    }
}

fn cell(column: &Column, row: usize) -> String {
    match (column.kind(), column.number(row)) {
        (Kind::Float, Some(number)) => short(number),
        _ => column.text(row).map_or_else(|| "-".to_owned(), |text| clip(&text)),
    }
}

/// A number to six significant digits.
pub(crate) fn short(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-4..1e9).contains(&size) {
        return format!("{number:.4e}");
    }
    let before = if size < 1.0 { 0 } else { size.log10() as usize + 1 };
    let text = format!("{number:.*}", 6usize.saturating_sub(before));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A text on one line, cut to the width of a cell.
pub(crate) fn clip(text: &str) -> String {
    let mut clean: String = text.chars().take(CELL).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(CELL).is_some() {
        clean.pop();
        clean.push('…');
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_readable() {
        let table = Table::new([
            ("price", Column::floats(vec![1.0 / 3.0, f64::NAN, 1234567.0])),
            ("name", Column::texts(["a\nb", "a name that is longer than any cell", "c"])),
        ])
        .unwrap();
        let text = table.to_string();
        let expected = "   price  name\n   float  text\n0.333333  a b\n       -  a name that is longer t…\n 1234567  c\n3 rows, 2 columns";
        assert_eq!(text, expected);
        let long = Table::new([("i", Column::integers((0..100).collect()))]).unwrap().to_string();
        assert!(long.contains('…') && long.contains("99\n100 rows"), "{long}");
        assert_eq!(short(152.133484), "152.133");
        assert_eq!(short(-0.00001), "-1.0000e-5");
    }
}
