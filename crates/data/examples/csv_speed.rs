//! How fast a CSV file is read: `cargo run --release -p tove-data --example csv_speed -- FILE [TIMES]`.

use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("name a CSV file")?;
    let times: usize = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let mut best = f64::INFINITY;
    for _ in 0..times {
        let start = Instant::now();
        let (table, report) = tove_data::table::read_csv(&path)?;
        let seconds = start.elapsed().as_secs_f64();
        best = best.min(seconds);
        println!("{} rows, {seconds:.3} s, {:.0} MB/s", table.n_rows(), report.bytes as f64 / seconds / 1e6);
        if best == seconds {
            println!("{}", table.describe());
        }
    }
    println!("best {best:.3} s on {} threads", tove_tensor::num_threads());
    let start = Instant::now();
    let mut rows = 0;
    for chunk in tove_data::table::CsvOptions::new().chunks(&path, 50_000)? {
        rows += chunk?.n_rows();
    }
    println!("in chunks: {rows} rows, {:.3} s", start.elapsed().as_secs_f64());
    Ok(())
}
