//! `tove rebuild`: the table or the images behind a file of components.

use std::path::{Path, PathBuf};

use serde_json::json;
use tove::data::images::{write_idx, write_png};
use tove::learn::Record;
use tove::nn::interrupt_flag;
use tove::tabular::ReducedTable;
use tove::tensor::io::WriteOptions;
use tove::tensor::{DType, Tensor};
use tove::vision::CompressedImages;

use crate::arguments::Rebuild;
use crate::failure::Failure;
use crate::files;
use crate::output::Output;
use crate::tables;

/// Images that are rebuilt at once.
const AT_ONCE: usize = 256;

pub fn run(rebuild: &Rebuild, output: &Output) -> Result<(), Failure> {
    let record = crate::models::record(&rebuild.file)?;
    tove::optim::interrupt_on(interrupt_flag()?);
    match record.kind() {
        ReducedTable::KIND => table(rebuild, &record, output),
        CompressedImages::KIND => images(rebuild, &record, output),
        _ => Err(Failure::usage(format!(
            "{} holds a model, not reduced rows or images; give a file that `tove reduce -o FILE.tove` wrote",
            rebuild.file.display()
        ))),
    }
}

fn table(rebuild: &Rebuild, record: &Record, output: &Output) -> Result<(), Failure> {
    files::may_write(&rebuild.output, rebuild.overwrite, &[&rebuild.file])?;
    files::Rows::of(&rebuild.output)?;
    let failed = |error| tables::failed(&rebuild.file, &[], error);
    let found = ReducedTable::restore(record).map_err(failed)?;
    let table = found.rebuild().map_err(failed)?;
    files::save(&table, &rebuild.output, rebuild.overwrite)?;
    let (rows, columns) = (table.n_rows(), table.names().len());
    tell(rebuild, output, &format!("{rows} rows of {columns} columns"), json!({"rows": rows, "columns": table.names()}))
}

fn images(rebuild: &Rebuild, record: &Record, output: &Output) -> Result<(), Failure> {
    let failed = |error| Failure::work(format!("{}: {error}", rebuild.file.display()));
    let found = CompressedImages::restore(record).map_err(failed)?;
    let path = &rebuild.output;
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    if name.ends_with(".idx") || name.contains("idx3-ubyte") {
        files::may_write(path, rebuild.overwrite, &[&rebuild.file])?;
        let [channels, height, width] = found.shape();
        if channels != 1 {
            return Err(Failure::usage(format!("{name}: IDX files hold gray images; name a folder")));
        }
        let all = bytes(&found.rebuild()?).reshape([found.len(), height, width]);
        write_idx(path, &all, WriteOptions { overwrite: rebuild.overwrite, ..WriteOptions::default() })?;
    } else if let Some(ending) = path.extension().filter(|ending| is_a_table(ending)) {
        return Err(Failure::usage(format!(
            "{} holds images, which cannot be written as .{}; name a folder for PNG files, or a file that ends in .idx",
            rebuild.file.display(),
            ending.display()
        )));
    } else {
        write_folder(&found, path)?;
    }
    let shown = json!({"images": found.len(), "shape": found.shape(), "error": found.rmse()});
    tell(rebuild, output, &format!("{} images", found.len()), shown)
}

/// Endings of files that hold one table or one picture, no folder of images.
fn is_a_table(ending: &std::ffi::OsStr) -> bool {
    ["csv", "tsv", "json", "jsonl", "parquet", "tove", "gz", "png", "jpg", "jpeg", "html"]
        .iter()
        .any(|one| ending == *one)
}

fn tell(rebuild: &Rebuild, output: &Output, what: &str, facts: serde_json::Value) -> Result<(), Failure> {
    let mut document =
        json!({"file": rebuild.file.display().to_string(), "output": rebuild.output.display().to_string()});
    if let (Some(all), serde_json::Value::Object(facts)) = (document.as_object_mut(), facts) {
        all.extend(facts);
    }
    let text = format!("Rebuilt {what}: {}\n", rebuild.output.display());
    if files::is_stdout(&rebuild.output) {
        // The words must not come between the bytes of the file.
        output.remark(text);
        return Ok(());
    }
    output.result(|| text, || document)
}

/// Images in [0, 1] as bytes.
fn bytes(images: &Tensor) -> Tensor {
    ((images.clamp(0.0, 1.0) * 255.0) + 0.5).floor().to_dtype(DType::U8)
}

/// PNG files in a new folder, which gets its name when all of them are there.
fn write_folder(found: &CompressedImages, path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    if path.symlink_metadata().is_ok() {
        return Err(Failure::usage(format!("{shown} exists already; name a new folder for the images")));
    }
    let name = path.file_name().ok_or_else(|| Failure::usage(format!("{shown}: name a folder for the images")))?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !parent.is_dir() {
        return Err(Failure::work(format!("{}: folder not found; create it first", parent.display())));
    }
    let partial = parent.join(format!(".{}.{}.partial", name.to_string_lossy(), std::process::id()));
    let failed = |error: std::io::Error| Failure::work(format!("{shown}: {error}"));
    std::fs::create_dir(&partial).map_err(failed)?;
    let made = write_images(found, &partial).and_then(|()| std::fs::rename(&partial, path).map_err(failed));
    if made.is_err() {
        // The error says more than that of cleaning up.
        let _ = std::fs::remove_dir_all(&partial);
    }
    made
}

fn write_images(found: &CompressedImages, folder: &Path) -> Result<(), Failure> {
    let digits = found.len().to_string().len();
    for first in (0..found.len()).step_by(AT_ONCE) {
        let count = AT_ONCE.min(found.len() - first);
        let part = bytes(&found.rebuild_range(first, count)?);
        for place in 0..count {
            if tove::optim::interrupted() {
                return Err(Failure::interrupted("interrupted; nothing was written"));
            }
            let file: PathBuf = folder.join(format!("{:0digits$}.png", first + place + 1));
            write_png(file, &part.narrow(0, place, 1).squeeze(0), WriteOptions::default())?;
        }
    }
    Ok(())
}
