//! Schemas kept with a model, and tables that come later.

use tove_data::table::{Column, CsvOptions, Field, Kind, Role, Schema, Table, Unit};

fn train() -> Table {
    let csv =
        "id,age,zip,port,joined,note,y\n1,20,a7,S,2001-01-01,hello there,1.5\n2,,b7,C,2001-01-02,good bye now,2.5\n";
    CsvOptions::new().kind("note", Kind::Text).kind("zip", Kind::Categorical).read_bytes(csv.as_bytes()).unwrap().0
}

fn schema() -> Schema {
    Schema::of(&train()).with_role("y", Role::Target).unwrap().with_role("id", Role::Id).unwrap()
}

#[test]
fn schemas_go_through_json() {
    let json = schema().to_json().unwrap();
    assert_eq!(Schema::from_json(&json).unwrap(), schema());
    assert!(
        json.contains("\"role\":\"target\"")
            && json.contains("\"kind\":\"categorical\"")
            && json.contains("[\"C\",\"S\"]")
    );
    assert!(
        Schema::from_json("{\"fields\":[{\"name\":\"a\",\"kind\":\"colour\"}]}")
            .unwrap_err()
            .to_string()
            .contains("colour")
    );
    let field = Field {
        name: "a".to_owned(),
        kind: Kind::Float,
        role: Role::Feature,
        categories: None,
        unit: None,
        format: None,
        typical: None,
    };
    assert!(Schema::new(vec![field.clone(), field]).is_err());
    assert!(schema().with_role("age", Role::Target).unwrap_err().to_string().contains("\"y\""), "one target only");
    assert_eq!(schema().with(Role::Feature).collect::<Vec<_>>(), ["age", "zip", "port", "joined", "note"]);
}

#[test]
fn a_later_table_is_made_to_fit_where_nothing_is_lost() {
    // Few rows look narrower than many: 30.0 is an integer, 7 a number, the note a category, the date an instant.
    let csv = "note,port,zip,joined,age,extra\nhi,Q,7,2001-01-03 00:00:00,30.0,1\nhi,S,8,2001-01-04 00:00:00,,2\n";
    let (later, _) = CsvOptions::new().read_bytes(csv.as_bytes()).unwrap();
    let (fitting, about) = schema().conform(&later).unwrap();
    assert_eq!(fitting.names(), ["age", "zip", "port", "joined", "note"]);
    let kinds: Vec<Kind> = fitting.columns().iter().map(Column::kind).collect();
    assert_eq!(kinds, [Kind::Integer, Kind::Categorical, Kind::Categorical, Kind::Date, Kind::Text]);
    assert_eq!(about.extra, ["extra"]);
    let unseen: Vec<_> = about.unseen.iter().map(|new| (new.column.as_str(), new.value.as_str(), new.rows)).collect();
    assert_eq!(unseen, [("zip", "7", 1), ("zip", "8", 1), ("port", "Q", 1)]);
    assert_eq!(about.converted.len(), 3);
    assert!(matches!(fitting.column("joined").unwrap(), Column::Date(dates) if dates.unit() == Unit::Days));
    // Read with the schema there is nothing left to convert.
    let (later, _) = CsvOptions::new().schema(&schema()).read_bytes(csv.replace("30.0", "30").as_bytes()).unwrap();
    assert_eq!(schema().conform(&later).unwrap().1.converted, []);
}

#[test]
fn errors_name_the_column_and_what_is_wrong() {
    let refusal = |columns: Vec<(&str, Column)>| {
        let table = columns.into_iter().fold(train(), |table, (name, column)| table.with_column(name, column).unwrap());
        schema().conform(&table).unwrap_err().to_string()
    };
    let missing = schema().conform(&train().drop_columns(&["age"]).unwrap()).unwrap_err().to_string();
    assert!(missing.contains("\"age\" is missing"), "{missing}");
    let text = refusal(vec![("age", Column::categories(["old", "young"]))]);
    assert!(
        text.contains("\"age\"")
            && text.contains("categorical")
            && text.contains("integer")
            && text.contains("\"old\""),
        "{text}"
    );
    // An integer is a kind of number: other numbers are taken as they are.
    let table = train().take(&[0, 1]).unwrap().with_column("age", Column::floats(vec![1.0, 2.5])).unwrap();
    let (wide, about) = schema().conform(&table).unwrap();
    assert_eq!(wide.column("age").unwrap(), &Column::floats(vec![1.0, 2.5]));
    assert!(about.converted.iter().all(|(name, ..)| name != "age"), "{about:?}");
    let date = refusal(vec![("joined", Column::integers(vec![1, 2]))]);
    assert!(date.contains("date"), "{date}");
}
