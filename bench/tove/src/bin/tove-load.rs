//! How many predictions `tove serve` gives on this machine: requests per second, latency and memory over loopback.
//!
//! ```text
//! cargo build --release --workspace --all-features --bin tove --bin tove-load && target/release/tove-load
//! ```
//!
//! Fits a logistic regression to data/german-credit.csv, serves it, and asks over connections that stay open, each with one
//! request under way: one row as JSON, then the table's 1000 rows as CSV. The client shares the cores with the
//! server, so the figures are those of a machine that does both. `--seconds` is the time of each case (1), `--total` the
//! number of requests after which memory is compared (100000), `--model` another estimator, `--tove` another program,
//! `--serve` what `tove serve` is told besides, as `--serve "--batch-rows 1"`. The last lines tell how many rows the batches
//! had, where the server counts them.

use std::io::{Error, Read, Result, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const TABLE: &str = "data/german-credit.csv";
const TARGET: &str = "credit_risk";
const CONNECTIONS: [usize; 3] = [1, 8, 64];

/// What the command line says.
struct Options {
    tove: PathBuf,
    model: String,
    serve: String,
    seconds: f64,
    total: usize,
}

fn wrong(text: impl Into<String>) -> Error {
    Error::other(text.into())
}

fn options() -> Result<Options> {
    let beside = std::env::current_exe()?.with_file_name("tove");
    let (model, serve) = ("LogisticRegression".into(), String::new());
    let mut options = Options { tove: beside, model, serve, seconds: 1.0, total: 100_000 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| wrong(format!("{word}: give a value")))?;
        let number = |_| wrong(format!("{word} {value}: give a number"));
        match word.as_str() {
            "--tove" => options.tove = value.into(),
            "--model" => options.model = value,
            "--serve" => options.serve = value,
            "--seconds" => {
                options.seconds = value.parse().map_err(|error: std::num::ParseFloatError| number(error.to_string()))?
            }
            "--total" => {
                options.total = value.parse().map_err(|error: std::num::ParseIntError| number(error.to_string()))?
            }
            _ => return Err(wrong(format!("{word}: there are --tove, --model, --serve, --seconds and --total"))),
        }
    }
    Ok(options)
}

/// The server, and the folder of its model; both go at the end.
struct Server {
    child: Child,
    address: String,
    folder: PathBuf,
}

impl Server {
    fn start(options: &Options) -> Result<Server> {
        let folder = std::env::temp_dir().join(format!("tove-load-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let model = folder.join("model.tove");
        let fitted = Command::new(&options.tove)
            .args(["fit", TABLE, "--target", TARGET, "--cv", "0", "--quiet", "--model", &options.model])
            .arg("-o")
            .arg(&model)
            .arg("--runs")
            .arg(folder.join("runs"))
            .stdout(Stdio::null())
            .status()?;
        if !fitted.success() {
            return Err(wrong(format!(
                "{} fit {TABLE} failed; run this at the repository's root",
                options.tove.display()
            )));
        }
        let mut command = Command::new(&options.tove);
        command.arg("serve").arg(&model).args(["--port", "0", "--json"]).args(options.serve.split_whitespace());
        command.stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let address = announced(&mut child)?;
        Ok(Server { child, address, folder })
    }

    /// Resident memory in megabytes, where the system tells.
    fn megabytes(&self) -> f64 {
        let status = std::fs::read_to_string(Path::new("/proc").join(self.child.id().to_string()).join("status"));
        let kilobytes = status.ok().and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
            line.trim().trim_end_matches(" kB").parse::<f64>().ok()
        });
        kilobytes.map_or(f64::NAN, |kilobytes| kilobytes / 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended by itself
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The address in the document that the server prints when it listens.
fn announced(child: &mut Child) -> Result<String> {
    let mut out = child.stdout.take().ok_or_else(|| wrong("the server has no output"))?;
    let (mut text, mut byte) = (Vec::new(), [0]);
    while out.read(&mut byte)? == 1 {
        text.push(byte[0]);
        if let Ok(document) = serde_json::from_slice::<Value>(&text)
            && let Some(address) = document["address"].as_str()
        {
            return Ok(address.to_owned());
        }
    }
    Err(wrong("the server ended before it listened"))
}

/// A request with its body, ready to be sent again and again.
fn request(kind: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// The first row as JSON, and the whole table as CSV.
fn bodies() -> Result<(Vec<u8>, Vec<u8>)> {
    let table = std::fs::read_to_string(TABLE)?;
    let mut lines = table.lines();
    let (names, cells) = (lines.next().unwrap_or_default().split(','), lines.next().unwrap_or_default().split(','));
    let typed = |cell: &str| cell.parse::<i64>().map_or_else(|_| json!(cell), |number| json!(number));
    let row: serde_json::Map<String, Value> = names
        .zip(cells)
        .filter(|(name, _)| *name != TARGET)
        .map(|(name, cell)| (name.to_owned(), typed(cell)))
        .collect();
    Ok((request("application/json", &json!({"rows": [row]}).to_string()), request("text/csv", &table)))
}

/// Sends a request and reads the whole answer, which must be a good one.
fn ask(stream: &mut TcpStream, request: &[u8], buffer: &mut Vec<u8>) -> Result<()> {
    stream.write_all(request)?;
    buffer.clear();
    let mut part = [0; 16384];
    loop {
        let count = stream.read(&mut part)?;
        if count == 0 {
            return Err(wrong("the server closed the connection"));
        }
        buffer.extend_from_slice(&part[..count]);
        let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
        if !head.starts_with("http/1.1 200") {
            return Err(wrong(format!("an answer that is none: {}", String::from_utf8_lossy(buffer))));
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
        let whole = end + 4 + length.ok_or_else(|| wrong("an answer without a length"))?;
        while buffer.len() < whole {
            let count = stream.read(&mut part)?;
            if count == 0 {
                return Err(wrong("the answer breaks off"));
            }
            buffer.extend_from_slice(&part[..count]);
        }
        return Ok(());
    }
}

/// Rows and number of the batches that the server has counted, if it does.
fn batches(address: &str) -> Result<Option<(f64, f64)>> {
    let mut stream = TcpStream::connect(address)?;
    let mut text = Vec::new();
    ask(&mut stream, b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n", &mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
    Ok(value("tove_batch_rows_sum").zip(value("tove_batch_rows_count")))
}

/// Seconds that each request took, in order, and the seconds of all.
fn load(address: &str, request: &[u8], connections: usize, until: Until) -> Result<(Vec<f64>, f64)> {
    let begun = AtomicUsize::new(0);
    let start = Instant::now();
    let connection = || -> Result<Vec<f64>> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        let (mut times, mut buffer) = (Vec::new(), Vec::new());
        while until.goes_on(start, &begun) {
            let sent = Instant::now();
            ask(&mut stream, request, &mut buffer)?;
            times.push(sent.elapsed().as_secs_f64());
        }
        Ok(times)
    };
    let parts: Vec<Result<Vec<f64>>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..connections).map(|_| scope.spawn(connection)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err(wrong("a client failed")))).collect()
    });
    let seconds = start.elapsed().as_secs_f64();
    let mut times: Vec<f64> = parts.into_iter().collect::<Result<Vec<_>>>()?.concat();
    times.sort_by(f64::total_cmp);
    Ok((times, seconds))
}

/// When to stop asking.
#[derive(Clone, Copy)]
enum Until {
    Seconds(f64),
    Requests(usize),
}

impl Until {
    fn goes_on(self, start: Instant, begun: &AtomicUsize) -> bool {
        match self {
            Until::Seconds(seconds) => start.elapsed().as_secs_f64() < seconds,
            Until::Requests(total) => begun.fetch_add(1, Ordering::Relaxed) < total,
        }
    }
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = (sorted.len() as f64 * share) as usize;
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

fn main() -> Result<()> {
    let options = options()?;
    let server = Server::start(&options)?;
    let (row, table) = bodies()?;
    load(&server.address, &row, 8, Until::Requests(1000))?; // warm
    let model = &options.model;
    println!(
        "| {model}, body | connections | requests/s | rows/s | p50 | p99 | resident MB |\n|---|---|---|---|---|---|---|"
    );
    for (name, body, rows) in [("1 row, JSON", &row, 1.0), ("1000 rows, CSV", &table, 1000.0)] {
        for connections in CONNECTIONS {
            let (times, seconds) = load(&server.address, body, connections, Until::Seconds(options.seconds))?;
            let rate = times.len() as f64 / seconds;
            let [p50, p99] = [0.5, 0.99].map(|share| quantile(&times, share) * 1e3);
            let (all, memory) = (rate * rows, server.megabytes());
            println!("| {name} | {connections} | {rate:.0} | {all:.0} | {p50:.2} ms | {p99:.2} ms | {memory:.1} |");
        }
    }
    let batches = batches(&server.address)?;
    let before = server.megabytes();
    let (times, seconds) = load(&server.address, &row, 8, Until::Requests(options.total))?;
    let after = server.megabytes();
    let count = times.len();
    println!("\n{count} further requests of one row in {seconds:.1} s: {before:.1} MB before, {after:.1} MB after");
    if let Some((rows, count)) = batches {
        println!("{count:.0} batches of {:.1} rows in the mean before that", rows / count.max(1.0));
    }
    Ok(())
}
