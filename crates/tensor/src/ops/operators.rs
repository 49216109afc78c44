//! `+ - * / %` and unary `-` on tensors, references to them, and numbers. An operand passed by value is written in place
//! when nobody else holds it.

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use super::{binary, unary};
use crate::Tensor;
use crate::error::OrPanic;

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

macro_rules! scalar_operator {
    ($($number:ident),*) => {$(
        impl Add<$number> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn add(self, c: $number) -> Tensor {
                unary::unary_owned(unary::AddScalar(c as f64), self).or_panic()
            }
        }
        impl Sub<$number> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn sub(self, c: $number) -> Tensor {
                unary::unary_owned(unary::AddScalar(-(c as f64)), self).or_panic()
            }
        }
        impl Mul<$number> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn mul(self, c: $number) -> Tensor {
                unary::unary_owned(unary::MulScalar(c as f64), self).or_panic()
            }
        }
        impl Div<$number> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn div(self, c: $number) -> Tensor {
                unary::unary_owned(unary::DivScalar(c as f64), self).or_panic()
            }
        }
        impl Add<Tensor> for $number {
            type Output = Tensor;
            #[track_caller]
            fn add(self, x: Tensor) -> Tensor {
                x + self
            }
        }
        impl Sub<Tensor> for $number {
            type Output = Tensor;
            #[track_caller]
            fn sub(self, x: Tensor) -> Tensor {
                unary::unary_owned(unary::SubFrom(self as f64), x).or_panic()
            }
        }
        impl Mul<Tensor> for $number {
            type Output = Tensor;
            #[track_caller]
            fn mul(self, x: Tensor) -> Tensor {
                x * self
            }
        }
        impl Div<Tensor> for $number {
            type Output = Tensor;
            #[track_caller]
            fn div(self, x: Tensor) -> Tensor {
                unary::unary_owned(unary::MulScalar(self as f64), unary::recip(&x).or_panic()).or_panic()
            }
        }
        scalar_operator!(@borrowed $number:
            Add add |x, c| unary::add_scalar(x, c), unary::add_scalar(x, c);
            Sub sub |x, c| unary::add_scalar(x, -c), unary::sub_from(x, c);
            Mul mul |x, c| unary::mul_scalar(x, c), unary::mul_scalar(x, c);
            Div div |x, c| unary::div_scalar(x, c), unary::recip(x).and_then(|y| unary::mul_scalar(&y, c));
        );
    )*};
    (@borrowed $number:ident:
        $($Trait:ident $method:ident |$x:ident, $c:ident| $right:expr, $left:expr;)*
    ) => {$(
        impl $Trait<$number> for &Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, c: $number) -> Tensor {
                let ($x, $c) = (self, c as f64);
                $right.or_panic()
            }
        }
        impl $Trait<&Tensor> for $number {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, x: &Tensor) -> Tensor {
                let ($x, $c) = (x, self as f64);
                $left.or_panic()
            }
        }
    )*};
}
// One type of each kind only: with two, `(x * 2.0).exp()` leaves the compiler without a type for the number.
scalar_operator!(f64, i64);

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
