//! The macro that declares a function of one element.

/// Declares a function of one element: its type, its name, and value and slope as expressions.
macro_rules! unary {
    (
        $(#[$doc:meta])*
        $Type:ident $(($field:ident: $field_type:ty))?, $name:ident, cost $cost:literal, slope of $of:ident,
        |$self_:ident, $x:ident| $value:expr,
        |$sx:ident, $sy:ident| $slope:expr
        $(, integers |$ix:ident| $integer:expr)?
        $(, flat $flat:literal)?
        $(, blocks $blocks:literal)?
        $(, rows by $row:path)?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $Type $((pub(crate) $field_type))?;

        impl $crate::ops::unary::Unary for $Type {
            const NAME: &'static str = stringify!($name);
            const COST: usize = $cost;
            const SLOPE_OF: $crate::ops::unary::SlopeOf = $crate::ops::unary::SlopeOf::$of;
            $(const FLAT: bool = $flat;)?
            $(const BLOCKS: bool = $blocks;)?

            #[inline(always)]
            fn value<T: $crate::kernels::math::Float>($self_, $x: T) -> T {
                $(let $field = T::from_f64($self_.0);)?
                $value
            }

            #[inline(always)]
            #[allow(unused_variables)]
            fn slope<A: $crate::ops::arith::Arith>($self_, $sx: A, $sy: A) -> A {
                $(let $field: $field_type = $self_.0;)?
                $slope
            }

            $(
                #[inline(always)]
                #[allow(unsafe_code)]
                unsafe fn row<T: $crate::kernels::math::Float>(self, x: *const T, out: *mut T, count: usize) {
                    // SAFETY: by the caller's promise.
                    unsafe { $row(x, out, count) }
                }
            )?

            $crate::ops::unary::unary!(@integers $self_ $($field)?; $(|$ix| $integer)?);

            $(fn scalar(&self) -> Option<f64> {
                let $field = self.0;
                Some($field)
            })?

            $(fn attributes(&self) -> String {
                let $field = self.0;
                format!(concat!(stringify!($field), "={}"), $field)
            })?
        }

        $crate::ops::unary::unary!(@function $Type, $name $(, $field: $field_type)?);
    };
    (@integers $self_:ident; ) => {};
    (@integers $self_:ident $field:ident; ) => {};
    (@integers $self_:ident; |$ix:ident| $integer:expr) => {
        const INTEGERS: bool = true;
        #[inline(always)]
        fn integer($self_, $ix: i64) -> i64 {
            $integer
        }
    };
    (@integers $self_:ident $field:ident; |$ix:ident| $integer:expr) => {
        const INTEGERS: bool = true;
        #[inline(always)]
        fn integer($self_, $ix: i64) -> i64 {
            let $field = $self_.0 as i64;
            $integer
        }
    };
    (@function $Type:ident, $name:ident) => {
        pub(crate) fn $name(x: &$crate::Tensor) -> $crate::Result<$crate::Tensor> {
            $crate::ops::unary::apply_unary($Type, x)
        }
    };
    (@function $Type:ident, $name:ident, $field:ident: $field_type:ty) => {
        pub(crate) fn $name(x: &$crate::Tensor, $field: $field_type) -> $crate::Result<$crate::Tensor> {
            $crate::ops::unary::apply_unary($Type($field), x)
        }
    };
}
pub(crate) use unary;
