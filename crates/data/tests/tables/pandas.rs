//! Real files, against what pandas reads from them.

use serde_json::Value;
use tove_data::sets::data_dir;
use tove_data::table::{ColumnSummary, Kind, ReadReport, Table, read_csv};

fn read(path: &std::path::Path) -> Option<(Table, ReadReport)> {
    if path.extension().is_some_and(|end| end == "parquet") {
        #[cfg(feature = "parquet")]
        return Some(tove_data::table::parquet::read_parquet(path).unwrap());
        #[cfg(not(feature = "parquet"))]
        return None;
    }
    Some(read_csv(path).unwrap())
}

fn close(found: Option<f64>, expected: &Value) -> bool {
    expected.is_null() || expected.as_f64().zip(found).is_some_and(|(a, b)| (a - b).abs() <= 1e-10 * a.abs().max(1.0))
}

fn check(file: &str, summary: &ColumnSummary, expected: &Value) {
    let name = &summary.name;
    let kind = match summary.kind {
        Kind::Categorical | Kind::Text => "string",
        other => other.name(),
    };
    assert_eq!(Some(kind), expected["kind"].as_str(), "{file}, {name}");
    assert_eq!(Some(summary.missing as u64), expected["missing"].as_u64(), "{file}, {name}: missing");
    assert_eq!(Some(summary.distinct as u64), expected["distinct"].as_u64(), "{file}, {name}: distinct");
    for (found, figure) in [(summary.mean, "mean"), (summary.min, "min"), (summary.max, "max")] {
        assert!(close(found, &expected[figure]), "{file}, {name}: {figure} {found:?}, not {}", expected[figure]);
    }
    if let Some(common) = expected["most_common"].as_array() {
        let (value, times) = summary.most_common.clone().unwrap();
        assert_eq!(
            (Some(value.as_str()), Some(times as u64)),
            (common[0].as_str(), common[1].as_u64()),
            "{file}, {name}"
        );
    }
}

#[test]
fn rows_kinds_missing_values_and_means_are_those_of_pandas() {
    let Some(folder) = data_dir() else {
        println!("SKIPPED: data set absent: no data folder; set TOVE_DATA");
        return;
    };
    let fixture = super::fixture("pandas_tables.json");
    for (file, expected) in fixture["tables"].as_object().unwrap() {
        let Some((table, report)) = read(&folder.join(file)) else { continue };
        assert_eq!(Some(table.n_rows() as u64), expected["rows"].as_u64(), "{file}");
        assert_eq!((report.rows, report.coerced(), report.notes()), (table.n_rows(), 0, vec![]), "{file}");
        let columns = expected["columns"].as_object().unwrap();
        assert!(table.names().iter().all(|name| columns.contains_key(name)) && columns.len() == table.n_columns());
        for summary in table.describe().columns {
            check(file, &summary, &columns[&summary.name]);
        }
    }
}

#[test]
fn a_file_of_a_million_rows_goes_through_csv_unchanged_and_in_chunks() {
    let path = data_dir().map(|folder| folder.join("flights-1m/flights-1m.parquet"));
    let Some((table, _)) = path.filter(|path| path.exists()).and_then(|path| read(&path)) else {
        println!("SKIPPED: data set absent: flights-1m");
        return;
    };
    let folder = super::Folder::new();
    let path = folder.path("flights.csv");
    table.write_csv(&path, Default::default()).unwrap();
    let (whole, _) = read_csv(&path).unwrap();
    assert_eq!((whole.n_rows(), whole.names()), (table.n_rows(), table.names()));
    for name in ["delay", "distance", "origin", "destination"] {
        assert_eq!(whole.column(name).unwrap(), table.column(name).unwrap());
    }
    assert_eq!(whole.column("date").unwrap().number(999_999), table.column("date").unwrap().number(999_999));
    let mut start = 0;
    let mut chunks = tove_data::table::CsvOptions::new().chunks(&path, 300_000).unwrap();
    for chunk in &mut chunks {
        let chunk = chunk.unwrap();
        let expected = whole.slice(start..start + chunk.n_rows());
        assert!(chunk == expected, "from row {start}");
        start += chunk.n_rows();
    }
    assert_eq!((start, chunks.report().rows), (1_000_000, 1_000_000));
}
