//! `+ - * / %`, `+= -= *= /=` and unary `-` on tensors, references to them, and numbers. An operand passed by value, or
//! assigned to, is written in place when nobody else holds it.
//!
//! Numbers take the tensor's element type. Whole numbers beside i64 stay exact, and a number with a fraction beside a
//! tensor of whole ones is an error rather than cut off. On whole numbers `/` and `%` round towards minus infinity, as
//! `//` and `%` do in Python; a quotient by zero is 0.
//!
//! ```
//! use tove_tensor::Tensor;
//! let mut x = Tensor::from([-7i64, 7]);
//! assert_eq!(((&x / 2).to_vec::<i64>(), (&x % &Tensor::scalar(2i64)).to_vec::<i64>()), (vec![-4, 3], vec![1, 1]));
//! x += 1;
//! assert_eq!(x.to_vec::<i64>(), [-6, 8]);
//! ```

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, Sub, SubAssign};

use super::{binary, unary};
use crate::error::OrPanic;
use crate::{DType, Error, Result, Tensor};

macro_rules! operator {
    ($($Trait:ident $method:ident $function:ident, owned |$a:ident, $b:ident| $owned:expr;)*) => {$(
        impl $Trait<&Tensor> for &Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: &Tensor) -> Tensor {
                binary::$function(self, other).or_panic()
            }
        }

        impl $Trait<&Tensor> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: &Tensor) -> Tensor {
                let ($a, $b) = (self, other);
                $owned.or_panic()
            }
        }

        impl $Trait<Tensor> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: Tensor) -> Tensor {
                let ($a, $b) = (self, &other);
                $owned.or_panic()
            }
        }

        impl $Trait<Tensor> for &Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: Tensor) -> Tensor {
                binary::$function(self, &other).or_panic()
            }
        }
    )*};
}
operator! {
    Add add add, owned |a, b| binary::binary_owned(binary::Add, a, b);
    Sub sub sub, owned |a, b| binary::binary_owned(binary::Sub, a, b);
    Mul mul mul, owned |a, b| binary::binary_owned(binary::Mul, a, b);
    Div div div, owned |a, b| binary::binary_owned(binary::Div, a, b);
    Rem rem rem, owned |a, b| binary::rem(&a, b);
}

/// A Rust number beside a tensor, which takes the tensor's element type.
trait Number: Copy {
    fn real(self) -> f64;
    /// The same number without a fraction, if it has none and fits.
    fn whole(self) -> Option<i64>;
}

impl Number for f64 {
    fn real(self) -> f64 {
        self
    }

    fn whole(self) -> Option<i64> {
        const END: f64 = 9_223_372_036_854_775_808.0; // 2^63
        (self.fract() == 0.0 && (-END..END).contains(&self)).then_some(self as i64)
    }
}

impl Number for i64 {
    fn real(self) -> f64 {
        self as f64
    }

    fn whole(self) -> Option<i64> {
        Some(self)
    }
}

/// What stands between a tensor `x` and a number `c`.
#[derive(Clone, Copy)]
enum Between {
    Plus,
    Minus,
    /// c - x.
    MinusFrom,
    Times,
    Over,
    /// c / x.
    OverInto,
}

/// A tensor and a number. Floating-point tensors round the number to their type; whole ones take whole numbers only.
fn with_number(x: &Tensor, between: Between, c: impl Number) -> Result<Tensor> {
    if !x.dtype().is_float() {
        return with_whole(x, between, c.whole());
    }
    let c = c.real();
    match between {
        Between::Plus => unary::add_scalar(x, c),
        Between::Minus => unary::add_scalar(x, -c),
        Between::MinusFrom => unary::sub_from(x, c),
        Between::Times => unary::mul_scalar(x, c),
        Between::Over => unary::div_scalar(x, c),
        Between::OverInto => unary::div_into(x, c),
    }
}

/// As [`with_number`] into the tensor itself.
fn assign_number(x: &mut Tensor, between: Between, c: impl Number) -> Result<()> {
    if !x.dtype().is_float() {
        *x = with_whole(x, between, c.whole())?;
        return Ok(());
    }
    let c = c.real();
    match between {
        Between::Plus => unary::unary_assign(unary::AddScalar(c), x),
        Between::Minus => unary::unary_assign(unary::AddScalar(-c), x),
        Between::MinusFrom => unary::unary_assign(unary::SubFrom(c), x),
        Between::Times => unary::unary_assign(unary::MulScalar(c), x),
        Between::Over => unary::unary_assign(unary::DivScalar(c), x),
        Between::OverInto => unary::unary_assign(unary::DivInto(c), x),
    }
}

/// Whole numbers stay exact, as they would not through f64. Sums and products of u8 wrap, so the number may too.
#[cold]
fn with_whole(x: &Tensor, between: Between, c: Option<i64>) -> Result<Tensor> {
    let name = match between {
        Between::Plus => "add",
        Between::Minus | Between::MinusFrom => "sub",
        Between::Times => "mul",
        Between::Over | Between::OverInto => "div",
    };
    let misfit = |expected| Error::DType { op: name, dtype: x.dtype(), expected };
    let c = c.ok_or_else(|| misfit("beside a number with a fraction, f32 or f64 is needed"))?;
    let wraps = !matches!(between, Between::Over | Between::OverInto);
    let c = match x.dtype() {
        DType::U8 if wraps || (0..=255).contains(&c) => Tensor::scalar(c as u8),
        DType::U8 => return Err(misfit("a quotient with this number needs i64")),
        DType::Bool => Tensor::scalar(c != 0),
        _ => Tensor::scalar(c),
    };
    match between {
        Between::Plus => binary::add(x, &c),
        Between::Minus => binary::sub(x, &c),
        Between::MinusFrom => binary::sub(&c, x),
        Between::Times => binary::mul(x, &c),
        Between::Over => binary::div(x, &c),
        Between::OverInto => binary::div(&c, x),
    }
}

macro_rules! scalar_operator {
    ($number:ident: $($Trait:ident $method:ident $right:ident $left:ident;)*) => {$(
        impl $Trait<$number> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(mut self, c: $number) -> Tensor {
                assign_number(&mut self, Between::$right, c).or_panic();
                self
            }
        }
        impl $Trait<$number> for &Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, c: $number) -> Tensor {
                with_number(self, Between::$right, c).or_panic()
            }
        }
        impl $Trait<Tensor> for $number {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, mut x: Tensor) -> Tensor {
                assign_number(&mut x, Between::$left, self).or_panic();
                x
            }
        }
        impl $Trait<&Tensor> for $number {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, x: &Tensor) -> Tensor {
                with_number(x, Between::$left, self).or_panic()
            }
        }
    )*};
    ($($number:ident),*) => {$(
        scalar_operator! { $number:
            Add add Plus Plus;
            Sub sub Minus MinusFrom;
            Mul mul Times Times;
            Div div Over OverInto;
        }
    )*};
}
// One type of each kind only: with two, `(x * 2.0).exp()` leaves the compiler without a type for the number.
scalar_operator!(f64, i64);

macro_rules! assign_operator {
    ($($Trait:ident $method:ident $Operation:ident $between:ident;)*) => {$(
        impl $Trait<&Tensor> for Tensor {
            /// In place when nobody else holds the memory. The shape must stay.
            #[track_caller]
            fn $method(&mut self, other: &Tensor) {
                let shape = self.shape().clone();
                if shape.broadcast(other.shape()).as_ref() != Some(&shape) {
                    let problem = "the second must broadcast to the first, whose shape stays";
                    Err::<(), _>(Error::shapes(stringify!($method), &shape, other.shape(), problem)).or_panic();
                }
                binary::binary_assign(binary::$Operation, self, other).or_panic();
            }
        }
        impl $Trait<Tensor> for Tensor {
            #[track_caller]
            fn $method(&mut self, other: Tensor) {
                $Trait::$method(self, &other);
            }
        }
        impl $Trait<f64> for Tensor {
            #[track_caller]
            fn $method(&mut self, c: f64) {
                assign_number(self, Between::$between, c).or_panic();
            }
        }
        impl $Trait<i64> for Tensor {
            #[track_caller]
            fn $method(&mut self, c: i64) {
                assign_number(self, Between::$between, c).or_panic();
            }
        }
    )*};
}
assign_operator! {
    AddAssign add_assign Add Plus;
    SubAssign sub_assign Sub Minus;
    MulAssign mul_assign Mul Times;
    DivAssign div_assign Div Over;
}

impl Neg for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        unary::unary_owned(unary::Neg, self).or_panic()
    }
}

impl Neg for &Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        unary::neg(self).or_panic()
    }
}
