//! `tove serve` in a process of its own, and a client that says exactly what it sends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Place, shipped};

/// Nobody waits longer than this for anything.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A running server; it is ended with the test.
pub struct Server {
    pub child: Child,
    pub address: String,
}

impl Server {
    /// Serves a model on a free port.
    pub fn start(place: &Place, model: &str, more: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tove"))
            .args(["serve", model, "--port", "0", "--json"])
            .args(more)
            .current_dir(place.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = child.stdout.take().unwrap();
        let (mut text, mut byte) = (Vec::new(), [0]);
        let address = loop {
            assert_eq!(out.read(&mut byte).unwrap(), 1, "the server ended: {}", String::from_utf8_lossy(&text));
            text.push(byte[0]);
            if let Ok(document) = serde_json::from_slice::<Value>(&text) {
                break document["address"].as_str().unwrap().to_owned();
            }
        };
        Server { child, address }
    }

    pub fn connect(&self) -> Connection {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Connection(stream)
    }

    /// One request on a connection of its own.
    pub fn ask(&self, method: &str, path: &str, kind: &str, body: &[u8]) -> Reply {
        let mut connection = self.connect();
        connection.send(method, path, kind, body);
        connection.reply().unwrap_or_else(|| panic!("{method} {path}: no answer"))
    }

    pub fn post(&self, kind: &str, body: impl AsRef<[u8]>) -> Reply {
        self.ask("POST", "/predict", kind, body.as_ref())
    }

    /// Asks the server to end.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// The exit code, when it has ended.
    pub fn code(&mut self) -> Option<i32> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the server does not end");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection that stays open.
pub struct Connection(pub TcpStream);

impl Connection {
    pub fn send(&mut self, method: &str, path: &str, kind: &str, body: &[u8]) {
        let kind = if kind.is_empty() { String::new() } else { format!("content-type: {kind}\r\n") };
        let head =
            format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{kind}content-length: {}\r\n\r\n", body.len());
        self.raw(&[head.as_bytes(), body].concat());
    }

    /// A server that refuses may close before all is sent.
    pub fn raw(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes);
    }

    /// The next answer; none if the server closes the connection without.
    pub fn reply(&mut self) -> Option<Reply> {
        let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
        loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
                let status = head.split(' ').nth(1)?.parse().ok()?;
                let length = head.to_lowercase();
                let length = length.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
                if bytes.len() >= end + 4 + length.unwrap_or(0) {
                    let body = String::from_utf8(bytes[end + 4..].to_vec()).unwrap();
                    return Some(Reply { status, head, body });
                }
            }
            let count = self.0.read(&mut part).unwrap_or(0);
            if count == 0 {
                return None;
            }
            bytes.extend_from_slice(&part[..count]);
        }
    }
}

/// What the server said.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Refused with this status, in a sentence with these words.
    #[track_caller]
    pub fn refused(&self, status: u16, words: &[&str]) {
        assert_eq!(self.status, status, "{self:?}");
        let error = self.json()["error"].as_str().unwrap_or_default().to_owned();
        assert!(!error.is_empty() && error.len() < 400 && !error.contains('\n'), "{self:?}");
        for word in words {
            assert!(error.contains(word), "no `{word}` in: {error}");
        }
    }
}

/// A model of the credit table in `credit.tove`.
pub fn credit(place: &Place, model: &str) {
    let table = shipped("german-credit.csv");
    let fit = ["fit", &table, "--target", "credit_risk", "-m", model, "--cv", "0", "-o", "credit.tove", "-q"];
    place.run(&fit).ok();
}

/// The rows of the credit table as JSON objects, numbers as numbers, without the target.
pub fn credit_rows() -> Vec<Value> {
    let text = std::fs::read_to_string(shipped("german-credit.csv")).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let typed = |cell: &str| cell.parse::<i64>().map_or_else(|_| Value::from(cell), Value::from);
    let row = |line: &str| {
        let cells = names.iter().zip(line.split(',')).filter(|(name, _)| **name != "credit_risk");
        Value::Object(cells.map(|(name, cell)| ((*name).to_owned(), typed(cell))).collect())
    };
    lines.map(row).collect()
}
