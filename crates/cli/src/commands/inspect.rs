//! `tove inspect`: everything that is written in a model file.

use serde_json::{Value, json};
use tove::tensor::io::Container;

use crate::arguments::Inspect;
use crate::failure::Failure;
use crate::output::{Output, table};

pub fn run(inspect: &Inspect, output: &Output) -> Result<(), Failure> {
    let container = Container::load(&inspect.model)?;
    output.result(|| text(&container), || document(&container))
}

fn document(container: &Container) -> Value {
    let tensors: Vec<Value> = container
        .tensors
        .iter()
        .map(|(name, x)| json!({"name": name, "dtype": x.dtype().to_string(), "shape": x.dims()}))
        .collect();
    json!({"kind": container.kind, "version": container.version, "header": container.header, "tensors": tensors})
}

fn text(container: &Container) -> String {
    let mut text = format!("{} (version {})\n\n{:#}\n", container.kind, container.version, container.header);
    let mut rows = vec![["tensor", "type", "shape"].map(str::to_owned).to_vec()];
    for (name, x) in &container.tensors {
        rows.push(vec![name.clone(), x.dtype().to_string(), x.shape().to_string()]);
    }
    if rows.len() > 1 {
        text.push_str(&format!("\n{}", table(&rows)));
    }
    text
}
