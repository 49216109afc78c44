//! Trading work for memory: a checkpointed function keeps its inputs only, and is run again in the backward pass.
//!
//! A [`Chain`] of blocks keeps the activations of some and runs the others again from the nearest kept one. Fewer kept
//! blocks mean less memory and more work; gradients have the same bits either way, because the same operations run on
//! the same values.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::apply;
use super::node::{Grads, Point, Saves};
use super::partial::{partial_jvp, partial_vjp};
use crate::error::OrPanic;
use crate::ops::Op;
use crate::{Error, Result, Tensor};

type Function = dyn Fn(&[Tensor]) -> Tensor + Send + Sync;

#[derive(Clone)]
struct Checkpoint {
    function: Arc<Function>,
}

impl Checkpoint {
    fn run(&self, inputs: &[Tensor]) -> Tensor {
        (self.function)(inputs)
    }
}

impl Op for Checkpoint {
    fn name(&self) -> &'static str {
        "checkpoint"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let inputs: Vec<Tensor> = inputs.iter().map(|x| x.untracked()).collect();
        let output = self.run(&inputs);
        if output.is_tracked() {
            let problem = "the function captures a tracked tensor; pass it among the inputs";
            return Err(Error::derivative("checkpoint", problem));
        }
        Ok(output)
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::all_inputs()
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        partial_jvp(|inputs| Ok(self.run(inputs)), at, tangents)
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        partial_vjp(|inputs| Ok(self.run(inputs)), at, grad, needs)
    }

    fn definition(&self, inputs: &[&Tensor]) -> Option<Result<Tensor>> {
        let inputs: Vec<Tensor> = inputs.iter().map(|&x| x.clone()).collect();
        Some(Ok(self.run(&inputs)))
    }

    fn flops(&self, _inputs: &[&Tensor], _output: &Tensor) -> u64 {
        0 // The operations inside count themselves.
    }
}

/// Applies `function` keeping its inputs only; the backward pass runs it again. Tensors that need gradients must be
/// among the inputs, not captured.
///
/// ```
/// use tove_tensor::{Tensor, checkpoint, grad};
/// let f = |x: &[Tensor]| x[0].sin().exp().sum();
/// let x = Tensor::from([0.3, 0.6]);
/// let plain = grad(|x: &Tensor| f(&[x.clone()]))(&x);
/// let kept = grad(|x: &Tensor| checkpoint(f, &[x]))(&x);
/// assert_eq!(plain.to_vec::<f64>(), kept.to_vec::<f64>());
/// ```
#[track_caller]
pub fn checkpoint(function: impl Fn(&[Tensor]) -> Tensor + Send + Sync + 'static, inputs: &[&Tensor]) -> Tensor {
    apply(Checkpoint { function: Arc::new(function) }, inputs).or_panic()
}

/// A block of a [`Chain`]: a function of the running value and the block's own parameters.
type BlockFunction = dyn Fn(&Tensor, &[Tensor]) -> Tensor + Send + Sync;

/// A sequence of blocks of which some keep their activations.
///
/// ```
/// use tove_tensor::{Chain, Tensor};
/// let mut chain = Chain::new();
/// for _ in 0..4 {
///     chain = chain.block(|x, w| (x * &w[0]).tanh());
/// }
/// let w: Vec<Vec<Tensor>> = (0..4).map(|_| vec![Tensor::from([0.9]).requires_grad()]).collect();
/// chain.keep(&[0, 1, 3]).run(&Tensor::from([0.5]), &w).sum().backward();
/// assert_eq!(chain.evaluations(), 5); // the third block ran twice
/// ```
#[derive(Clone, Default)]
pub struct Chain {
    blocks: Vec<Arc<BlockFunction>>,
    evaluations: Arc<AtomicUsize>,
}

/// A [`Chain`] with a choice of blocks to keep.
pub struct KeptChain<'a> {
    chain: &'a Chain,
    kept: Vec<bool>,
}

impl Chain {
    /// A chain without blocks.
    pub fn new() -> Chain {
        Chain::default()
    }

    /// The chain with one more block at its end.
    pub fn block(mut self, function: impl Fn(&Tensor, &[Tensor]) -> Tensor + Send + Sync + 'static) -> Chain {
        let counter = self.evaluations.clone();
        self.blocks.push(Arc::new(move |x, parameters| {
            counter.fetch_add(1, Ordering::Relaxed);
            function(x, parameters)
        }));
        self
    }

    /// How many blocks have been evaluated since the chain was made, in forward and backward passes together.
    pub fn evaluations(&self) -> usize {
        self.evaluations.load(Ordering::Relaxed)
    }

    /// Keeps the activations of the blocks at these positions; runs of others are computed again in the backward pass.
    pub fn keep(&self, positions: &[usize]) -> KeptChain<'_> {
        let kept = (0..self.blocks.len()).map(|i| positions.contains(&i)).collect();
        KeptChain { chain: self, kept }
    }

    /// Keeps every k-th block.
    pub fn keep_every(&self, k: usize) -> KeptChain<'_> {
        let kept = (0..self.blocks.len()).map(|i| k > 0 && (i + 1) % k == 0).collect();
        KeptChain { chain: self, kept }
    }
}

impl KeptChain<'_> {
    /// Runs the chain on `x` with one list of parameters per block.
    #[track_caller]
    pub fn run(&self, x: &Tensor, parameters: &[Vec<Tensor>]) -> Tensor {
        self.try_run(x, parameters).or_panic()
    }

    /// As [`KeptChain::run`], with the error returned.
    pub fn try_run(&self, x: &Tensor, parameters: &[Vec<Tensor>]) -> Result<Tensor> {
        let blocks = &self.chain.blocks;
        if parameters.len() != blocks.len() {
            let problem = format!("has {} entries for {} blocks", parameters.len(), blocks.len());
            return Err(Error::parameter("Chain", "parameters", problem));
        }
        let mut x = x.clone();
        let mut i = 0;
        while i < blocks.len() {
            if self.kept[i] {
                x = blocks[i](&x, &parameters[i]);
                i += 1;
                continue;
            }
            let end = (i..blocks.len()).find(|&j| self.kept[j]).unwrap_or(blocks.len());
            x = rerun(&blocks[i..end], &x, &parameters[i..end])?;
            i = end;
        }
        Ok(x)
    }
}

/// A run of blocks as one checkpointed function of the value and all their parameters.
fn rerun(blocks: &[Arc<BlockFunction>], x: &Tensor, parameters: &[Vec<Tensor>]) -> Result<Tensor> {
    let blocks = blocks.to_vec();
    let counts: Vec<usize> = parameters.iter().map(Vec::len).collect();
    let function = move |inputs: &[Tensor]| {
        let (mut x, mut rest) = (inputs[0].clone(), &inputs[1..]);
        for (block, &count) in blocks.iter().zip(&counts) {
            let (own, others) = rest.split_at(count);
            x = block(&x, own);
            rest = others;
        }
        x
    };
    let inputs: Vec<&Tensor> = std::iter::once(x).chain(parameters.iter().flatten()).collect();
    apply(Checkpoint { function: Arc::new(function) }, &inputs)
}
