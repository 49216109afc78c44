//! Nests of transformations, once as they are and once with every `vmap` written as a loop over slices.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use tove_tensor::testing::values;
use tove_tensor::{Tensor, grad, hessian, hvp, jacfwd, jacrev, jvp, vjp, vmap};

/// A function of one tensor.
pub type Function<'a> = Box<dyn Fn(&Tensor) -> Tensor + 'a>;

/// One layer of a nest. Sizes of batches are part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Layer {
    /// Maps over the first axis, or over the last one.
    Vmap { size: usize, last: bool },
    /// Maps over shifts of the argument, which is itself not mapped here.
    Spread { size: usize },
    /// A directional derivative. The direction is fixed, or depends on the point.
    Jvp { fixed: bool },
    /// A cotangent pulled back.
    Vjp,
    /// The gradient of a weighted sum of the outputs.
    Grad,
    /// Its Hessian.
    Hessian,
    /// Its Hessian times a direction.
    Hvp { fixed: bool },
    /// The Jacobian by forward mode.
    JacFwd,
    /// The Jacobian by reverse mode.
    JacRev,
}

use Layer::*;

impl Layer {
    pub fn is_map(self) -> bool {
        matches!(self, Vmap { .. } | Spread { .. })
    }

    /// How many times the function is differentiated.
    pub fn order(self) -> usize {
        match self {
            Vmap { .. } | Spread { .. } => 0,
            Hessian | Hvp { .. } => 2,
            _ => 1,
        }
    }

    /// Whether the result has all axes of the argument once more.
    pub fn is_wide(self) -> bool {
        matches!(self, Hessian | JacFwd | JacRev)
    }

    fn around<'a>(self, f: Function<'a>, looped: bool) -> Function<'a> {
        let scalar = |f: &Function<'a>, x: &Tensor| {
            let y = f(x);
            (&y * weights(&y, 0.7)).sum()
        };
        match self {
            Vmap { last, .. } => Box::new(move |x| {
                let front = if last { x.move_axis(-1, 0) } else { x.clone() };
                map(&f, &front, looped)
            }),
            Spread { size } => Box::new(move |x| {
                let rows: Vec<usize> = [size].into_iter().chain(x.dims().iter().copied()).collect();
                map(&|shift: &Tensor| f(&(x + shift)), &(weights_of(&rows, 0.4) * 0.02), looped)
            }),
            Jvp { fixed } => Box::new(move |x| jvp(&f, x, &direction(x, fixed)).1),
            Vjp => Box::new(move |x| {
                let (y, pull) = vjp(&f, x);
                pull(&weights(&y, 0.9))
            }),
            Grad => Box::new(move |x| grad(|x: &Tensor| scalar(&f, x))(x)),
            Hessian => Box::new(move |x| hessian(|x| scalar(&f, x), x)),
            Hvp { fixed } => Box::new(move |x| hvp(|x: &Tensor| scalar(&f, x), x, &direction(x, fixed))),
            JacFwd => Box::new(move |x| jacfwd(&f, x)),
            JacRev => Box::new(move |x| jacrev(&f, x)),
        }
    }
}

fn map(f: &dyn Fn(&Tensor) -> Tensor, rows: &Tensor, looped: bool) -> Tensor {
    if !looped {
        return vmap(|row: &Tensor| f(row))(rows);
    }
    let slices: Vec<Tensor> = (0..rows.dims()[0]).map(|i| f(&rows.get(i))).collect();
    Tensor::stack(&slices.iter().collect::<Vec<_>>(), 0)
}

/// Fixed numbers without symmetry.
fn weights_of(shape: &[usize], phase: f64) -> Tensor {
    let number = |i: usize| (phase + i as f64 * 1.618_033_988).sin() + 0.1;
    Tensor::from_vec((0..shape.iter().product::<usize>()).map(number).collect::<Vec<f64>>(), shape)
}

fn weights(like: &Tensor, phase: f64) -> Tensor {
    weights_of(like.dims(), phase)
}

fn direction(x: &Tensor, fixed: bool) -> Tensor {
    if fixed { weights(x, 1.3) } else { x * 0.5 + weights(x, 2.1) }
}

/// Layers, outermost first.
#[derive(Clone, PartialEq)]
pub struct Nest(pub Vec<Layer>);

impl fmt::Display for Nest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.iter().map(|layer| format!("{layer:?}")).collect();
        f.write_str(&names.join(" of "))
    }
}

impl Nest {
    pub fn order(&self) -> usize {
        self.0.iter().map(|layer| layer.order()).sum()
    }

    /// The argument of the whole nest: `x` for every slice, moved a little.
    pub fn argument(&self, x: &Tensor, noise: f64) -> Tensor {
        self.0.iter().rev().fold(x.clone(), |x, layer| match *layer {
            Vmap { size, last } => {
                let moved = |i: usize| &x * (1.0 - 0.03 * i as f64) + values(x.shape(), i as u64 + 5) * noise;
                let slices: Vec<Tensor> = (0..size).map(moved).collect();
                Tensor::stack(&slices.iter().collect::<Vec<_>>(), if last { x.rank() as isize } else { 0 })
            }
            _ => x,
        })
    }

    fn run(&self, f: &dyn Fn(&Tensor) -> Tensor, x: &Tensor, looped: bool) -> Result<Tensor, String> {
        let whole = self.0.iter().rev().fold(Box::new(f) as Function<'_>, |f, layer| layer.around(f, looped));
        quietly(|| whole(x))
    }

    /// What the nest gives.
    pub fn mapped(&self, f: &dyn Fn(&Tensor) -> Tensor, x: &Tensor) -> Result<Tensor, String> {
        self.run(f, x, false)
    }

    /// Compares the nest with the one that loops over slices. Where the function has no such derivative, both must say so.
    pub fn check(&self, f: &dyn Fn(&Tensor) -> Tensor, x: &Tensor, tolerance: f64) -> Result<bool, String> {
        match (self.run(f, x, false), self.run(f, x, true)) {
            (Ok(mapped), Ok(looped)) => {
                if mapped.shape() != looped.shape() {
                    return Err(format!("{self}: shape {} instead of {}", mapped.shape(), looped.shape()));
                }
                let gap = distance(&mapped, &looped);
                if gap <= tolerance { Ok(true) } else { Err(format!("{self}: off by {gap:e}")) }
            }
            (Err(_), Err(_)) => Ok(false),
            (Err(problem), Ok(_)) => Err(format!("{self}: {problem}")),
            (Ok(_), Err(problem)) => Err(format!("{self}: only the loop fails: {problem}")),
        }
    }
}

/// Largest difference, relative to the size of the second; infinite where only one is a number.
fn distance(a: &Tensor, b: &Tensor) -> f64 {
    let (a, b) = (a.to_f64_vec(), b.to_f64_vec());
    let size = b.iter().fold(1.0, |size: f64, x| size.max(x.abs()));
    let gap = |(a, b): (&f64, &f64)| match (a.is_finite(), b.is_finite()) {
        (true, true) => (a - b).abs() / size,
        _ if a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan() => 0.0,
        _ => f64::INFINITY,
    };
    a.iter().zip(&b).map(gap).fold(0.0, f64::max)
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// The result, or the text of the panic, which is not printed.
fn quietly<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                usual(info);
            }
        }));
    });
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(false);
    result.map_err(|panic| match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(text), _) => text.clone(),
        (_, Some(text)) => (*text).to_string(),
        _ => "a panic".to_string(),
    })
}

/// Every layer with these sizes of batches.
pub fn layers(size: usize, fixed: bool, last: bool) -> Vec<Layer> {
    vec![Vmap { size, last }, Spread { size }, Jvp { fixed }, Vjp, Grad, Hessian, Hvp { fixed }, JacFwd, JacRev]
}

/// All nests of two or three layers with at least one batch, of unequal sizes, up to an order of derivatives.
pub fn nests(depth: usize, most: usize) -> Vec<Nest> {
    let sizes = [2, 3, 1];
    let mut found = vec![Nest(Vec::new())];
    for (place, &size) in sizes.iter().enumerate().take(depth) {
        let (fixed, last) = (place % 2 == 0, place == 1);
        let wider = |nest: &Nest| -> Vec<Nest> {
            let with = |layer: Layer| Nest(nest.0.iter().copied().chain([layer]).collect());
            layers(size, fixed, last).into_iter().map(with).collect()
        };
        found = found.iter().flat_map(wider).collect();
    }
    found.retain(|nest| nest.0.iter().any(|layer| layer.is_map()) && nest.order() <= most);
    // A Jacobian of a Jacobian of a Jacobian shows nothing that two do not, and is large.
    found.retain(|nest| nest.0.iter().filter(|layer| layer.is_wide()).count() <= 2);
    found
}
