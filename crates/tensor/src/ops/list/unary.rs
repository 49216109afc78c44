//! Methods of one argument, element by element. Their documentation and example come from the line.

use super::{Sealed, methods};
use crate::Tensor;
use crate::ops::unary;

/// Declares functions of one argument: names, what they are, and an example `x => y`.
macro_rules! functions {
    ($($name:ident $try_name:ident $doc:literal $x:literal => $y:literal;)*) => {
        methods! {
            /// The `try_` twins of the functions of one argument.
            trait TryUnary: Sealed;
            $(
                #[doc = concat!($doc, ", element by element.\n\n```\n# use tove_tensor::Tensor;\nlet y = Tensor::scalar(",
                    stringify!($x), "f64).", stringify!($name), "().item::<f64>();\nassert!((y - ", stringify!($y),
                    "f64).abs() < 1e-12);\n```")]
                $name $try_name() -> Tensor = |x| unary::$name(x);
            )*
        }
    };
}

functions! {
    exp try_exp "`e^x`" 0.5 => 1.6487212707001282;
    exp2 try_exp2 "`2^x`" 0.5 => 1.4142135623730951;
    expm1 try_expm1 "`e^x - 1`, exact near 0" 1e-10 => 1.00000000005e-10;
    ln try_ln "Natural logarithm" 2.0 => 0.6931471805599453;
    log2 try_log2 "Logarithm to base 2" 8.0 => 3.0;
    log10 try_log10 "Logarithm to base 10" 100.0 => 2.0;
    log1p try_log1p "`ln(1 + x)`, exact near 0" 1e-10 => 9.999999999500001e-11;
    sqrt try_sqrt "Square root; its slope is +inf at 0" 4.0 => 2.0;
    rsqrt try_rsqrt "Reciprocal square root" 4.0 => 0.5;
    recip try_recip "Reciprocal" 4.0 => 0.25;
    square try_square "Square" 3.0 => 9.0;
    abs try_abs "Absolute value; its slope is 0 at 0" -2.0 => 2.0;
    sign try_sign "-1, 0 or 1" -2.0 => -1.0;
    floor try_floor "Largest whole number not above" -1.5 => -2.0;
    ceil try_ceil "Smallest whole number not below" -1.5 => -1.0;
    trunc try_trunc "Whole part" -1.5 => -1.0;
    round try_round "Nearest whole number, halves to even" 2.5 => 2.0;
    sin try_sin "Sine" 1.0 => 0.8414709848078965;
    cos try_cos "Cosine" 1.0 => 0.5403023058681398;
    tan try_tan "Tangent" 1.0 => 1.5574077246549023;
    asin try_asin "Arc sine" 0.5 => 0.5235987755982989;
    acos try_acos "Arc cosine" 0.5 => 1.0471975511965979;
    atan try_atan "Arc tangent" 0.5 => 0.4636476090008061;
    sinh try_sinh "Hyperbolic sine" 1.0 => 1.1752011936438014;
    cosh try_cosh "Hyperbolic cosine" 1.0 => 1.5430806348152437;
    tanh try_tanh "Hyperbolic tangent" 0.5 => 0.46211715726000974;
    asinh try_asinh "Inverse hyperbolic sine" 0.5 => 0.48121182505960347;
    acosh try_acosh "Inverse hyperbolic cosine" 2.0 => 1.3169578969248166;
    atanh try_atanh "Inverse hyperbolic tangent" 0.5 => 0.5493061443340548;
    sigmoid try_sigmoid "Logistic function `1 / (1 + e^-x)`" 0.0 => 0.5;
    log_sigmoid try_log_sigmoid "`ln(1 / (1 + e^-x))`, stable" 0.0 => -0.6931471805599453;
    softplus try_softplus "`ln(1 + e^x)`, stable" 0.0 => 0.6931471805599453;
    erf try_erf "Error function" 0.5 => 0.5204998778130465;
    erfc try_erfc "Complementary error function" 0.5 => 0.4795001221869535;
    normal_cdf try_normal_cdf "Standard normal distribution function" 1.0 => 0.8413447460685429;
    gelu try_gelu "Gaussian error linear unit `x Φ(x)`" 1.0 => 0.8413447460685429;
    gelu_tanh try_gelu_tanh "Gaussian error linear unit in its tanh approximation" 1.0 => 0.8411919906082768;
    silu try_silu "Sigmoid linear unit `x σ(x)`" 1.0 => 0.7310585786300049;
    relu try_relu "`max(x, 0)`, with slope 0 at 0" -1.0 => 0.0;
    lgamma try_lgamma "Logarithm of the absolute value of the gamma function" 5.0 => 3.178053830347945;
    digamma try_digamma "Derivative of `lgamma`" 1.0 => -0.5772156649015329;
    trigamma try_trigamma "Second derivative of `lgamma`" 1.0 => 1.6449340668482264;
}
