//! What a forward pass carries: whether it trains, where its random numbers come from, and who is watching.
//!
//! Training and evaluation are told by an argument, not by a switch inside the module, so that nobody forgets to turn it.
//!
//! ```
//! use tove_nn::{Dropout, Layer, Pass};
//! use tove_tensor::{DType, Key, Tensor};
//!
//! let (x, dropout) = (Tensor::ones([8], DType::F32), Dropout::new(0.5));
//! assert_eq!(dropout.forward(&x, &Pass::eval())?.to_vec::<f32>(), [1.0; 8]);
//! let train = || dropout.forward(&x, &Pass::train(Key::new(1))).unwrap();
//! assert_eq!(train().to_vec::<f32>(), train().to_vec::<f32>()); // the key decides
//! assert!(train().to_vec::<f32>().iter().all(|&y| y == 0.0 || y == 2.0));
//! # Ok::<(), tove_nn::Error>(())
//! ```
//!
//! A part of a net can evaluate within a pass that trains ([`Pass::as_eval`]), and a part can train without its running
//! statistics taking notice ([`Pass::keeping_buffers`]).

use std::cell::{Cell, RefCell};

use tove_tensor::{Key, Tensor};

use crate::module::Module;
use crate::record::{LayerReport, PassRecord};

/// How layers compute.
#[derive(Clone, Copy, Debug)]
struct Mode {
    training: bool,
    keeps_buffers: bool,
}

/// Puts a mode back when the scope ends, also by a panic.
struct Restore<'p>(&'p Cell<Mode>, Mode);

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

/// One forward pass.
#[derive(Debug)]
pub struct Pass {
    mode: Cell<Mode>,
    key: Key,
    draws: Cell<u64>,
    record: Option<RefCell<PassRecord>>,
}

impl Pass {
    /// A pass that evaluates: no dropout, running statistics in batch norm.
    pub fn eval() -> Pass {
        Pass::new(false, Key::new(0))
    }

    /// A pass that trains, with random numbers from `key`.
    pub fn train(key: Key) -> Pass {
        Pass::new(true, key)
    }

    fn new(training: bool, key: Key) -> Pass {
        let mode = Cell::new(Mode { training, keeps_buffers: false });
        Pass { mode, key, draws: Cell::new(0), record: None }
    }

    /// Runs a part in evaluation within this pass: no dropout, running statistics in batch norm, which stay as they are. Keys
    /// and the record are those of this pass. It is `part.eval()` of PyTorch, for one call.
    ///
    /// ```
    /// use tove_nn::{BatchNorm, Layer, Linear, Module, Pass, Result, Rng, Sequential};
    /// use tove_tensor::{DType, Key, Tensor};
    /// /// A pretrained body, used as it is, with a new head.
    /// #[derive(Module)]
    /// struct Transfer {
    ///     body: Sequential,
    ///     head: Linear,
    /// }
    /// impl Layer for Transfer {
    ///     fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
    ///         let features = pass.as_eval(|pass| self.body.forward(x, pass))?;
    ///         self.head.forward(&features, pass)
    ///     }
    /// }
    /// let mut rng = Rng::new(0);
    /// let body = Sequential::new().add(Linear::new(4, 8, &mut rng)).add(BatchNorm::new(8));
    /// let net = Transfer { body, head: Linear::new(8, 2, &mut rng) };
    /// let x = Key::new(1).normal([16, 4], DType::F32);
    /// let evaluated = net.forward(&x, &Pass::eval())?;
    /// let trained = net.forward(&x, &Pass::train(Key::new(2)))?;
    /// assert_eq!(trained.to_vec::<f32>(), evaluated.to_vec::<f32>());
    /// # Ok::<(), tove_nn::Error>(())
    /// ```
    pub fn as_eval<R>(&self, part: impl FnOnce(&Pass) -> R) -> R {
        self.within(Mode { training: false, ..self.mode.get() }, part)
    }

    /// Runs a part in the mode of this pass without moving its running statistics: batch norm takes the statistics of the batch,
    /// and its buffers stay as they are.
    ///
    /// ```
    /// use tove_nn::{BatchNorm, Layer, Pass};
    /// use tove_tensor::{Key, Tensor};
    /// let (norm, x, pass) = (BatchNorm::new(1), Tensor::from([[1.0f32], [3.0]]), Pass::train(Key::new(0)));
    /// let y = pass.keeping_buffers(|pass| norm.forward(&x, pass))?;
    /// assert!((y.to_vec::<f32>()[1] - 1.0).abs() < 1e-4);
    /// assert_eq!(norm.running_mean.get().item::<f32>(), 0.0);
    /// # Ok::<(), tove_nn::Error>(())
    /// ```
    pub fn keeping_buffers<R>(&self, part: impl FnOnce(&Pass) -> R) -> R {
        self.within(Mode { keeps_buffers: true, ..self.mode.get() }, part)
    }

    fn within<R>(&self, mode: Mode, part: impl FnOnce(&Pass) -> R) -> R {
        let _restore = Restore(&self.mode, self.mode.replace(mode));
        part(self)
    }

    /// The same pass, keeping what every layer takes and gives; see [`Pass::into_record`].
    pub fn recording(self) -> Pass {
        Pass { record: Some(RefCell::default()), ..self }
    }

    /// What was kept; empty unless the pass was [`Pass::recording`].
    ///
    /// ```
    /// use tove_nn::{Layer, Linear, Nonlinearity, Pass, Rng, Sequential};
    /// use tove_tensor::{DType, Tensor};
    /// let net = Sequential::new().add(Linear::new(2, 3, &mut Rng::new(0))).add(Nonlinearity::Relu);
    /// let pass = Pass::eval().recording();
    /// net.forward(&Tensor::ones([1, 2], DType::F32), &pass)?;
    /// let record = pass.into_record();
    /// let (before, after) = (record.output(&net, "0")?, record.output(&net, "1")?);
    /// assert_eq!(before.relu().to_vec::<f32>(), after.to_vec::<f32>());
    /// # Ok::<(), tove_nn::Error>(())
    /// ```
    pub fn into_record(self) -> PassRecord {
        self.record.map(RefCell::into_inner).unwrap_or_default()
    }

    /// Whether this pass trains.
    pub fn is_training(&self) -> bool {
        self.mode.get().training
    }

    /// Whether layers may move their buffers: in training, unless the pass is [`keeping_buffers`](Pass::keeping_buffers).
    pub fn updates_buffers(&self) -> bool {
        let Mode { training, keeps_buffers } = self.mode.get();
        training && !keeps_buffers
    }

    /// Whether layers are being watched, so that none may be fused with its neighbour.
    pub fn is_recording(&self) -> bool {
        self.record.is_some()
    }

    /// A key nobody else in this pass gets.
    pub fn next_key(&self) -> Key {
        let draw = self.draws.get();
        self.draws.set(draw + 1);
        self.key.fold(draw)
    }

    /// Called by layers with what they took and gave; `report` adds what a summary wants to know.
    pub fn tell<M: Module + ?Sized>(&self, layer: &M, x: &Tensor, y: &Tensor, report: impl FnOnce() -> LayerReport) {
        if let Some(record) = &self.record {
            record.borrow_mut().push(layer.identity(), x.clone(), y.clone(), report());
        }
    }
}

/// A source of keys for building nets: every call gives another one.
///
/// ```
/// use tove_nn::Rng;
/// let mut rng = Rng::new(7);
/// assert_ne!(rng.key(), rng.key());
/// assert_eq!(Rng::new(7).key(), Rng::new(7).key());
/// ```
#[derive(Clone, Debug)]
pub struct Rng {
    key: Key,
    drawn: u64,
}

impl Rng {
    /// Keys of a seed.
    pub fn new(seed: u64) -> Rng {
        Rng { key: Key::new(seed), drawn: 0 }
    }

    /// The next key.
    pub fn key(&mut self) -> Key {
        self.drawn += 1;
        self.key.fold(self.drawn)
    }
}
