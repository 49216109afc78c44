//! Walks over a net: what is there under which name, parameters alone, and a function called with each part.

use tove_tensor::Tensor;

use crate::Result;
use crate::module::{Buffer, Identity, Module, Name, Walk, WalkMut};

/// The dotted path of the part a walk is at.
#[derive(Default)]
struct Place {
    path: String,
    lengths: Vec<usize>,
}

impl Place {
    fn enter(&mut self, name: Name<'_>) {
        use std::fmt::Write;
        self.lengths.push(self.path.len());
        let dot = if self.path.is_empty() { "" } else { "." };
        let _ = write!(self.path, "{dot}{name}"); // writing to a string cannot fail
    }

    fn leave(&mut self) {
        self.path.truncate(self.lengths.pop().unwrap_or(0));
    }

    fn named(&mut self, name: Name<'_>) -> String {
        self.enter(name);
        let path = self.path.clone();
        self.leave();
        path
    }
}

/// Everything of a net with its path.
#[derive(Default)]
pub(crate) struct Inventory<'m> {
    place: Place,
    pub(crate) parameters: Vec<(String, &'m Tensor)>,
    pub(crate) buffers: Vec<(String, &'m Buffer)>,
    pub(crate) modules: Vec<(String, Identity)>,
}

impl<'m> Walk<'m> for Inventory<'m> {
    fn parameter(&mut self, name: Name<'_>, tensor: &'m Tensor) {
        self.parameters.push((self.place.named(name), tensor));
    }

    fn buffer(&mut self, name: Name<'_>, buffer: &'m Buffer) {
        self.buffers.push((self.place.named(name), buffer));
    }

    fn enter(&mut self, name: Name<'_>, module: Option<Identity>) {
        self.place.enter(name);
        self.modules.extend(module.map(|module| (self.place.path.clone(), module)));
    }

    fn leave(&mut self) {
        self.place.leave();
    }
}

/// Everything of a net with its path.
pub(crate) fn inventory<M: Module + ?Sized>(module: &M) -> Inventory<'_> {
    let mut inventory = Inventory::default();
    module.parts(&mut inventory);
    inventory
}

/// Parameters only, without names: what an optimiser asks for in every step.
pub(crate) struct Parameters<T>(pub(crate) Vec<T>);

impl<'m> Walk<'m> for Parameters<&'m Tensor> {
    fn parameter(&mut self, _: Name<'_>, tensor: &'m Tensor) {
        self.0.push(tensor);
    }

    fn buffer(&mut self, _: Name<'_>, _: &'m Buffer) {}
    fn enter(&mut self, _: Name<'_>, _: Option<Identity>) {}
    fn leave(&mut self) {}
}

impl<'m> WalkMut<'m> for Parameters<&'m mut Tensor> {
    fn parameter(&mut self, _: Name<'_>, tensor: &'m mut Tensor) {
        self.0.push(tensor);
    }

    fn buffer(&mut self, _: Name<'_>, _: &'m mut Buffer) {}
    fn enter(&mut self, _: Name<'_>) {}
    fn leave(&mut self) {}
}

/// Calls a function with the path of every parameter and buffer.
struct Each<'f> {
    place: Place,
    parameter: &'f mut dyn FnMut(&str, &mut Tensor) -> Result<()>,
    buffer: &'f mut dyn FnMut(&str, &mut Buffer) -> Result<()>,
    result: Result<()>,
}

impl<'m> WalkMut<'m> for Each<'_> {
    fn parameter(&mut self, name: Name<'_>, tensor: &'m mut Tensor) {
        if self.result.is_ok() {
            self.result = (self.parameter)(&self.place.named(name), tensor);
        }
    }

    fn buffer(&mut self, name: Name<'_>, buffer: &'m mut Buffer) {
        if self.result.is_ok() {
            self.result = (self.buffer)(&self.place.named(name), buffer);
        }
    }

    fn enter(&mut self, name: Name<'_>) {
        self.place.enter(name);
    }

    fn leave(&mut self) {
        self.place.leave();
    }
}

/// Calls a function with every parameter and another with every buffer, until one of them fails.
pub(crate) fn each<M: Module + ?Sized>(
    module: &mut M,
    parameter: &mut dyn FnMut(&str, &mut Tensor) -> Result<()>,
    buffer: &mut dyn FnMut(&str, &mut Buffer) -> Result<()>,
) -> Result<()> {
    let mut walk = Each { place: Place::default(), parameter, buffer, result: Ok(()) };
    module.parts_mut(&mut walk);
    walk.result
}

/// The values of all buffers, in a fixed order.
#[derive(Default)]
pub(crate) struct Buffers<'m>(Vec<&'m Buffer>);

impl<'m> Walk<'m> for Buffers<'m> {
    fn parameter(&mut self, _: Name<'_>, _: &'m Tensor) {}

    fn buffer(&mut self, _: Name<'_>, buffer: &'m Buffer) {
        self.0.push(buffer);
    }

    fn enter(&mut self, _: Name<'_>, _: Option<Identity>) {}
    fn leave(&mut self) {}
}

impl Buffers<'_> {
    /// What the buffers of a net hold.
    pub(crate) fn of<M: Module + ?Sized>(module: &M) -> Vec<Tensor> {
        let mut walk = Buffers::default();
        module.parts(&mut walk);
        walk.0.into_iter().map(Buffer::get).collect()
    }

    /// Puts back what [`Buffers::of`] gave.
    pub(crate) fn put<M: Module + ?Sized>(module: &M, values: &[Tensor]) {
        let mut walk = Buffers::default();
        module.parts(&mut walk);
        walk.0.into_iter().zip(values).for_each(|(buffer, value)| buffer.set(value.clone()));
    }
}
