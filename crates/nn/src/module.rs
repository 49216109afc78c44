//! Nets as plain structs: what a module is, and how its parameters are found and named.
//!
//! A module is a struct whose fields are tensors (its parameters), [`Buffer`]s (state that is saved but not trained),
//! other modules, and settings. `#[derive(Module)]` lets everything else walk over them: optimisers, files, the summary.
//! Names join field names and positions with dots, as in PyTorch: `layers.0.weight`.
//!
//! ```
//! use tove_nn::{Linear, Module, ModuleExt, Rng};
//!
//! #[derive(Module)]
//! struct Net {
//!     layers: Vec<Linear>,
//!     scale: f64, // settings are not parameters
//! }
//!
//! let mut rng = Rng::new(0);
//! let net = Net { layers: vec![Linear::new(3, 4, &mut rng), Linear::new(4, 2, &mut rng)], scale: 1.0 };
//! let names: Vec<String> = net.named_parameters().into_iter().map(|(name, _)| name).collect();
//! assert_eq!(names, ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"]);
//! assert_eq!(net.count_parameters(), (3 + 1) * 4 + (4 + 1) * 2);
//! ```

use std::fmt;
use std::sync::{PoisonError, RwLock};

use tove_tensor::{ConvOptions, PoolOptions, Shape, Tensor};

/// A name of a part inside its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name<'a> {
    /// A field.
    Field(&'a str),
    /// A position in a list.
    Index(usize),
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Field(name) => f.write_str(name),
            Name::Index(index) => write!(f, "{index}"),
        }
    }
}

/// Which module of a net this is: its address and kind. A struct and its first field share an address, hence the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    address: usize,
    kind: &'static str,
}

impl Identity {
    /// The kind of module.
    pub fn kind(self) -> &'static str {
        self.kind
    }
}

/// What is told about a net on a walk through it.
pub trait Walk<'m> {
    /// A parameter.
    fn parameter(&mut self, name: Name<'_>, tensor: &'m Tensor);
    /// A buffer.
    fn buffer(&mut self, name: Name<'_>, buffer: &'m Buffer);
    /// What follows belongs to the part `name`, which is a module or, without an identity, a list.
    fn enter(&mut self, name: Name<'_>, module: Option<Identity>);
    /// End of the part last entered.
    fn leave(&mut self);
}

/// As [`Walk`], with the right to change what is found.
pub trait WalkMut<'m> {
    /// A parameter.
    fn parameter(&mut self, name: Name<'_>, tensor: &'m mut Tensor);
    /// A buffer.
    fn buffer(&mut self, name: Name<'_>, buffer: &'m mut Buffer);
    /// What follows belongs to the part `name`.
    fn enter(&mut self, name: Name<'_>);
    /// End of the part last entered.
    fn leave(&mut self);
}

/// A net or a part of one. Derive it; see the [module's documentation](self).
pub trait Module: Send + Sync {
    /// The kind of module, as a summary prints it.
    fn kind(&self) -> &'static str;
    /// Tells of all parts, in a fixed order.
    fn parts<'m>(&'m self, walk: &mut dyn Walk<'m>);
    /// As [`Module::parts`], with the right to change them.
    fn parts_mut<'m>(&'m mut self, walk: &mut dyn WalkMut<'m>);

    /// Which module this is, valid while it is not moved.
    fn identity(&self) -> Identity {
        Identity { address: std::ptr::from_ref(self).cast::<u8>() as usize, kind: self.kind() }
    }
}

/// What a field of a module may be: a tensor (a parameter), a buffer, a module, a list or option of these, or a setting.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a module nor a plain setting",
    note = "derive `Module` for it, or mark the field with `#[module(skip)]`"
)]
pub trait Part {
    /// Tells of itself under a name.
    fn show<'m>(&'m self, name: Name<'_>, walk: &mut dyn Walk<'m>);
    /// As [`Part::show`], with the right to change it.
    fn show_mut<'m>(&'m mut self, name: Name<'_>, walk: &mut dyn WalkMut<'m>);
}

impl<M: Module + ?Sized> Part for M {
    fn show<'m>(&'m self, name: Name<'_>, walk: &mut dyn Walk<'m>) {
        walk.enter(name, Some(self.identity()));
        self.parts(walk);
        walk.leave();
    }

    fn show_mut<'m>(&'m mut self, name: Name<'_>, walk: &mut dyn WalkMut<'m>) {
        walk.enter(name);
        self.parts_mut(walk);
        walk.leave();
    }
}

impl<M: Module + ?Sized> Module for Box<M> {
    fn kind(&self) -> &'static str {
        (**self).kind()
    }

    fn parts<'m>(&'m self, walk: &mut dyn Walk<'m>) {
        (**self).parts(walk);
    }

    fn parts_mut<'m>(&'m mut self, walk: &mut dyn WalkMut<'m>) {
        (**self).parts_mut(walk);
    }

    fn identity(&self) -> Identity {
        (**self).identity()
    }
}

impl Part for Tensor {
    fn show<'m>(&'m self, name: Name<'_>, walk: &mut dyn Walk<'m>) {
        walk.parameter(name, self);
    }

    fn show_mut<'m>(&'m mut self, name: Name<'_>, walk: &mut dyn WalkMut<'m>) {
        walk.parameter(name, self);
    }
}

impl Part for Buffer {
    fn show<'m>(&'m self, name: Name<'_>, walk: &mut dyn Walk<'m>) {
        walk.buffer(name, self);
    }

    fn show_mut<'m>(&'m mut self, name: Name<'_>, walk: &mut dyn WalkMut<'m>) {
        walk.buffer(name, self);
    }
}

impl<P: Part> Part for Vec<P> {
    fn show<'m>(&'m self, name: Name<'_>, walk: &mut dyn Walk<'m>) {
        walk.enter(name, None);
        self.iter().enumerate().for_each(|(index, part)| part.show(Name::Index(index), walk));
        walk.leave();
    }

    fn show_mut<'m>(&'m mut self, name: Name<'_>, walk: &mut dyn WalkMut<'m>) {
        walk.enter(name);
        self.iter_mut().enumerate().for_each(|(index, part)| part.show_mut(Name::Index(index), walk));
        walk.leave();
    }
}

impl<P: Part, const N: usize> Part for [P; N] {
    fn show<'m>(&'m self, name: Name<'_>, walk: &mut dyn Walk<'m>) {
        walk.enter(name, None);
        self.iter().enumerate().for_each(|(index, part)| part.show(Name::Index(index), walk));
        walk.leave();
    }

    fn show_mut<'m>(&'m mut self, name: Name<'_>, walk: &mut dyn WalkMut<'m>) {
        walk.enter(name);
        self.iter_mut().enumerate().for_each(|(index, part)| part.show_mut(Name::Index(index), walk));
        walk.leave();
    }
}

impl<P: Part> Part for Option<P> {
    fn show<'m>(&'m self, name: Name<'_>, walk: &mut dyn Walk<'m>) {
        if let Some(part) = self {
            part.show(name, walk);
        }
    }

    fn show_mut<'m>(&'m mut self, name: Name<'_>, walk: &mut dyn WalkMut<'m>) {
        if let Some(part) = self {
            part.show_mut(name, walk);
        }
    }
}

/// Settings have nothing to tell.
macro_rules! settings {
    ($($setting:ty)*) => {$(
        impl Part for $setting {
            fn show<'m>(&'m self, _: Name<'_>, _: &mut dyn Walk<'m>) {}
            fn show_mut<'m>(&'m mut self, _: Name<'_>, _: &mut dyn WalkMut<'m>) {}
        }
    )*};
}

settings! { usize u64 u32 i64 isize f32 f64 bool char String &'static str Shape ConvOptions PoolOptions }

/// State of a module that is saved with it but not trained, such as running means. It changes while the module computes,
/// which only borrows the module, so it sits behind a lock.
#[derive(Debug)]
pub struct Buffer(RwLock<Tensor>);

impl Buffer {
    /// A buffer with a value.
    pub fn new(value: Tensor) -> Buffer {
        Buffer(RwLock::new(value))
    }

    /// The value, shared.
    pub fn get(&self) -> Tensor {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the value.
    pub fn set(&self, value: Tensor) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = value;
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Buffer {
        Buffer::new(self.get())
    }
}
