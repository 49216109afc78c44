//! `tove serve` under wrong requests, slow clients, many clients and signals.
#![allow(clippy::unwrap_used)]

mod common;

use std::time::{Duration, Instant};

use common::server::{Connection, Server, credit, credit_rows};
use common::{Place, shipped};
use serde_json::{Value, json};

/// A model with a column of every kind in `kinds.tove`: float, integer, boolean, categorical, date.
fn kinds(place: &Place) {
    let mut text = "size,count,good,color,day,y\n".to_owned();
    for i in 0..60 {
        let (size, good, color) = (0.25 + f64::from(i), i % 3 == 0, ["red", "blue", "green"][i as usize % 3]);
        text.push_str(&format!("{size},{},{good},{color},2026-01-{:02},{}\n", i * 7 % 11, 1 + i % 28, 2 * i));
    }
    place.write("kinds.csv", &text);
    place.run(&["fit", "kinds.csv", "--target", "y", "-m", "Ridge", "--cv", "0", "-o", "kinds.tove", "-q"]).ok();
}

fn row() -> Value {
    json!({"size": 1.5, "count": 2, "good": true, "color": "red", "day": "2026-01-05"})
}

fn with(name: &str, value: Value) -> String {
    let mut row = row();
    row[name] = value;
    json!({"rows": [self::row(), row]}).to_string()
}

const JSON: &str = "application/json";
const CSV: &str = "text/csv";

#[test]
fn wrong_requests_are_refused_with_a_sentence() {
    let place = Place::new("serve-wrong");
    kinds(&place);
    let server = Server::start(&place, "kinds.tove", &["--max-body", "1", "--max-rows", "100"]);
    // Every address: what it gives, and what it says to other methods.
    for (path, kind) in
        [("/", "text/html"), ("/schema", JSON), ("/health", JSON), ("/metrics", "text/plain"), ("/openapi.json", JSON)]
    {
        let reply = server.ask("GET", path, "", b"");
        assert_eq!(reply.status, 200, "{path}");
        assert!(reply.head.to_lowercase().contains(&format!("content-type: {kind}")), "{}", reply.head);
        for method in ["POST", "PUT", "DELETE", "PATCH", "NONSENSE"] {
            let refused = server.ask(method, path, "", b"");
            refused.refused(405, &[path, method, "GET"]);
            assert!(refused.head.to_lowercase().contains("allow: get"), "{}", refused.head);
        }
    }
    server.ask("GET", "/predict", "", b"").refused(405, &["/predict", "POST"]);
    server.ask("GET", "/nothing", "", b"").refused(404, &["/nothing", "openapi.json"]);
    server.ask("POST", "/predict/", JSON, row().to_string().as_bytes()).refused(404, &["/predict/"]);
    // Content types.
    for kind in ["text/plain", "application/xml", "multipart/form-data; boundary=x", "text/csv; charset=utf-7"] {
        server.post(kind, row().to_string()).refused(415, &["unsupported", "send"]);
    }
    // JSON that is none, or none of rows.
    for body in ["", "{", "{\"a\": }", "nul", "[1, 2", "{\"size\": NaN}", "{\"size\": 1e999}", "{\"size\": Infinity}"] {
        server.post(JSON, body).refused(400, &["not valid JSON", "rows"]);
    }
    let deep = "[".repeat(100_000);
    server.post(JSON, deep).refused(400, &["not valid JSON"]);
    server.post(JSON, b"{\"color\": \"\xff\xfe\"}").refused(400, &["not valid JSON"]);
    server.post(JSON, "[]").refused(400, &["no rows"]);
    server.post(JSON, "\"text\"").refused(400, &["object"]);
    server.post(JSON, "[{\"size\": 1}, 7]").refused(400, &["rows[1]"]);
    server.post(JSON, "{\"rows\": {}}").refused(400, &["rows"]);
    // Values, with row, column and value.
    for (name, value, words) in [
        ("size", json!("big"), ["rows[1].size:", "big", "number"]),
        ("size", json!([1]), ["rows[1].size:", "[1]", "number"]),
        ("size", json!("1e999"), ["rows[1].size:", "1e999", "number"]),
        ("size", json!(true), ["rows[1].size:", "true", "number"]),
        ("count", json!("two"), ["rows[1].count:", "two", "number"]),
        ("count", json!([2]), ["rows[1].count:", "[2]", "number"]),
        ("count", json!("-inf"), ["rows[1].count:", "-inf", "number"]),
        ("good", json!("perhaps"), ["rows[1].good:", "perhaps", "true, false or null"]),
        ("color", json!({"r": 1}), ["rows[1].color:", "{\"r\":1}", "string"]),
        ("day", json!("2026-02-30"), ["rows[1].day:", "2026-02-30", "date"]),
        ("day", json!("tomorrow, \"noon\"\n"), ["rows[1].day:", "tomorrow", "date"]),
        ("day", json!(20260101), ["rows[1].day:", "20260101", "date"]),
    ] {
        server.post(JSON, with(name, value)).refused(400, &[&words[..], &["expected", "null"]].concat());
    }
    // An integer is a kind of number: a column that held whole ones takes others.
    for value in [json!(2.5), json!("2.5"), json!(u64::MAX)] {
        let reply = server.post(JSON, with("count", value));
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    // A number that is one, but too large to calculate with.
    let huge = server.post(JSON, with("size", json!(1.7e308)));
    assert!(huge.status == 200 || huge.status == 400, "{huge:?}");
    assert!(!huge.body.contains("null") && !huge.body.contains("NaN"), "{huge:?}");
    // Columns that lack or are unknown.
    server.post(JSON, "{\"sise\": 1}").refused(400, &["sise", "/schema"]);
    let mut lacking = row();
    lacking.as_object_mut().unwrap().remove("color");
    server.post(JSON, lacking.to_string()).refused(400, &["\"color\"", "missing"]);
    // CSV.
    let good = "size,count,good,color,day\n1.5,2,true,red,2026-01-05\n";
    assert_eq!(server.post(CSV, good).status, 200);
    server.post(CSV, "").refused(400, &["the body", "empty"]);
    server.post(CSV, "size,count,good,color,day\n").refused(400, &["no rows"]);
    server.post(CSV, "size,size\n1,2\n").refused(400, &["\"size\"", "more than once"]);
    server.post(CSV, "size,count\n1.5,2\n").refused(400, &["\"good\"", "missing"]);
    server.post(CSV, format!("{good}1.5,2\n")).refused(400, &["line 3"]);
    server.post(CSV, format!("{good}wide,2,true,red,2026-01-05\n")).refused(400, &["line 3", "\"size\"", "wide"]);
    server.post(CSV, good.replace("true", "maybe")).refused(400, &["line 2", "\"good\"", "maybe"]);
    server.post(CSV, good.replace("2026-01-05", "5.1.26")).refused(400, &["line 2", "\"day\"", "5.1.26"]);
    server.post(CSV, good.replace("red", "\"red")).refused(400, &["quote"]);
    server.post(CSV, b"size,count,good,color,day\n1.5,2,true,r\xe9d,2026-01-05\n").refused(400, &["UTF-8"]);
    server.post("text/csv; charset=iso-8859-1", b"size,count,good,color,day\n1.5,2,true,r\xe9d,2026-01-05\n");
    server.post(CSV, b"\x1f\x8b\x08\0\0\0\0\0").refused(415, &["gzip"]);
    server.post(CSV, vec![0u8; 5000]).refused(400, &[]);
    // Sizes.
    server.post(JSON, vec![b' '; (1 << 20) + 1]).refused(413, &["1 MB", "--max-body"]);
    let rows: Vec<Value> = (0..101).map(|_| row()).collect();
    server.post(JSON, json!({"rows": rows}).to_string()).refused(413, &["101 rows", "100"]);
    // A body that is sent in pieces and grows too large.
    let mut connection = server.connect();
    connection.raw(b"POST /predict HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n");
    for _ in 0..17 {
        connection.raw(&[b"10000\r\n", &[b' '; 1 << 16][..], b"\r\n"].concat());
    }
    connection.reply().unwrap().refused(413, &["1 MB"]);
    // Thousands of unknown columns take no time.
    let start = Instant::now();
    let mut wide: Value = row();
    for i in 0..30_000 {
        wide[format!("c{i}")] = json!(1);
    }
    let answer = server.post(JSON, wide.to_string());
    assert_eq!(answer.status, 200);
    assert!(answer.json()["ignored_columns"].as_array().unwrap().len() <= 20);
    assert!(start.elapsed() < Duration::from_secs(10));
    // After all this it still answers, and has counted no fault of its own.
    let sound = server.post(JSON, row().to_string()).json();
    assert!(sound["predictions"][0]["predicted y"].is_number(), "{sound}");
    let metrics = server.ask("GET", "/metrics", "", b"").body;
    assert!(metrics.contains("status=\"400\"") && !metrics.contains("status=\"5"), "{metrics}");
}

#[test]
fn typical_values_and_ranges_describe_the_columns() {
    let place = Place::new("serve-typical");
    kinds(&place);
    let server = Server::start(&place, "kinds.tove", &[]);
    let schema: Value = serde_json::from_str(&server.ask("GET", "/schema", "", b"").body).unwrap();
    let found: Vec<(&Value, &Value)> =
        schema["columns"].as_array().unwrap().iter().map(|column| (&column["typical"], &column["range"])).collect();
    // Medians by hand: sizes are i + 0.25, counts 7 i mod 11, days 1 + i mod 28, a third is good.
    let expected = [
        (json!(29.25), json!([0.25, 59.25])),
        (json!(5), json!([0, 10])),
        (json!(false), Value::Null),
        (json!("blue"), Value::Null),
        (json!("2026-01-13"), json!(["2026-01-01", "2026-01-28"])),
    ];
    assert_eq!(found, expected.iter().map(|(a, b)| (a, b)).collect::<Vec<_>>());
    let openapi: Value = serde_json::from_str(&server.ask("GET", "/openapi.json", "", b"").body).unwrap();
    let examples = &openapi["paths"]["/predict"]["post"]["requestBody"]["content"][JSON]["examples"];
    let answer = server.post(JSON, examples["row"]["value"].to_string());
    assert_eq!(answer.status, 200);
    let properties = &openapi["components"]["schemas"]["Row"]["properties"];
    assert_eq!(properties["size"]["description"], "From 0.25 to 59.25 in the training data");
}

#[test]
fn what_was_ignored_unseen_or_filled_is_told() {
    let place = Place::new("serve-told");
    kinds(&place);
    let server = Server::start(&place, "kinds.tove", &[]);
    let answer = server.post(JSON, with("color", json!("violet")).replace("\"size\":1.5", "\"size\":null,\"x\":1"));
    let told = answer.json();
    assert_eq!(answer.status, 200, "{told}");
    assert_eq!(told["ignored_columns"], json!(["x"]));
    assert_eq!(told["unseen"], json!([{"column": "color", "value": "violet", "rows": 1}]));
    assert_eq!(told["filled"], json!([{"column": "size", "rows": 2}]));
    let csv = server.post(CSV, "x,size,count,good,color,day\n0,,2,true,violet,2026-01-05\n").json();
    assert_eq!(csv["ignored_columns"], json!(["x"]));
    assert_eq!(csv["unseen"][0]["value"], "violet");
    assert_eq!(csv["filled"], json!([{"column": "size", "rows": 1}]));
}

/// A net's matrix products add in another order for another number of rows, so this shows that a row has its own answer
/// whatever it is joined with.
#[test]
fn many_clients_get_what_predict_gives_bit_for_bit() {
    let place = Place::new("serve-many");
    credit(&place, "MLPClassifier");
    let rows = credit_rows();
    let server = Server::start(&place, "credit.tove", &[]);
    let sizes = [1, 2, 7, 1, 64, 3, 250, 1];
    let pieces: Vec<&[Value]> =
        sizes.iter().scan(0, |at, &size| Some(&rows[std::mem::replace(at, *at + size)..][..size])).collect();
    // What the program says of each piece by itself.
    let names: Vec<&String> = rows[0].as_object().unwrap().keys().collect();
    let cell = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let expected: Vec<Value> = pieces
        .iter()
        .map(|piece| {
            let mut text = names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(",") + "\n";
            for row in *piece {
                text += &(names.iter().map(|name| cell(&row[name.as_str()])).collect::<Vec<_>>().join(",") + "\n");
            }
            place.run_with(&["predict", "credit.tove", "-", "--proba", "--json", "-q"], &text).ok().json()
        })
        .collect();
    std::thread::scope(|scope| {
        for client in 0..16 {
            let (server, pieces, expected) = (&server, &pieces, &expected);
            scope.spawn(move || {
                let mut connection = server.connect();
                for round in 0..40 {
                    let which = (client * 3 + round) % pieces.len();
                    connection.send("POST", "/predict", JSON, json!({"rows": pieces[which]}).to_string().as_bytes());
                    let reply = connection.reply().unwrap();
                    assert_eq!(reply.json()["predictions"], expected[which], "client {client}, round {round}");
                }
            });
        }
    });
    let metrics = server.ask("GET", "/metrics", "", b"").body;
    assert!(metrics.contains("tove_predict_requests_total{status=\"200\"} 640"), "{metrics}");
    assert!(counted(&metrics, "tove_joined_requests_total") > 0, "{metrics}");
    // The table as CSV gives what `predict` gives for the file, and each of its pieces has the same there.
    let whole = place.run(&["predict", "credit.tove", &shipped("german-credit.csv"), "--proba", "--json"]).ok().json();
    let together: Vec<&Value> = expected.iter().flat_map(|piece| piece.as_array().unwrap()).collect();
    assert!(together.iter().zip(whole.as_array().unwrap()).all(|(a, b)| *a == b));
    let table = std::fs::read(shipped("german-credit.csv")).unwrap();
    assert_eq!(server.post(CSV, table).json()["predictions"], whole);
}

/// The value of a counter.
fn counted(metrics: &str, name: &str) -> u64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {metrics}")).parse().unwrap()
}

#[test]
fn requests_are_predicted_together_and_a_bad_one_spoils_no_other() {
    let place = Place::new("serve-together");
    kinds(&place);
    // Long enough for all to arrive; a full batch does not wait.
    let server = Server::start(&place, "kinds.tove", &["--batch-wait", "1000", "--batch-rows", "40"]);
    let alone = Server::start(&place, "kinds.tove", &["--batch-rows", "1"]);
    let good: Vec<String> =
        (0..8).map(|i| row().to_string().replace("1.5", &format!("{}.25", 3 * i)).replace("red", "blue")).collect();
    let bad = [with("size", json!("big")), with("day", json!("tomorrow")), "[".to_owned(), "{\"sise\": 1}".to_owned()];
    let huge = with("size", json!(1.7e308));
    std::thread::scope(|scope| {
        for body in good.iter().chain(&bad).chain([&huge]) {
            let (server, alone) = (&server, &alone);
            scope.spawn(move || {
                let (found, expected) = (server.post(JSON, body), alone.post(JSON, body));
                assert_eq!((found.status, found.json()), (expected.status, expected.json()), "{body}");
            });
        }
    });
    let metrics = server.ask("GET", "/metrics", "", b"").body;
    // Which of them arrive within the second is up to the machine; that nobody is joined is not.
    let (batches, joined) = (counted(&metrics, "tove_batches_total"), counted(&metrics, "tove_joined_requests_total"));
    assert!(batches < 8 && joined >= 2, "{metrics}");
    assert_eq!(counted(&metrics, "tove_batch_rows_count"), batches);
    let metrics = alone.ask("GET", "/metrics", "", b"").body;
    assert_eq!(counted(&metrics, "tove_joined_requests_total"), 0, "{metrics}");
    assert!(counted(&metrics, "tove_batches_total") >= 8, "{metrics}");
}

#[test]
fn slow_clients_hold_up_nobody_and_are_sent_away() {
    let place = Place::new("serve-slow");
    kinds(&place);
    let server = Server::start(&place, "kinds.tove", &["--timeout", "2"]);
    let body = row().to_string();
    let head = format!("POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len());
    // Bodies that never come, bodies that trickle, heads that never end; many more than there are threads.
    let mut stuck: Vec<Connection> = (0..40).map(|_| server.connect()).collect();
    for (number, connection) in stuck.iter_mut().enumerate() {
        connection.raw(if number % 4 == 3 { b"POST /predict HTTP/1.1\r\nho" } else { head.as_bytes() });
        if number % 4 == 1 {
            connection.raw(&body.as_bytes()[..5]);
        }
    }
    for _ in 0..20 {
        assert_eq!(server.post(JSON, &body).status, 200);
    }
    // One that trickles but comes to an end in time is answered.
    let mut trickle = server.connect();
    trickle.raw(head.as_bytes());
    for byte in body.as_bytes().chunks(8) {
        trickle.raw(byte);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(trickle.reply().unwrap().status, 200);
    // The others are told that they were too slow.
    stuck[0].reply().unwrap().refused(408, &["did not arrive", "2 seconds"]);
    stuck[1].reply().unwrap().refused(408, &["did not arrive"]);
    // Who leaves in the middle leaves nothing behind.
    drop(stuck);
    assert_eq!(server.post(JSON, &body).status, 200);
}

#[test]
fn connections_that_say_nothing_are_closed() {
    let place = Place::new("serve-idle");
    kinds(&place);
    let server = Server::start(&place, "kinds.tove", &["--timeout", "1"]);
    let mut silent = server.connect();
    let mut half = server.connect();
    half.raw(b"POST /predict HTTP/1.1\r\nho");
    let mut used = server.connect();
    used.send("GET", "/health", "", b"");
    assert_eq!(used.reply().unwrap().status, 200);
    // A head that comes byte by byte and never ends.
    let trickle = server.connect();
    let mut writer = trickle.0.try_clone().unwrap();
    let dripping = std::thread::spawn(move || {
        use std::io::Write;
        let start = Instant::now();
        let mut head = b"GET /health HTTP/1.1\r\n".iter().chain(b"x: y\r\n".iter().cycle());
        while start.elapsed() < common::server::PATIENCE {
            if writer.write_all(&[*head.next().unwrap()]).is_err() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    });
    // Closed without an answer, whatever they had sent.
    assert!(silent.reply().is_none() && half.reply().is_none() && used.reply().is_none());
    assert!(dripping.join().unwrap(), "the head that trickles is still taken");
    assert_eq!(server.post(JSON, row().to_string()).status, 200);
}

#[test]
fn new_connections_take_the_place_of_idle_ones() {
    let place = Place::new("serve-crowd");
    kinds(&place);
    let server = Server::start(&place, "kinds.tove", &["--max-connections", "4", "--timeout", "25"]);
    let body = row().to_string();
    // One is in the middle of a request, the others are idle or in the middle of a head.
    let mut busy = server.connect();
    busy.raw(format!("POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len()).as_bytes());
    busy.raw(&body.as_bytes()[..10]);
    std::thread::sleep(Duration::from_millis(200));
    let mut idle: Vec<Connection> = (0..12).map(|_| server.connect()).collect();
    idle.iter_mut().step_by(2).for_each(|connection| connection.raw(b"GET /hea"));
    for _ in 0..6 {
        assert_eq!(server.post(JSON, &body).status, 200);
    }
    busy.raw(&body.as_bytes()[10..]);
    assert_eq!(busy.reply().unwrap().status, 200);
    assert!(idle[0].reply().is_none());
}

#[test]
fn a_prediction_that_takes_too_long_is_given_up() {
    let place = Place::new("serve-late");
    credit(&place, "SVC");
    let server = Server::start(&place, "credit.tove", &["--timeout", "0.02"]);
    let table = std::fs::read_to_string(shipped("german-credit.csv")).unwrap();
    let (header, rows) = table.split_once('\n').unwrap();
    let many = format!("{header}\n{}", rows.repeat(60));
    let reply = server.post(CSV, many);
    assert!(reply.status == 503 || reply.status == 408, "{reply:?}");
    reply.refused(reply.status, &["0.02 seconds"]);
}

#[cfg(unix)]
#[test]
fn a_signal_lets_requests_under_way_finish() {
    let place = Place::new("serve-signal");
    kinds(&place);
    let body = row().to_string();
    let head = format!("POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len());
    for signal in ["-TERM", "-INT"] {
        let mut server = Server::start(&place, "kinds.tove", &["--timeout", "20"]);
        let mut idle = server.connect();
        idle.send("GET", "/health", "", b"");
        assert_eq!(idle.reply().unwrap().status, 200);
        let mut under_way = server.connect();
        under_way.raw(head.as_bytes());
        under_way.raw(&body.as_bytes()[..10]);
        std::thread::sleep(Duration::from_millis(100));
        server.signal(signal);
        std::thread::sleep(Duration::from_millis(200));
        // No new connection is taken, the old request is answered, the idle connection is closed.
        assert!(std::net::TcpStream::connect(&server.address).is_err(), "{signal}");
        under_way.raw(&body.as_bytes()[10..]);
        assert_eq!(under_way.reply().unwrap().status, 200, "{signal}");
        assert!(idle.reply().is_none());
        assert_eq!(server.code(), Some(0), "{signal}");
    }
    // Who never finishes is cut off after the timeout, or at the second signal.
    for (seconds, again) in [("0.5", false), ("25", true)] {
        let mut server = Server::start(&place, "kinds.tove", &["--timeout", seconds]);
        let mut stuck = server.connect();
        stuck.raw(&head.as_bytes()[..20]);
        std::thread::sleep(Duration::from_millis(100));
        let start = Instant::now();
        server.signal("-TERM");
        if again {
            std::thread::sleep(Duration::from_millis(200));
            server.signal("-TERM");
        }
        assert_eq!(server.code(), Some(0));
        assert!(start.elapsed() < Duration::from_secs(15));
    }
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let place = Place::new("serve-start");
    kinds(&place);
    let server = Server::start(&place, "kinds.tove", &[]);
    let port = server.address.rsplit(':').next().unwrap();
    place.run(&["serve", "kinds.tove", "--port", port]).fails(1, &[port, "in use", "--port"]);
    place.run(&["serve", "kinds.tove", "--host", "localhost"]).fails(2, &["localhost", "127.0.0.1"]);
    place.run(&["serve", "kinds.tove", "--host", "192.0.2.1", "--port", "0"]).fails(1, &["192.0.2.1"]);
    place.run(&["serve", "kinds.tove", "--port", "99999"]).fails(2, &["99999"]);
    for (flag, value) in [
        ("--timeout", "0"),
        ("--timeout", "NaN"),
        ("--max-body", "0"),
        ("--max-rows", "0"),
        ("--max-connections", "0"),
        ("--batch-rows", "0"),
    ] {
        place.run(&["serve", "kinds.tove", flag, value]).fails(2, &["positive"]);
    }
    for wait in ["--batch-wait=-1", "--batch-wait=NaN", "--batch-wait=31000"] {
        place.run(&["serve", "kinds.tove", wait]).fails(2, &["--batch-wait", "--timeout"]);
    }
    place.run(&["serve", "nothing.tove"]).fails(1, &["nothing.tove"]);
    place.write("other.tove", "no model");
    place.run(&["serve", "other.tove"]).fails(1, &["other.tove"]);
    place.run(&["serve", "."]).fails(1, &["."]);
}
