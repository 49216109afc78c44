//! What is written comes back.

use proptest::prelude::*;
use tove_data::table::{Column, CsvOptions, Dates, Kind, Table, Unit, Values};

use super::Folder;

fn strings() -> impl Strategy<Value = Option<String>> {
    let tricky = prop::sample::select(vec![
        "",
        "NA",
        "?",
        " x ",
        "a,b",
        "\"",
        "\"\"",
        "a\nb",
        "a\r\nb",
        "\r",
        "ünï→😀",
        ";",
        "007",
        "nan",
        "\u{feff}x",
        "\t",
    ]);
    prop_oneof![1 => Just(None), 3 => tricky.prop_map(|text| Some(text.to_owned())), 3 => ".{0,12}".prop_map(Some)]
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>().prop_map(|x| if x.is_nan() { f64::NAN } else { x }),
        Just(f64::NAN),
        (-1000i32..1000).prop_map(|x| f64::from(x) / 8.0)
    ]
}

prop_compose! {
    fn tables()(rows in 1usize..20)(
        floats in prop::collection::vec(float(), rows),
        integers in prop::collection::vec(any::<Option<i64>>(), rows),
        booleans in prop::collection::vec(any::<Option<bool>>(), rows),
        texts in prop::collection::vec(strings(), rows),
        names in prop::collection::vec(strings(), rows),
        days in prop::collection::vec(prop::option::of(-700_000i64..2_900_000), rows),
        micros in prop::collection::vec(prop::option::of(-60_000_000_000_000_000i64..250_000_000_000_000_000), rows),
        header in ".{1,10}",
    ) -> Table {
        Table::new([
            ("floats".to_owned(), Column::floats(floats)),
            ("integers".to_owned(), Column::Integer(integers.into_iter().collect())),
            ("booleans".to_owned(), Column::Boolean(booleans.into_iter().collect())),
            ("texts".to_owned(), Column::Text(texts.into_iter().collect())),
            (format!("h{header}x"), Column::Categorical(names.into_iter().collect())),
            ("days".to_owned(), Column::Date(Dates::new(days.into_iter().collect(), Unit::Days))),
            ("micros".to_owned(), Column::Date(Dates::new(micros.into_iter().collect(), Unit::Microseconds))),
        ]).unwrap()
    }
}

/// Reads bytes with the kinds of a table.
fn reread(table: &Table, bytes: &[u8]) -> Table {
    let options = table
        .iter()
        .fold(CsvOptions::new().delimiter(b','), |options, (name, column)| options.kind(name, column.kind()));
    options.read_bytes(bytes).unwrap().0
}

/// The unit of dates that are all missing, or all without fractions, is not written down.
fn same(a: &Column, b: &Column) -> bool {
    match (a, b) {
        (Column::Date(_), Column::Date(_)) => {
            (0..a.len()).all(|row| a.number(row) == b.number(row)) && a.len() == b.len()
        }
        (Column::Float(x), Column::Float(y)) => {
            x.iter().map(|v| v.map(f64::to_bits)).eq(y.iter().map(|v| v.map(f64::to_bits)))
        }
        _ => a == b,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn csv_gives_back_every_bit(table in tables()) {
        let mut bytes = Vec::new();
        table.write_csv_to(&mut bytes).unwrap();
        let back = reread(&table, &bytes);
        prop_assert_eq!(back.names(), table.names());
        for (name, column) in table.iter() {
            prop_assert!(same(column, back.column(name).unwrap()), "{}: {:?} {:?}", name, column, back.column(name));
        }
    }

    #[test]
    fn a_column_of_strings_alone_comes_back(values in prop::collection::vec(strings(), 1..12)) {
        let table = Table::new([("only", Column::Text(values.into_iter().collect()))]).unwrap();
        let mut bytes = Vec::new();
        table.write_csv_to(&mut bytes).unwrap();
        prop_assert_eq!(reread(&table, &bytes), table);
    }
}

#[cfg(feature = "parquet")]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn parquet_gives_back_every_bit(table in tables()) {
        let mut bytes = Vec::new();
        table.write_parquet_to(&mut bytes).unwrap();
        let (back, report) = tove_data::table::parquet::read_parquet_bytes(bytes).unwrap();
        prop_assert_eq!(report.rows, table.n_rows());
        for (name, column) in table.iter() {
            let found = back.column(name).unwrap();
            // Strings are text or categories by how many there are, not by what they were.
            let strings = |c: &Column| (0..c.len()).map(|row| c.text(row).map(|t| t.into_owned())).collect::<Vec<_>>();
            let both = matches!(column.kind(), Kind::Text | Kind::Categorical);
            prop_assert!(if both { strings(column) == strings(found) } else { same(column, found) }, "{}", name);
        }
    }
}

#[test]
fn inferred_kinds_come_back_too() {
    let table = Table::new([
        ("a", Column::Integer([Some(1), None, Some(-5)].into_iter().collect::<Values<i64>>())),
        ("b", Column::floats(vec![1.0, 2e300, f64::NAN])),
        ("c", Column::booleans(vec![true, false, true])),
        ("d", Column::categories(["x, y", "", "NA"])),
    ])
    .unwrap();
    let folder = Folder::new();
    let path = folder.path("t.csv");
    table.write_csv(&path, Default::default()).unwrap();
    assert_eq!(tove_data::table::read_csv(&path).unwrap().0, table);
    assert!(table.write_csv(&path, Default::default()).unwrap_err().to_string().contains("exists already"));
}
