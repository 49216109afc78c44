//! Hashes of rows and tables, of 64 bits.
//!
//! A row's hash mixes the values of its columns: numbers by their bits as real numbers, strings by their bytes. Among a million
//! rows two different ones agree with probability 3e-8. A table's fingerprint is the sum over its rows, whatever their order: it
//! recognizes the table without saying anything of a single row.

use tove_data::table::{Column, Role, Schema, Table};

const MISSING: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of every row over these columns.
pub(super) fn row_hashes(columns: &[&Column], rows: usize) -> Vec<u64> {
    let mut hashes = vec![0u64; rows];
    for column in columns {
        let of = values(column);
        hashes.iter_mut().enumerate().for_each(|(row, hash)| *hash = mix(*hash, of(row)));
    }
    hashes
}

/// The sum over the rows of a table's features; the sums of its pieces add up to it.
pub(super) fn feature_sum(table: &Table, schema: &Schema) -> u64 {
    let columns: Vec<&Column> = schema.with(Role::Feature).filter_map(|name| table.column(name).ok()).collect();
    row_sum(&columns, table.n_rows())
}

/// The sum over the rows of these columns.
pub(super) fn row_sum(columns: &[&Column], rows: usize) -> u64 {
    row_hashes(columns, rows).into_iter().fold(0u64, u64::wrapping_add)
}

/// A sum as it is written down.
pub(super) fn fingerprint(sum: u64) -> String {
    format!("{sum:016x}")
}

/// The value of each row in 64 bits; missing ones are alike.
pub(super) fn values(column: &Column) -> Box<dyn Fn(usize) -> u64 + '_> {
    match column {
        Column::Categorical(categories) => {
            let names: Vec<u64> = categories.categories().iter().map(|name| of_text(name)).collect();
            Box::new(move |row| categories.code(row).map_or(MISSING, |code| names[code as usize]))
        }
        Column::Text(texts) => Box::new(move |row| texts.get(row).map_or(MISSING, of_text)),
        Column::Integer(numbers) => Box::new(move |row| numbers.get(row).map_or(MISSING, |value| value as u64)),
        _ => Box::new(move |row| column.number(row).map_or(MISSING, |value| (value + 0.0).to_bits())),
    }
}

fn of_text(text: &str) -> u64 {
    text.bytes().fold(text.len() as u64, |hash, byte| mix(hash, byte.into()))
}

/// The finaliser of SplitMix64 over the sum, which spreads every bit over all others.
fn mix(hash: u64, value: u64) -> u64 {
    let mut z = hash.rotate_left(23).wrapping_add(value).wrapping_add(MISSING);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
