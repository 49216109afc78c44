//! The table of a net: what each layer gives, how many parameters, neurons and operations it has, how far it sees.
//!
//! The receptive field grows by (kernel − 1) · dilation · jump with every window, where the jump is the product of the
//! strides before it. Layers are taken in the order of their calls; a branch that sees less does not shrink the field.

use std::fmt;

use tove_tensor::{Tensor, no_grad};

use crate::module::Module;
use crate::record::{PassRecord, Window};
use crate::state::ModuleExt;
use crate::{Layer, Pass, Result};

/// One call of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryRow {
    /// Name in the net.
    pub name: String,
    /// Kind of layer.
    pub kind: &'static str,
    /// Shape given.
    pub output: Vec<usize>,
    /// Parameters of the layer; 0 if it was called before.
    pub parameters: usize,
    /// Outputs for one sample.
    pub neurons: usize,
    /// Positions of the net's input, along the last axis, that one output sees; `None` when it sees all, or positions
    /// mean nothing.
    pub receptive_field: Option<usize>,
    /// Multiplications and additions for the whole batch.
    pub flops: u64,
}

/// The table of a net.
#[derive(Clone, Debug, PartialEq)]
pub struct NetSummary {
    /// One row per call of a layer, in order.
    pub rows: Vec<SummaryRow>,
    /// All parameters.
    pub parameters: usize,
    /// Those that are not frozen.
    pub trainable: usize,
    /// Operations for the batch.
    pub flops: u64,
    /// What one may want to know: windows that do not reach the end of their input.
    pub notes: Vec<String>,
    depth: usize,
}

/// Runs `net` on an example and tells what happened. For nets that are not from one tensor to one tensor, record a pass
/// and use [`NetSummary::of`].
///
/// ```
/// use tove_nn::{Mlp, Rng, summary};
/// use tove_tensor::{DType, Tensor};
/// let net = Mlp::new(&[784, 256, 128, 10], &mut Rng::new(0));
/// let table = summary(&net, &Tensor::zeros([1, 784], DType::F32))?;
/// assert_eq!(table.parameters, 235_146);
/// assert!(table.to_string().contains("235,146"));
/// # Ok::<(), tove_nn::Error>(())
/// ```
pub fn summary<L: Layer + ?Sized>(net: &L, example: &Tensor) -> Result<NetSummary> {
    let pass = Pass::eval().recording();
    no_grad(|| net.forward(example, &pass))?;
    Ok(NetSummary::of(net, &pass.into_record()))
}

impl NetSummary {
    /// The table of a recorded pass of `net`.
    pub fn of<M: Module + ?Sized>(net: &M, record: &PassRecord) -> NetSummary {
        let parameters = net.named_parameters();
        let mut seen: Vec<String> = Vec::new();
        let (mut field, mut jump, mut spatial, mut sees_all) = (1, 1, false, false);
        let (mut rows, mut notes, mut depth) = (Vec::new(), Vec::new(), 0);
        for (name, entry) in record.named(net) {
            if let Some(Window { kernel, stride, dilation }) = entry.report.window {
                field += kernel.saturating_sub(1) * dilation * jump;
                jump *= stride;
                spatial = true;
            }
            // Past a layer that enlarges, positions cannot be told any more than past one that sees all of them.
            sees_all |= entry.report.sees_all || entry.report.resamples;
            if entry.report.unreached != [0, 0] {
                let [rows, columns] = entry.report.unreached;
                let label = if name.is_empty() { entry.module.kind() } else { &name };
                notes.push(format!("{label}: no window reaches the last {rows} rows and {columns} columns"));
            }
            let dims = entry.output.dims();
            spatial &= dims.len() > 2;
            let is_own = |path: &str| path.rsplit_once('.').map_or("", |(owner, _)| owner) == name;
            let own = parameters.iter().filter(|(path, _)| is_own(path) && !seen.contains(&name));
            let own: Vec<&Tensor> = own.map(|(_, tensor)| *tensor).collect();
            depth += usize::from(own.iter().any(|tensor| tensor.rank() >= 2));
            seen.push(name.clone());
            rows.push(SummaryRow {
                name,
                kind: entry.module.kind(),
                output: dims.to_vec(),
                parameters: own.iter().map(|tensor| tensor.numel()).sum(),
                neurons: dims.iter().skip(1).product(),
                receptive_field: (spatial && !sees_all).then_some(field),
                flops: entry.report.flops,
            });
        }
        let flops = rows.iter().map(|row| row.flops).sum();
        NetSummary { rows, parameters: net.count_parameters(), trainable: net.count_trainable(), flops, notes, depth }
    }

    /// Number of layers with a weight matrix or filters, hidden ones and the output. The input is not counted, nor are
    /// layers that only scale and shift, such as norms.
    pub fn depth(&self) -> usize {
        self.depth
    }
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl fmt::Display for NetSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["layer", "kind", "output", "parameters", "neurons", "sees", "FLOPs"].map(String::from);
        let line = |row: &SummaryRow| {
            [
                row.name.clone(),
                row.kind.to_owned(),
                format!("{:?}", row.output),
                grouped(row.parameters as u64),
                grouped(row.neurons as u64),
                row.receptive_field.map_or_else(String::new, |field| field.to_string()),
                grouped(row.flops),
            ]
        };
        let table: Vec<[String; 7]> = std::iter::once(head).chain(self.rows.iter().map(line)).collect();
        let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..7).map(width).collect();
        for (index, row) in table.iter().enumerate() {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if column < 3 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
            if index == 0 {
                writeln!(f, "{}", "─".repeat(widths.iter().sum::<usize>() + 12))?;
            }
        }
        let frozen = self.parameters - self.trainable;
        let frozen = if frozen > 0 { format!(" ({} frozen)", grouped(frozen as u64)) } else { String::new() };
        let (parameters, flops) = (grouped(self.parameters as u64), grouped(self.flops));
        write!(f, "{parameters} parameters{frozen}, depth {} without the input, {flops} FLOPs", self.depth)?;
        self.notes.iter().try_for_each(|note| write!(f, "\nnote: {note}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
