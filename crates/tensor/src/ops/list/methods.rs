//! The macro behind every list of methods.

/// Declares a list: the trait of its `try_` twins, then one entry per method with documentation, both names, arguments,
/// result, and the function behind it.
///
/// Each entry becomes a method of [`Tensor`](crate::Tensor), which panics at the caller's line, and its twin in the trait,
/// which returns the error. `NAMES` lists the methods for the registry of samples.
macro_rules! methods {
    (
        $(#[$trait_doc:meta])*
        trait $trait_name:ident: $($bound:ident)&*;
        $(
            $(#[$doc:meta])*
            $name:ident $try_name:ident ($($argument:ident: $type:ty),*) -> $result:ty = |$x:ident| $body:expr;
        )*
    ) => {
        impl crate::Tensor {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(&self $(, $argument: $type)*) -> $result {
                let $x = self;
                crate::error::OrPanic::or_panic($body)
            }
        )*}

        /// Names of the methods declared here, for the registry of samples.
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];

        $(#[$trait_doc])*
        pub trait $trait_name: $($bound +)* {$(
            #[doc = concat!("As [`Tensor::", stringify!($name), "`], with the error returned.")]
            fn $try_name(&self $(, $argument: $type)*) -> crate::Result<$result>;
        )*}

        impl $trait_name for crate::Tensor {$(
            fn $try_name(&self $(, $argument: $type)*) -> crate::Result<$result> {
                let $x = self;
                $body
            }
        )*}
    };
}

pub(super) use methods;
