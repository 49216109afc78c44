//! Parameters of a net by name: counting, freezing, saving, loading.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use tove_tensor::io::{WriteOptions, read_safetensors, write_safetensors};
use tove_tensor::{DType, Key, Tensor};

use crate::error::nearest_name;
use crate::module::{Buffer, Identity, Module};
use crate::walks::{Parameters, each, inventory};
use crate::{Error, Result};

/// Whether `path` is the part `prefix` or lies inside it.
fn is_within(path: &str, prefix: &str) -> bool {
    prefix.is_empty() || path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// What every module can do with its parameters.
pub trait ModuleExt: Module {
    /// All parameters, in a fixed order.
    fn parameters(&self) -> Vec<&Tensor> {
        let mut walk = Parameters(Vec::new());
        self.parts(&mut walk);
        walk.0
    }

    /// All parameters, for an optimiser to change.
    ///
    /// ```
    /// use tove_nn::{Layer, Linear, ModuleExt, Pass, Rng};
    /// use tove_optim::Adam;
    /// use tove_tensor::{DType, Tensor};
    /// let mut layer = Linear::new(2, 1, &mut Rng::new(0));
    /// layer.forward(&Tensor::ones([4, 2], DType::F32), &Pass::eval())?.square().mean().backward();
    /// Adam::new(0.1).step(&mut layer.parameters_mut())?;
    /// # Ok::<(), tove_nn::Error>(())
    /// ```
    fn parameters_mut(&mut self) -> Vec<&mut Tensor> {
        let mut walk = Parameters(Vec::new());
        self.parts_mut(&mut walk);
        walk.0
    }

    /// All parameters with their dotted names.
    fn named_parameters(&self) -> Vec<(String, &Tensor)> {
        inventory(self).parameters
    }

    /// All buffers with their dotted names.
    fn named_buffers(&self) -> Vec<(String, &Buffer)> {
        inventory(self).buffers
    }

    /// All modules inside this one with their dotted names.
    fn named_modules(&self) -> Vec<(String, Identity)> {
        inventory(self).modules
    }

    /// Number of numbers in all parameters.
    fn count_parameters(&self) -> usize {
        self.parameters().iter().map(|parameter| parameter.numel()).sum()
    }

    /// Number of numbers in the parameters that are not frozen.
    fn count_trainable(&self) -> usize {
        self.parameters().iter().filter(|parameter| parameter.is_tracked()).map(|parameter| parameter.numel()).sum()
    }

    /// Clears all gradients.
    fn zero_grad(&self) {
        self.parameters().iter().for_each(|parameter| parameter.set_grad(None));
    }

    /// Freezes the part `prefix` (all of the net, for the empty name): its parameters get no gradient, so that optimizers
    /// leave them as they are, and its batch norms no longer move their running statistics. The number of parameter tensors
    /// found is returned.
    ///
    /// Everything that is saved of a frozen part keeps its bits, and so does what it computes in evaluation. A pass that trains
    /// still drops units and takes the statistics of the batch in it; run it with [`Pass::as_eval`](crate::Pass::as_eval) or
    /// inside [`EvalMode`](crate::EvalMode) to have it compute the same while the rest trains. A batch norm counts as frozen
    /// when its weight and its bias are.
    ///
    /// ```
    /// use tove_nn::{Mlp, ModuleExt, Rng};
    /// let mut net = Mlp::new(&[4, 8, 3], &mut Rng::new(0));
    /// net.freeze("layers.0")?;
    /// assert_eq!(net.count_trainable(), (8 + 1) * 3);
    /// assert!(net.freeze("layer.0").unwrap_err().to_string().contains("did you mean \"layers.0\"?"));
    /// # Ok::<(), tove_nn::Error>(())
    /// ```
    fn freeze(&mut self, prefix: &str) -> Result<usize> {
        set_trainable(self, prefix, &|parameter| Ok(parameter.detach()))
    }

    /// Undoes [`ModuleExt::freeze`].
    fn unfreeze(&mut self, prefix: &str) -> Result<usize> {
        set_trainable(self, prefix, &|parameter| {
            Ok(if parameter.is_tracked() { parameter.clone() } else { parameter.try_requires_grad()? })
        })
    }

    /// A copy that shares nothing with this net. A plain clone has values of its own, but its parameters are the same leaves:
    /// gradients of either arrive in both, which matters when both take part in one backward pass.
    ///
    /// ```
    /// use tove_nn::{Layer, Linear, ModuleExt, Pass, Rng};
    /// use tove_tensor::{DType, Tensor};
    /// let student = Linear::new(2, 1, &mut Rng::new(0));
    /// let teacher = student.copied()?;
    /// student.forward(&Tensor::ones([1, 2], DType::F32), &Pass::eval())?.sum().backward();
    /// assert!(student.clone().weight.grad().is_some() && teacher.weight.grad().is_none());
    /// # Ok::<(), tove_nn::Error>(())
    /// ```
    fn copied(&self) -> Result<Self>
    where
        Self: Clone,
    {
        let mut copy = self.clone();
        let mut own = |_: &str, parameter: &mut Tensor| {
            if parameter.is_tracked() {
                *parameter = parameter.detach().try_requires_grad()?;
            }
            Ok(())
        };
        each(&mut copy, &mut own, &mut |_, _| Ok(()))?;
        Ok(copy)
    }

    /// Converts all parameters and floating-point buffers to f32 or f64.
    fn to_dtype(&mut self, dtype: DType) -> Result<()> {
        let convert = |tensor: &Tensor| -> Result<Tensor> {
            let plain = tensor.detach().try_to_dtype(dtype)?;
            Ok(if tensor.is_tracked() { plain.try_requires_grad()? } else { plain })
        };
        let mut of_parameter = |_: &str, parameter: &mut Tensor| {
            *parameter = convert(parameter)?;
            Ok(())
        };
        let mut of_buffer = |_: &str, buffer: &mut Buffer| {
            let value = buffer.get();
            if value.dtype().is_float() {
                buffer.set(convert(&value)?);
            }
            Ok(())
        };
        each(self, &mut of_parameter, &mut of_buffer)
    }

    /// Gives every parameter whose name ends in `suffix` new values: `draw(old, key)` with its own key each. Scales of norms
    /// are not drawn: they go back to 1, where they start.
    ///
    /// ```
    /// use tove_nn::{Init, LayerNorm, Linear, ModuleExt, Rng, Sequential};
    /// use tove_tensor::Key;
    /// let mut net = Sequential::new().add(Linear::new(3, 2, &mut Rng::new(0))).add(LayerNorm::new(2));
    /// net.reset("weight", Key::new(1), &|old, key| Init::HeNormal.draw(old.shape().clone(), key, old.dtype()))?;
    /// assert_eq!(net.named_parameters()[2].1.to_vec::<f32>(), [1.0, 1.0]);
    /// # Ok::<(), tove_nn::Error>(())
    /// ```
    fn reset(
        &mut self,
        suffix: &str,
        key: Key,
        draw: &dyn Fn(&Tensor, Key) -> tove_tensor::Result<Tensor>,
    ) -> Result<()> {
        let mut count = 0;
        let scales = norm_scales(self);
        each(
            self,
            &mut |name, parameter| {
                if name.ends_with(suffix) {
                    let is_scale = scales.iter().any(|scale| scale == name);
                    let value =
                        if is_scale { parameter.detach().ones_like() } else { draw(parameter, key.fold(count))? };
                    put(name, parameter, &value)?;
                }
                count += 1;
                Ok(())
            },
            &mut |_, _| Ok(()),
        )
    }

    /// Values of all parameters and buffers, by name.
    fn state(&self) -> Vec<(String, Tensor)> {
        let inventory = inventory(self);
        let parameters = inventory.parameters.into_iter().map(|(name, tensor)| (name, tensor.detach()));
        parameters.chain(inventory.buffers.into_iter().map(|(name, buffer)| (name, buffer.get()))).collect()
    }

    /// Takes over values by name. All names must be there, no other, and all shapes must fit; otherwise nothing changes.
    /// Types are converted, frozen parameters stay frozen.
    fn load_state(&mut self, state: &[(String, Tensor)]) -> Result<()> {
        let missing = self.load_partial(state, true)?;
        debug_assert!(missing.is_empty());
        Ok(())
    }

    /// As [`ModuleExt::load_state`] for the names that both sides have; the net's names without a value are returned.
    fn load_matching(&mut self, state: &[(String, Tensor)]) -> Result<Vec<String>> {
        self.load_partial(state, false)
    }

    #[doc(hidden)]
    fn load_partial(&mut self, state: &[(String, Tensor)], strict: bool) -> Result<Vec<String>> {
        let given: HashMap<&str, &Tensor> = state.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        let own: Vec<(String, Tensor)> = self.state();
        let missing: Vec<String> =
            own.iter().map(|(name, _)| name).filter(|name| !given.contains_key(name.as_str())).cloned().collect();
        if strict {
            let names: HashMap<&str, ()> = own.iter().map(|(name, _)| (name.as_str(), ())).collect();
            let unknown = given.keys().filter(|name| !names.contains_key(*name)).map(|&name| name.to_owned());
            let mut unknown: Vec<String> = unknown.collect();
            unknown.sort();
            if !missing.is_empty() || !unknown.is_empty() {
                return Err(Error::Weights { missing, unknown });
            }
        }
        for (name, tensor) in &own {
            if let Some(value) = given.get(name.as_str()) {
                fits(name, tensor, value)?;
            }
        }
        each(
            self,
            &mut |name, parameter| given.get(name).map_or(Ok(()), |value| put(name, parameter, value)),
            &mut |name, buffer| {
                if let Some(value) = given.get(name) {
                    let mut inner = buffer.get();
                    put(name, &mut inner, value)?;
                    buffer.set(inner);
                }
                Ok(())
            },
        )?;
        Ok(missing)
    }

    /// Writes all parameters and buffers to a safetensors file, complete or not at all; an existing file is an error.
    fn save(&self, path: impl AsRef<Path>) -> Result<()>
    where
        Self: Sized,
    {
        self.save_with(path, &BTreeMap::new(), WriteOptions::default())
    }

    /// As [`ModuleExt::save`], with metadata and options.
    fn save_with(
        &self,
        path: impl AsRef<Path>,
        metadata: &BTreeMap<String, String>,
        options: WriteOptions,
    ) -> Result<()>
    where
        Self: Sized,
    {
        let state = self.state();
        let tensors: Vec<(&str, &Tensor)> = state.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        Ok(write_safetensors(path, &tensors, metadata, options)?)
    }

    /// Reads all parameters and buffers from a safetensors file, written by [`ModuleExt::save`] or by PyTorch users for
    /// the same names. Names and shapes must fit; otherwise nothing changes. Settings are not in the file: whether a transformer
    /// has its norms first ([`BlockConfig::norm_first`](crate::BlockConfig::norm_first)), its number of heads, its non-linearity.
    fn load(&mut self, path: impl AsRef<Path>) -> Result<()>
    where
        Self: Sized,
    {
        let mut state = read_safetensors(path)?;
        // PyTorch counts the batches a batch norm has seen; nothing depends on it.
        state.retain(|(name, _)| !name.ends_with("num_batches_tracked"));
        self.load_state(&state)
    }
}

impl<M: Module + ?Sized> ModuleExt for M {}

fn set_trainable<M: Module + ?Sized>(
    module: &mut M,
    prefix: &str,
    change: &dyn Fn(&Tensor) -> Result<Tensor>,
) -> Result<usize> {
    let mut found = 0;
    each(
        module,
        &mut |name, parameter| {
            if is_within(name, prefix) {
                *parameter = change(parameter)?;
                found += 1;
            }
            Ok(())
        },
        &mut |_, _| Ok(()),
    )?;
    let inventory = inventory(module);
    let known = inventory.modules.iter().map(|(name, _)| name.as_str());
    let mut known = known.chain(inventory.parameters.iter().map(|(name, _)| name.as_str()));
    if found == 0 && !known.any(|name| is_within(name, prefix)) {
        return Err(unknown_part(module, prefix));
    }
    Ok(found)
}

/// The error for a part that is not there, with a name that is.
pub(crate) fn unknown_part<M: Module + ?Sized>(module: &M, name: &str) -> Error {
    let inventory = inventory(module);
    let names = inventory.modules.iter().map(|(name, _)| name.as_str());
    let names = names.chain(inventory.parameters.iter().map(|(name, _)| name.as_str()));
    Error::UnknownPart { name: name.to_owned(), nearest_name: nearest_name(name, names) }
}

fn fits(name: &str, own: &Tensor, value: &Tensor) -> Result<()> {
    if own.shape() != value.shape() {
        let (expected, found) = (Box::new(own.shape().clone()), Box::new(value.shape().clone()));
        return Err(Error::WeightShape { name: name.to_owned(), expected, found });
    }
    Ok(())
}

/// Whether this kind of module is a norm: `LayerNorm`, and with the number of its axes `InstanceNorm2d`.
fn is_norm(kind: &str) -> bool {
    let axes = kind.strip_suffix('d').map(|front| front.trim_end_matches(|letter: char| letter.is_ascii_digit()));
    kind.ends_with("Norm") || axes.is_some_and(|front| front.ends_with("Norm") && front.len() + 1 < kind.len())
}

/// Names of the scales of norms: the weights of modules whose kind says so.
fn norm_scales<M: Module + ?Sized>(net: &M) -> Vec<String> {
    // The net itself may be a norm. It may also only be called one and have norms inside.
    let own = is_norm(net.kind()).then(|| "weight".to_owned());
    let modules = inventory(net).modules.into_iter().filter(|(_, module)| is_norm(module.kind()));
    own.into_iter().chain(modules.map(|(path, _)| format!("{path}.weight"))).collect()
}

/// Overwrites the values of a parameter, which stays as trainable or frozen as it is.
fn put(name: &str, parameter: &mut Tensor, value: &Tensor) -> Result<()> {
    fits(name, parameter, value)?;
    let value = value.detach().try_to_dtype(parameter.dtype())?.contiguous();
    *parameter = if parameter.is_tracked() { value.try_requires_grad()? } else { value };
    Ok(())
}
