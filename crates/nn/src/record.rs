//! What layers took and gave in a recorded pass: activations by name, and the figures of a summary.

use tove_tensor::{Tensor, TryOps};

use crate::module::{Identity, Module};
use crate::state::{ModuleExt, unknown_part};
use crate::{Error, Result};

/// The window through which a layer sees its input, along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Number of taps.
    pub kernel: usize,
    /// Distance between neighbouring outputs.
    pub stride: usize,
    /// Distance between neighbouring taps.
    pub dilation: usize,
}

/// What a layer adds to its entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerReport {
    /// Multiplications and additions.
    pub flops: u64,
    /// Size of the window on the input; `None` for layers that work on each position by itself.
    pub window: Option<Window>,
    /// Whether every output sees every position of the input.
    pub sees_all: bool,
}

/// One call of a layer.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Which layer.
    pub module: Identity,
    /// What it took.
    pub input: Tensor,
    /// What it gave.
    pub output: Tensor,
    /// What it says about itself.
    pub report: LayerReport,
}

/// All calls of layers in a pass, in order.
#[derive(Clone, Debug, Default)]
pub struct Record {
    entries: Vec<Entry>,
}

impl Record {
    pub(crate) fn push(&mut self, module: Identity, input: Tensor, output: Tensor, report: LayerReport) {
        self.entries.push(Entry { module, input, output, report });
    }

    /// All calls, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What the part `name` of `net` gave, the last time it was called.
    pub fn output<M: Module + ?Sized>(&self, net: &M, name: &str) -> Result<&Tensor> {
        Ok(&self.entry(net, name)?.output)
    }

    /// What the part `name` of `net` took, the last time it was called.
    pub fn input<M: Module + ?Sized>(&self, net: &M, name: &str) -> Result<&Tensor> {
        Ok(&self.entry(net, name)?.input)
    }

    /// The last call of the part `name` of `net`.
    pub fn entry<M: Module + ?Sized>(&self, net: &M, name: &str) -> Result<&Entry> {
        let modules = net.named_modules();
        let (_, identity) = modules.iter().find(|(path, _)| path == name).ok_or_else(|| unknown_part(net, name))?;
        self.entries.iter().rev().find(|entry| entry.module == *identity).ok_or_else(|| {
            let problem = format!("{name:?} ({}) told of no output in this pass", identity.kind());
            Error::setting("Record", "name", problem)
        })
    }

    /// Calls with the names their layers have in `net`, in order.
    pub fn named<'r, M: Module + ?Sized>(&'r self, net: &M) -> Vec<(String, &'r Entry)> {
        let modules = net.named_modules();
        let name = |entry: &Entry| {
            let found = modules.iter().find(|(_, identity)| *identity == entry.module);
            found.map_or_else(String::new, |(name, _)| name.clone())
        };
        self.entries.iter().map(|entry| (name(entry), entry)).collect()
    }

    /// For every call, mean and variance of all numbers of its output: what shows signals that shrink or blow up.
    pub fn moments<M: Module + ?Sized>(&self, net: &M) -> Result<Vec<Moments>> {
        let moments = |(name, entry): (String, &Entry)| {
            let output = entry.output.detach();
            let number = |x: Tensor| x.to_f64_vec()[0];
            let mean = number(output.try_mean()?);
            let square = number((&output * &output).try_mean()?);
            Ok(Moments { name, kind: entry.module.kind(), mean, variance: (square - mean * mean).max(0.0) })
        };
        self.named(net).into_iter().map(moments).collect()
    }

    /// Units of the part `name` that gave 0 for every sample of the pass: with a rectifier before them, they get no
    /// gradient and stay so. A unit is a position of the last axis, or a channel (axis 1) of images.
    pub fn dead_units<M: Module + ?Sized>(&self, net: &M, name: &str) -> Result<Vec<usize>> {
        let output = self.output(net, name)?.detach();
        let unit_axis = if output.rank() == 4 { 1 } else { output.rank() as isize - 1 };
        let axes: Vec<isize> = (0..output.rank() as isize).filter(|&axis| axis != unit_axis).collect();
        let largest = output.abs().try_max_axes(&axes, false)?.to_f64_vec();
        Ok((0..largest.len()).filter(|&unit| largest[unit] == 0.0).collect())
    }
}

/// Mean and variance of a layer's output.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// The layer's name in the net.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// Mean of all numbers.
    pub mean: f64,
    /// Their variance.
    pub variance: f64,
}

/// Norms of the gradients that a backward pass left in the parameters, by name; parameters without one are left out.
///
/// ```
/// use tove_nn::{Layer, Linear, Pass, Rng, gradient_norms};
/// use tove_tensor::{DType, Tensor};
/// let layer = Linear::new(2, 1, &mut Rng::new(0));
/// layer.forward(&Tensor::ones([3, 2], DType::F32), &Pass::eval())?.sum().backward();
/// let norms = gradient_norms(&layer);
/// assert_eq!((norms[1].0.as_str(), norms[1].1), ("bias", 3.0));
/// # Ok::<(), tove_nn::Error>(())
/// ```
pub fn gradient_norms<M: Module + ?Sized>(net: &M) -> Vec<(String, f64)> {
    let norm = |(name, parameter): (String, &Tensor)| {
        let squares: f64 = parameter.grad()?.to_f64_vec().iter().map(|g| g * g).sum();
        Some((name, squares.sqrt()))
    };
    net.named_parameters().into_iter().filter_map(norm).collect()
}
