//! The kernels of normalisation, softmax, cross-entropy and attention against compositions of plain operations: values,
//! gradients, second derivatives in both modes, `vmap`, odd sizes, empty tensors, thread counts and messages.

mod behaviour;
mod definitions;
mod support;
