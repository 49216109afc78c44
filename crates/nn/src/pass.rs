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

use std::cell::{Cell, RefCell};

use tove_tensor::{Key, Tensor};

use crate::module::Module;
use crate::record::{LayerReport, Record};

/// One forward pass.
#[derive(Debug)]
pub struct Pass {
    training: bool,
    key: Key,
    draws: Cell<u64>,
    record: Option<RefCell<Record>>,
}

impl Pass {
    /// A pass that evaluates: no dropout, running statistics in batch norm.
    pub fn eval() -> Pass {
        Pass { training: false, key: Key::new(0), draws: Cell::new(0), record: None }
    }

    /// A pass that trains, with random numbers from `key`.
    pub fn train(key: Key) -> Pass {
        Pass { training: true, key, draws: Cell::new(0), record: None }
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
    pub fn into_record(self) -> Record {
        self.record.map(RefCell::into_inner).unwrap_or_default()
    }

    /// Whether this pass trains.
    pub fn is_training(&self) -> bool {
        self.training
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
