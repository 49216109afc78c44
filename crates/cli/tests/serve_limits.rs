//! What a server does not let happen to it: memory that grows with refused requests, and names that are not its own.
#![allow(clippy::unwrap_used)]

mod common;

use common::Place;
use common::server::{Server, credit, credit_rows};

/// A line of the status of a process, in megabytes (Linux).
#[cfg(target_os = "linux")]
fn memory(server: &Server, name: &str) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1024.0
}

/// Bodies just under the limit that hold far more rows, cells or parts than may be answered.
#[cfg(target_os = "linux")]
fn bodies() -> Vec<(&'static str, String, u16)> {
    const SIZE: usize = 9 << 20;
    let list = |entry: &str| format!("[{}{{}}]", entry.repeat(SIZE / entry.len()));
    vec![
        ("application/json", list("{},"), 413),
        ("application/json", list("{\"age\":1},"), 413),
        ("application/json", format!("{{\"rows\":{}}}", list("{\"x\":[]},")), 413),
        ("application/json", format!("{{\"age\":{}}}", list("[[1]],")), 400),
        ("application/json", format!("{{{}\"age\":1}}", "\"k\":[0],".repeat(SIZE / 8)), 400),
        ("text/csv", format!("age\n{}", "1\n".repeat(SIZE / 2)), 413),
        ("text/csv", format!("{}\n1\n", "a,".repeat(SIZE / 2)), 413),
        // Rows that end in other ways, quotes that quote nothing, rows of another length.
        ("text/csv", format!("age\r{}", "1\r".repeat(SIZE / 2)), 413),
        ("text/csv", format!("age,b\"c\n{}", "1,\n".repeat(SIZE / 3)), 413),
        ("text/csv", format!("age,b\n1,5\" pipe\n{}", "1,\n".repeat(SIZE / 3)), 413),
        ("text/csv", format!("age,b\n{}", "1\n".repeat(SIZE / 2)), 413),
        // A single field, which looks like rows where the quotes before it are taken for a pair.
        ("text/csv", format!("age,b\n1,5\" pipe\n2,\"{}\"\n", "1\n".repeat(SIZE / 2)), 400),
    ]
}

#[cfg(target_os = "linux")]
#[test]
fn refused_bodies_cost_little_memory_and_give_it_back() {
    let place = Place::new("serve-memory");
    credit(&place, "LogisticRegression");
    let server = Server::start(&place, "credit.tove", &[]);
    let row = credit_rows()[0].to_string();
    assert_eq!(server.post("application/json", &row).status, 200);
    let before = memory(&server, "VmRSS");
    for (kind, body, status) in bodies() {
        let start: String = body.chars().take(30).collect();
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    let reply = server.post(kind, &body);
                    assert_eq!(reply.status, status, "{start}: {}", reply.body);
                });
            }
        });
    }
    // Six bodies of 9 MB at a time have to be received; what they say must cost no more than that again.
    let most = memory(&server, "VmHWM") - before;
    assert!(most < 200.0, "{most} MB were taken at a time");
    let kept = memory(&server, "VmRSS") - before;
    assert!(kept < 120.0, "{kept} MB were kept");
    assert_eq!(server.post("application/json", &row).status, 200);
}

/// Many bodies at once take no more memory than a few: they wait for one another, and small ones do not wait.
#[cfg(target_os = "linux")]
#[test]
fn many_large_bodies_at_once_wait_for_room() {
    let place = Place::new("serve-room");
    credit(&place, "LogisticRegression");
    let server = Server::start(&place, "credit.tove", &["--timeout", "25"]);
    let row = credit_rows()[0].to_string();
    assert_eq!(server.post("application/json", &row).status, 200);
    let before = memory(&server, "VmRSS");
    let body = format!("age\n{}", "1".repeat(9 << 20));
    let head = format!(
        "POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/csv\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let (early, late) = body.split_at(body.len() - 10);
    let (early, late) = (early.as_bytes(), late.as_bytes());
    // All but the last bytes of every body, so that none can be answered: without a common limit all would be kept.
    std::thread::scope(|scope| {
        for _ in 0..60 {
            scope.spawn(|| {
                let mut connection = server.connect();
                connection.0.set_write_timeout(Some(std::time::Duration::from_secs(3))).unwrap();
                connection.raw(head.as_bytes());
                connection.raw(early);
                std::thread::sleep(std::time::Duration::from_secs(3));
                connection.0.set_write_timeout(None).unwrap();
                connection.raw(late);
            });
        }
        std::thread::sleep(std::time::Duration::from_secs(2));
        assert_eq!(server.post("application/json", &row).status, 200);
    });
    let most = memory(&server, "VmHWM") - before;
    assert!(most < 200.0, "{most} MB were taken at a time");
    // Who leaves gives the room back.
    server.post("text/csv", format!("age\n{}", "1\n".repeat(4 << 20))).refused(413, &["rows"]);
}

#[test]
fn bodies_that_find_no_room_in_time_are_refused() {
    let place = Place::new("serve-no-room");
    credit(&place, "LogisticRegression");
    let server = Server::start(&place, "credit.tove", &["--timeout", "4"]);
    let head = |length: usize| {
        format!(
            "POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/csv\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    // Seven bodies that never arrive take all the room.
    let mut silent: Vec<_> = (0..14).map(|_| server.connect()).collect();
    silent.iter_mut().for_each(|connection| connection.raw(head(9 << 20).as_bytes()));
    let replies: Vec<_> = silent.iter_mut().map(|connection| connection.reply().unwrap()).collect();
    let count = |status: u16| replies.iter().filter(|reply| reply.status == status).count();
    assert_eq!((count(408), count(503)), (7, 7), "{replies:?}");
    replies.iter().find(|reply| reply.status == 503).unwrap().refused(503, &["server busy, retry later", "2 seconds"]);
}

#[test]
fn a_loopback_server_answers_to_names_of_this_machine_only() {
    let place = Place::new("serve-hosts");
    credit(&place, "LogisticRegression");
    let ask = |server: &Server, host: &str| {
        let mut connection = server.connect();
        connection.raw(format!("GET /health HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes());
        connection.reply().unwrap()
    };
    let server = Server::start(&place, "credit.tove", &[]);
    for host in ["localhost", "localhost:8080", "127.0.0.1", "[::1]:80"] {
        assert_eq!(ask(&server, host).status, 200, "{host}");
    }
    for host in ["evil.example", "evil.example:8080", "192.168.1.5", "localhost.evil.example"] {
        ask(&server, host).refused(421, &["--allow-host"]);
    }
    let server = Server::start(&place, "credit.tove", &["--allow-host", "model.example"]);
    assert_eq!(ask(&server, "model.example:80").status, 200);
    assert_eq!(ask(&server, "localhost").status, 200);
    ask(&server, "evil.example").refused(421, &["evil.example"]);
    let server = Server::start(&place, "credit.tove", &["--allow-host", "*"]);
    assert_eq!(ask(&server, "evil.example").status, 200);
}
