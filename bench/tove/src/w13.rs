//! W13: batch norm, layer norm, softmax and GELU, forward alone or backward alone; the Adam update.

use std::hint::black_box;

use serde_json::Value;
use tove_tensor::optimizer_kernels::{AdamStep, adam_step};
use tove_tensor::{Tensor, vjp};

use crate::data;
use crate::workload::{Workload, number};

/// f32 values of a stream in the given shape, in memory of the library's own, like the result of a layer before.
pub fn tensor(seed: u32, shape: &[usize], scale: f64) -> Tensor {
    &Tensor::from_vec(data::fill_f32(seed, shape.iter().product(), scale), shape) * 1.0
}

/// The shape among a case's parameters.
pub fn shape_of(parameters: &Value) -> Result<Vec<usize>, String> {
    let sizes = parameters["shape"].as_array().ok_or("the case has no shape")?;
    sizes.iter().map(|size| size.as_u64().map(|size| size as usize).ok_or_else(|| "not a size".into())).collect()
}

/// The root mean square of each result, added up.
pub fn size_of(results: &[Tensor]) -> f64 {
    results.iter().map(|result| data::root_mean_square(&result.to_f64_vec())).sum()
}

#[derive(Clone, Copy)]
enum Function {
    BatchNorm,
    LayerNorm,
    Softmax,
    Gelu,
}

impl Function {
    fn call(self, x: &Tensor, weight: &Tensor, bias: &Tensor) -> Tensor {
        match self {
            Function::BatchNorm => x.batch_norm(Some(weight), Some(bias), 1e-5).0,
            Function::LayerNorm => x.layer_norm(&x.dims()[x.rank() - 1..], Some(weight), Some(bias), 1e-5),
            Function::Softmax => x.softmax(-1),
            Function::Gelu => x.gelu(),
        }
    }
}

struct Forward {
    function: Function,
    inputs: [Tensor; 3],
}

impl Workload for Forward {
    fn step(&mut self) {
        let [x, weight, bias] = &self.inputs;
        black_box(self.function.call(x, weight, bias));
    }

    fn quality(&mut self) -> f64 {
        let [x, weight, bias] = &self.inputs;
        size_of(&[self.function.call(x, weight, bias)])
    }
}

/// The gradients by every input, from a graph that is kept.
struct Backward<F> {
    pull: F,
    dy: Tensor,
}

impl<F: Fn(&Tensor) -> Vec<Tensor>> Workload for Backward<F> {
    fn step(&mut self) {
        black_box((self.pull)(&self.dy));
    }

    fn quality(&mut self) -> f64 {
        size_of(&(self.pull)(&self.dy))
    }
}

struct Adam {
    parameter: Tensor,
    gradient: Tensor,
    moments: [Tensor; 2],
    step: u64,
    quality_steps: usize,
}

impl Workload for Adam {
    fn step(&mut self) {
        self.step += 1;
        let settings = AdamStep { step: self.step, ..AdamStep::default() };
        let [first, second] = &mut self.moments;
        adam_step(&mut self.parameter, &self.gradient, first, second, &settings).expect("shapes agree");
    }

    fn quality(&mut self) -> f64 {
        (0..self.quality_steps).for_each(|_| self.step());
        size_of(&[self.parameter.detach()])
    }
}

/// One case of W13.
pub fn make(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    if parameters["op"] == "adam" {
        let elements = number(parameters, "elements")?;
        let parameter = tensor(1, &[elements], 1.0).requires_grad();
        let gradient = tensor(2, &[elements], 1.0);
        let moments = [gradient.zeros_like(), gradient.zeros_like()];
        let quality_steps = number(parameters, "quality_steps")?;
        return Ok(Box::new(Adam { parameter, gradient, moments, step: 0, quality_steps }));
    }
    let function = match parameters["op"].as_str() {
        Some("batch_norm") => Function::BatchNorm,
        Some("layer_norm") => Function::LayerNorm,
        Some("softmax") => Function::Softmax,
        Some("gelu") => Function::Gelu,
        other => return Err(format!("no operation {other:?}")),
    };
    let shape = shape_of(parameters)?;
    let inputs = [tensor(1, &shape, 3.0), tensor(2, &shape[1..2], 1.0), tensor(3, &shape[1..2], 1.0)];
    if parameters["direction"] == "forward" {
        return Ok(Box::new(Forward { function, inputs }));
    }
    let [x, weight, bias] = inputs;
    let dy = tensor(4, &shape, 1.0);
    if matches!(function, Function::BatchNorm | Function::LayerNorm) {
        let (_, pull) = vjp(move |p: &Vec<Tensor>| function.call(&p[0], &p[1], &p[2]), &vec![x, weight, bias]);
        return Ok(Box::new(Backward { pull, dy }));
    }
    let (_, pull) = vjp(move |p: &Vec<Tensor>| function.call(&p[0], &weight, &bias), &vec![x]);
    Ok(Box::new(Backward { pull, dy }))
}
