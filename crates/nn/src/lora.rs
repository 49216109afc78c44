//! Fine-tuning: continuing to train a net on another task, with all weights or with few.
//!
//! Head-only training moves the last layer, bias-only training the biases (Ben Zaken et al. 2022). A low-rank adapter (Hu
//! et al. 2022) leaves a matrix W (out, in) as it is and adds the product of two thin ones: W + (α / r) B A with A (r, in)
//! and B (out, r), r (in + out) numbers instead of in · out. B starts at 0, so that training starts from the net as it is.
//! When it is done, the product can be added to W once and for all: the merged net gives the same outputs at the same cost
//! as the first.

use tove_tensor::{DType, Tensor, TryOps, no_grad};

use crate::module::{Buffer, Name, WalkMut};
use crate::{Error, Init, Layer, LayerReport, Linear, Module, ModuleExt, Pass, Result, Rng};

/// A fully-connected layer with a low-rank adapter: y = x Wᵀ + b + (α / r) (x Aᵀ) Bᵀ. W and b are frozen.
///
/// ```
/// use tove_nn::{Layer, Linear, LowRankLinear, ModuleExt, Pass, Rng};
/// use tove_tensor::{DType, Key};
/// let mut rng = Rng::new(0);
/// let (plain, x) = (Linear::new(6, 4, &mut rng), Key::new(1).normal([3, 6], DType::F32));
/// let adapted = LowRankLinear::new(plain.clone(), 2, 4.0, &mut rng)?;
/// assert_eq!(adapted.count_trainable(), 2 * (6 + 4));
/// let (before, after) = (plain.forward(&x, &Pass::eval())?, adapted.forward(&x, &Pass::eval())?);
/// assert_eq!(before.to_vec::<f32>(), after.to_vec::<f32>()); // nothing learned yet
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct LowRankLinear {
    /// The frozen layer.
    pub base: Linear,
    /// A, (rank, in).
    pub lora_a: Tensor,
    /// B, (out, rank).
    pub lora_b: Tensor,
    scale: f64,
}

impl LowRankLinear {
    /// An adapter of this rank over a layer; what it learns is multiplied by `alpha` / rank.
    pub fn new(mut base: Linear, rank: usize, alpha: f64, rng: &mut Rng) -> Result<LowRankLinear> {
        base.freeze("")?;
        let Pair { a, b, scale } = Pair::new(&base.weight, rank, alpha, rng)?;
        Ok(LowRankLinear { base, lora_a: a, lora_b: b, scale })
    }

    /// The plain layer with W + (α / r) B A, trainable.
    pub fn merge(self) -> Result<Linear> {
        let pair = Pair { a: self.lora_a, b: self.lora_b, scale: self.scale };
        let weight = no_grad(|| pair.added_to(&self.base.weight))?.try_requires_grad()?;
        let bias = self.base.bias.map(|bias| bias.detach().try_requires_grad()).transpose()?;
        Ok(Linear { weight, bias })
    }
}

impl Layer for LowRankLinear {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let small = x.try_matmul(&self.lora_a.try_t()?)?; // (…, rank)
        let added = small.try_matmul(&self.lora_b.try_t()?)? * self.scale;
        let y = self.base.forward(x, pass)?.try_add(&added)?;
        let rank = self.lora_a.dims()[0] as u64;
        let per_row = 2 * rank * (self.base.inputs() + self.base.outputs()) as u64;
        let rows = y.numel() as u64 / self.base.outputs().max(1) as u64;
        pass.tell(self, x, &y, || LayerReport { flops: rows * per_row, ..LayerReport::default() });
        Ok(y)
    }
}

/// The two thin matrices over one weight.
#[derive(Clone, Debug)]
struct Pair {
    a: Tensor,
    b: Tensor,
    scale: f64,
}

impl Pair {
    fn new(weight: &Tensor, rank: usize, alpha: f64, rng: &mut Rng) -> Result<Pair> {
        let &[outputs, inputs] = weight.dims() else {
            return Err(tove_tensor::Error::shape("adapter", weight.shape(), "needs a matrix (out, in)").into());
        };
        if rank == 0 || rank > outputs.min(inputs) {
            let problem =
                format!("is {rank}; for a matrix {outputs} × {inputs} it lies between 1 and {}", outputs.min(inputs));
            return Err(Error::setting("adapter", "rank", problem));
        }
        let dtype = if weight.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        Ok(Pair {
            a: Init::InverseRoot.draw([rank, inputs], rng.key(), dtype)?.try_requires_grad()?,
            b: Tensor::zeros([outputs, rank], dtype).try_requires_grad()?,
            scale: alpha / rank as f64,
        })
    }

    /// W + (α / r) B A.
    fn added_to(&self, weight: &Tensor) -> Result<Tensor> {
        Ok(weight.try_add(&(self.b.try_matmul(&self.a)? * self.scale))?)
    }
}

/// Low-rank adapters over matrices of any net, by name. The net's own weights are frozen while they are there.
///
/// In every step [`Adapters::install`] puts W + (α / r) B A in place of W, as a tensor that leads back to A and B; the
/// forward and backward passes are those of the net, and the optimiser gets [`Adapters::parameters_mut`].
///
/// ```
/// use tove_nn::{Adapters, Layer, Mlp, ModuleExt, Pass, Rng};
/// use tove_optim::Adam;
/// use tove_tensor::{DType, Key};
/// let mut rng = Rng::new(0);
/// let mut net = Mlp::new(&[4, 8, 1], &mut rng);
/// let mut adapters = Adapters::new(&mut net, &["layers.0.weight"], 2, 2.0, &mut rng)?;
/// assert_eq!(adapters.count_trainable(), 2 * (4 + 8));
/// let (x, mut adam) = (Key::new(1).normal([16, 4], DType::F32), Adam::new(0.01));
/// for _ in 0..3 {
///     adapters.install(&mut net)?;
///     net.forward(&x, &Pass::eval())?.square().mean().backward();
///     adam.step(&mut adapters.parameters_mut())?;
/// }
/// adapters.merge(&mut net)?; // a plain net again, all of it trainable
/// assert_eq!(net.count_trainable(), net.count_parameters());
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Debug)]
pub struct Adapters {
    adapted: Vec<(String, Tensor, Pair)>,
}

impl Adapters {
    /// Freezes all of `net` and lays an adapter of this rank over each of the matrices named.
    pub fn new<M: Module>(net: &mut M, names: &[&str], rank: usize, alpha: f64, rng: &mut Rng) -> Result<Adapters> {
        let state = net.state();
        let mut adapted = Vec::with_capacity(names.len());
        for &name in names {
            let found = state.iter().find(|(other, _)| other == name);
            let (_, weight) = found.ok_or_else(|| crate::state::unknown_part(net, name))?;
            adapted.push((name.to_owned(), weight.clone(), Pair::new(weight, rank, alpha, rng)?));
        }
        net.freeze("")?;
        Ok(Adapters { adapted })
    }

    /// A and B of every adapter, for an optimiser to change.
    pub fn parameters_mut(&mut self) -> Vec<&mut Tensor> {
        self.adapted.iter_mut().flat_map(|(_, _, pair)| [&mut pair.a, &mut pair.b]).collect()
    }

    /// Number of numbers in all adapters: r (in + out) for each.
    pub fn count_trainable(&self) -> usize {
        self.adapted.iter().map(|(_, _, pair)| pair.a.numel() + pair.b.numel()).sum()
    }

    /// Puts W + (α / r) B A in place of every adapted W, for one forward and backward pass.
    pub fn install<M: Module>(&self, net: &mut M) -> Result<()> {
        self.put(net, |weight, pair| pair.added_to(weight))
    }

    /// Puts the net's own weights back.
    pub fn remove<M: Module>(&self, net: &mut M) -> Result<()> {
        self.put(net, |weight, _| Ok(weight.clone()))
    }

    /// Puts W + (α / r) B A in place of every adapted W for good, and makes all of the net trainable again.
    pub fn merge<M: Module>(self, net: &mut M) -> Result<()> {
        no_grad(|| self.put(net, |weight, pair| pair.added_to(weight)))?;
        net.unfreeze("")?;
        Ok(())
    }

    fn put<M: Module>(&self, net: &mut M, value: impl Fn(&Tensor, &Pair) -> Result<Tensor>) -> Result<()> {
        let mut values = Vec::with_capacity(self.adapted.len());
        for (name, weight, pair) in &self.adapted {
            values.push((name.as_str(), value(weight, pair)?));
        }
        let mut walk = Replace { path: Vec::new(), values };
        net.parts_mut(&mut walk);
        match walk.values.first() {
            Some((name, _)) => Err(crate::state::unknown_part(net, name)),
            None => Ok(()),
        }
    }
}

/// Puts values in place of parameters by name; those left over were not found.
struct Replace<'v> {
    path: Vec<String>,
    values: Vec<(&'v str, Tensor)>,
}

impl<'m> WalkMut<'m> for Replace<'_> {
    fn parameter(&mut self, name: Name<'_>, tensor: &'m mut Tensor) {
        self.enter(name);
        let path = self.path.join(".");
        self.leave();
        if let Some(index) = self.values.iter().position(|(name, _)| *name == path) {
            *tensor = self.values.swap_remove(index).1;
        }
    }

    fn buffer(&mut self, _: Name<'_>, _: &'m mut Buffer) {}

    fn enter(&mut self, name: Name<'_>) {
        self.path.push(name.to_string());
    }

    fn leave(&mut self) {
        self.path.pop();
    }
}

/// Freezes all of a net but its biases (parameters named `bias` or ending so). The number of numbers that stay trainable
/// is returned.
///
/// ```
/// use tove_nn::{Mlp, Rng, train_biases_only};
/// let mut net = Mlp::new(&[4, 8, 3], &mut Rng::new(0));
/// assert_eq!(train_biases_only(&mut net)?, 8 + 3);
/// # Ok::<(), tove_nn::Error>(())
/// ```
pub fn train_biases_only<M: Module>(net: &mut M) -> Result<usize> {
    let names: Vec<String> = net.named_parameters().into_iter().map(|(name, _)| name).collect();
    net.freeze("")?;
    for name in names.iter().filter(|name| name.ends_with("bias")) {
        net.unfreeze(name)?;
    }
    Ok(net.count_trainable())
}

/// Freezes all of a net but the part named. The number of numbers that stay trainable is returned.
///
/// ```
/// use tove_nn::{Mlp, Rng, train_part_only};
/// let mut net = Mlp::new(&[4, 8, 3], &mut Rng::new(0));
/// assert_eq!(train_part_only(&mut net, "layers.1")?, (8 + 1) * 3);
/// # Ok::<(), tove_nn::Error>(())
/// ```
pub fn train_part_only<M: Module>(net: &mut M, part: &str) -> Result<usize> {
    net.freeze("")?;
    net.unfreeze(part)?;
    Ok(net.count_trainable())
}
