//! What the kernels of slopes report to the meter.
//!
//! A backward pass multiplies by the slope of a function in one pass over memory. The operations that this pass is made
//! of are those in which the slope is written: run on a [`Tally`] instead of numbers or tensors, it counts them.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::Unary;
use crate::meter;
use crate::ops::arith::Arith;

/// A number of elements in place of the elements: arithmetic with it is reported and not done.
#[derive(Clone, Copy)]
struct Tally(u64);

impl Tally {
    fn count(self, name: &'static str) -> Tally {
        meter::count(name, self.0);
        self
    }
}

/// Reports the multiplication of `elements` derivatives by the slope of a function.
#[cold]
pub(super) fn report<F: Unary>(f: F, elements: usize) {
    let one = Tally(elements as u64);
    let _ = f.slope(one, one);
    one.count("mul");
}

macro_rules! operators {
    ($($trait:ident $method:ident)*) => {$(
        impl $trait for Tally {
            type Output = Tally;
            fn $method(self, _other: Tally) -> Tally {
                self.count(stringify!($method))
            }
        }
    )*};
}
operators!(Add add Sub sub Mul mul Div div);

impl Neg for Tally {
    type Output = Tally;
    fn neg(self) -> Tally {
        self.count("neg")
    }
}

macro_rules! functions {
    ($($method:ident)*) => {
        impl Arith for Tally {
            fn plus(self, _c: f64) -> Tally {
                self.count("add_scalar")
            }
            fn times(self, _c: f64) -> Tally {
                self.count("mul_scalar")
            }
            fn constant(&self, _c: f64) -> Tally {
                *self
            }
            fn power(self, _c: f64) -> Tally {
                self.count("powf")
            }
            fn above(self, _c: f64) -> Tally {
                self.count("larger_share")
            }
            fn nearest(self) -> Tally {
                self.count("round")
            }
            fn cut(self) -> Tally {
                self.count("minimum_scalar")
            }
            $(fn $method(self) -> Tally {
                self.count(stringify!($method))
            })*
        }
    };
}
functions!(exp sin cos sinh cosh sqrt recip square sigmoid normal_cdf digamma trigamma gelu_slope sign positive);
