//! What layers took and gave in a recorded pass: activations by name, and the figures of a summary.

use tove_tensor::{DType, Tensor, TryOps, TryReduce};

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
    /// Whether positions of the output no longer match those of the input, as when an image is enlarged; then no
    /// receptive field can be told.
    pub resamples: bool,
    /// Positions at the end of the padded input that no window reaches, along the two last axes: the stride does not
    /// divide the way.
    pub unreached: [usize; 2],
}

/// One call of a layer.
#[derive(Clone, Debug)]
pub struct LayerCall {
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
pub struct PassRecord {
    entries: Vec<LayerCall>,
}

impl PassRecord {
    pub(crate) fn push(&mut self, module: Identity, input: Tensor, output: Tensor, report: LayerReport) {
        self.entries.push(LayerCall { module, input, output, report });
    }

    /// All calls, in order.
    pub fn entries(&self) -> &[LayerCall] {
        &self.entries
    }

    /// What the part `name` of `net` gave, the last time it was called. The empty name is the net itself.
    ///
    /// For an affine layer this is the pre-activation, for the non-linearity behind it the post-activation.
    pub fn output<M: Module + ?Sized>(&self, net: &M, name: &str) -> Result<&Tensor> {
        Ok(&self.entry(net, name)?.output)
    }

    /// What the part `name` of `net` took, the last time it was called.
    pub fn input<M: Module + ?Sized>(&self, net: &M, name: &str) -> Result<&Tensor> {
        Ok(&self.entry(net, name)?.input)
    }

    /// The last call of the part `name` of `net`.
    pub fn entry<M: Module + ?Sized>(&self, net: &M, name: &str) -> Result<&LayerCall> {
        let mut modules = net.named_modules();
        modules.push((String::new(), net.identity()));
        let (_, identity) = modules.iter().find(|(path, _)| path == name).ok_or_else(|| unknown_part(net, name))?;
        let is_it =
            |(path, entry): &(String, &LayerCall)| entry.module == *identity && (name.is_empty() || path == name);
        self.named(net).into_iter().rev().find(is_it).map(|(_, entry)| entry).ok_or_else(|| {
            let problem = format!("{name:?} ({}) told of no output in this pass", identity.kind());
            Error::setting("PassRecord", "name", problem)
        })
    }

    /// Calls with the names their layers have in `net`, in order.
    pub fn named<'r, M: Module + ?Sized>(&'r self, net: &M) -> Vec<(String, &'r LayerCall)> {
        self.places(net).into_iter().zip(&self.entries).collect()
    }

    /// The name of the layer of every call. Modules without fields all lie at one address; they are told apart by taking turns,
    /// in the order in which they stand in the net.
    fn places<M: Module + ?Sized>(&self, net: &M) -> Vec<String> {
        let modules = net.named_modules();
        let mut calls: Vec<(Identity, usize)> = Vec::new();
        let name = |entry: &LayerCall| {
            let same: Vec<&String> =
                modules.iter().filter(|(_, identity)| *identity == entry.module).map(|(name, _)| name).collect();
            if same.len() < 2 {
                return same.first().map_or_else(String::new, |name| (*name).clone());
            }
            let known = calls.iter().position(|(identity, _)| *identity == entry.module).unwrap_or_else(|| {
                calls.push((entry.module, 0));
                calls.len() - 1
            });
            let turn = calls[known].1;
            calls[known].1 += 1;
            same[turn % same.len()].clone()
        };
        self.entries.iter().map(name).collect()
    }

    /// For every call, mean and variance of all numbers of its output: what shows signals that shrink or blow up.
    ///
    /// ```
    /// use tove_nn::{Layer, Linear, Pass, Rng};
    /// use tove_tensor::{DType, Tensor};
    /// let (layer, pass) = (Linear::new(2, 3, &mut Rng::new(0)), Pass::eval().recording());
    /// let y = layer.forward(&Tensor::ones([4, 2], DType::F32), &pass)?;
    /// let moments = pass.into_record().moments(&layer)?;
    /// assert!((moments[0].mean - f64::from(y.mean().item::<f32>())).abs() < 1e-6);
    /// # Ok::<(), tove_nn::Error>(())
    /// ```
    pub fn moments<M: Module + ?Sized>(&self, net: &M) -> Result<Vec<Moments>> {
        let moments = |(name, entry): (String, &LayerCall)| {
            // In f64: squares of numbers that blow up leave the range of f32 long before the numbers do.
            let output = entry.output.detach().try_to_dtype(DType::F64)?;
            let (mean, variance) = (output.try_mean()?.try_item()?, output.try_var(0)?.try_item()?);
            Ok(Moments { name, kind: entry.module.kind(), mean, variance })
        };
        self.named(net).into_iter().map(moments).collect()
    }

    /// Units of the part `name` that gave 0 for every sample of the pass: with a rectifier before them, they get no
    /// gradient and stay so. A unit is a position of the last axis, or a channel (axis 1) of images.
    ///
    /// ```
    /// use tove_nn::{Layer, Nonlinearity, Pass};
    /// use tove_tensor::Tensor;
    /// let (relu, pass) = (Nonlinearity::Relu, Pass::eval().recording());
    /// relu.forward(&Tensor::from([[-1.0, -1.0], [2.0, -3.0]]), &pass)?;
    /// assert_eq!(pass.into_record().dead_units(&relu, "")?, [1]); // the first is off for one sample only
    /// # Ok::<(), tove_nn::Error>(())
    /// ```
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
