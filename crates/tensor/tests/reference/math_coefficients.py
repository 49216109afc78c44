"""Fits the polynomials of crates/tensor/src/kernels/math and writes coefficients.rs.

Each function is interpolated at Chebyshev nodes in 60-digit arithmetic, which is within a small factor of the minimax
polynomial, and printed lowest power first. The comment above each table gives the largest relative error of the whole
approximation before rounding, as a power of two. Run from the repository root:
    python3 crates/tensor/tests/reference/math_coefficients.py
"""

import struct

import mpmath as mp

mp.mp.dps = 60
OUT = "crates/tensor/src/kernels/math/coefficients.rs"
lines = [
    "//! Polynomial coefficients, lowest power first, written by `tests/reference/math_coefficients.py`",
    f"//! (mpmath {mp.__version__}); do not edit.",
    "#![allow(clippy::excessive_precision, clippy::approx_constant)]",
]


def rounded(value, kind):
    if kind == "f32":
        return struct.unpack("f", struct.pack("f", float(value)))[0]
    return float(value)


def literal(value, kind):
    value = rounded(value, kind)
    if kind == "f32":
        for digits in range(6, 12):
            text = f"{value:.{digits}e}"
            if rounded(float(text), "f32") == value:
                break
    else:
        text = repr(value)
    return text if ("." in text or "e" in text) else text + ".0"


def fit(name, kind, f, lo, hi, terms, relative=lambda x, error: error, note=""):
    """Interpolates f on [lo, hi] with `terms` coefficients; `relative` turns an error of f into one of the result."""
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    mid, half = (lo + hi) / 2, (hi - lo) / 2
    nodes = [mp.cos(mp.pi * (2 * i + 1) / (2 * terms)) for i in range(terms)]
    # A node at zero would divide by zero in tables of (f(x) - c) / x; the limit is reached well before 1e-18.
    places = [mid + half * u for u in nodes]
    values = [f(x if abs(x) > mp.mpf("1e-18") else mp.mpf("1e-18")) for x in places]
    cheb = [2 * sum(v * mp.cos(mp.pi * k * (2 * i + 1) / (2 * terms)) for i, v in enumerate(values)) / terms for k in range(terms)]
    cheb[0] /= 2
    # Chebyshev basis to powers of u, then to powers of x.
    powers = [[mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]]
    for k in range(2, terms):
        p = [mp.mpf(0)] + [2 * c for c in powers[k - 1]]
        for i, c in enumerate(powers[k - 2]):
            p[i] -= c
        powers.append(p)
    in_u = [mp.mpf(0)] * terms
    for k in range(terms):
        for i, c in enumerate(powers[k]):
            in_u[i] += cheb[k] * c
    in_x = [mp.mpf(0)] * terms
    for i, c in enumerate(in_u):
        for j in range(i + 1):
            in_x[j] += c / half**i * mp.binomial(i, j) * (-mid) ** (i - j)
    worst = mp.mpf(0)
    for i in range(200):
        x = lo + (hi - lo) * (mp.mpf(i) + mp.mpf("0.5")) / 200
        error = mp.polyval(in_x[::-1], x) - f(x)
        worst = max(worst, abs(relative(x, error)))
    lines.append("")
    lines.append(f"/// {note} Error 2^{float(mp.log(worst, 2)):.1f}.")
    lines.append(f"pub(super) const {name}: [{kind}; {terms}] = [")
    lines.extend(f"    {literal(c, kind)}," for c in in_x)
    lines.append("];")
    print(name, f"2^{float(mp.log(worst, 2)):.1f}")


def at(f, z):
    """f(sqrt z), for tables in the square."""
    return f(mp.sqrt(z))


R = "0.3467"
S = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * mp.mpf("1.0001")
exp_q = lambda r: (mp.exp(r) - 1 - r) / r**2
log_g = lambda z: (lambda s: (2 * mp.atanh(s) - 2 * s) / s**3)(mp.sqrt(z))
log_h = lambda z: (lambda s: (2 * mp.atanh(s) - 2 * s - 2 * s**3 / 3) / s**5)(mp.sqrt(z))
quarter = mp.pi / 2
sin_q = lambda z: at(lambda f: (mp.sin(quarter * f) - quarter * f) / f**3, z)
cos_q = lambda z: at(lambda f: (mp.cos(quarter * f) - 1) / f**2, z)

fit("EXP64", "f64", exp_q, "-" + R, R, 11, lambda r, e: e * r * r, "(e^r - 1 - r) / r^2 for |r| <= ln(2)/2.")
fit("EXP32", "f32", exp_q, "-" + R, R, 5, lambda r, e: e * r * r, "(e^r - 1 - r) / r^2 for |r| <= ln(2)/2.")
fit("LOG64", "f64", log_g, 0, S**2, 8, lambda z, e: e * z / 2, "(ln((1+s)/(1-s)) - 2s) / s^3 in z = s^2.")
fit("LOG64_TAIL", "f64", log_h, 0, S**2, 8, lambda z, e: e * z * z / 2, "(ln((1+s)/(1-s)) - 2s - 2s^3/3) / s^5 in z = s^2.")
fit("LOG32", "f32", lambda f: (mp.log(1 + f) - f + f * f / 2) / f**3, mp.sqrt("0.5") - 1 - mp.mpf("1e-6"), mp.sqrt(2) - 1 + mp.mpf("1e-6"), 9,
    lambda f, e: e * f * f, "(ln(1+f) - f + f^2/2) / f^3 for 1+f in [sqrt 1/2, sqrt 2].")
fit("SIN64", "f64", sin_q, 0, "0.2501", 7, lambda z, e: e * z / quarter, "(sin(pi f/2) - pi f/2) / f^3 in z = f^2, |f| <= 1/2.")
fit("COS64", "f64", cos_q, 0, "0.2501", 8, lambda z, e: e * z, "(cos(pi f/2) - 1) / f^2 in z = f^2, |f| <= 1/2.")
fit("SIN32", "f64", lambda z: at(lambda f: mp.sin(quarter * f) / f, z), 0, "0.4", 5, lambda z, e: e, "sin(pi f/2) / f in z = f^2, |f| <= 0.63, for single precision.")
fit("COS32", "f64", lambda z: at(lambda f: mp.cos(quarter * f), z), 0, "0.4", 5, lambda z, e: e, "cos(pi f/2) in z = f^2, |f| <= 0.63, for single precision.")
fit("ATAN64", "f64", lambda z: at(lambda x: (mp.atan(x) - x) / x**3, z), 0, "0.17158", 12, lambda z, e: e * z, "(atan x - x) / x^3 in z = x^2, |x| <= tan(pi/8).")
fit("ASIN64", "f64", lambda z: at(lambda x: (mp.asin(x) - x) / x**3, z), 0, "0.25", 14, lambda z, e: e * z, "(asin x - x) / x^3 in z = x^2, |x| <= 1/2.")
fit("SINH64", "f64", lambda z: at(lambda x: (mp.sinh(x) - x) / x**3, z), 0, 1, 7, lambda z, e: e * z, "(sinh x - x) / x^3 in z = x^2, |x| <= 1.")
fit("TANH32", "f32", lambda z: at(lambda x: (mp.tanh(x) - x) / x**3, z), 0, "0.391", 5, lambda z, e: e * z, "(tanh x - x) / x^3 in z = x^2, |x| <= 0.625.")
fit("ERF64", "f64", lambda z: at(lambda x: mp.erf(x) / x - 1, z), 0, 1, 13, lambda z, e: e, "erf(x) / x - 1 in z = x^2, |x| <= 1.")
fit("ERF32", "f32", lambda z: at(lambda x: mp.erf(x) / x - 1, z), 0, "0.86", 7, lambda z, e: e, "erf(x) / x - 1 in z = x^2, |x| <= 0.927.")
fit("ERFC_LN32", "f32", lambda a: -mp.log(mp.erfc(a)), "0.92", "4.0", 9, lambda a, e: e * mp.erfc(a), "-ln(erfc a) for 0.92 <= a <= 4; the error is that of erf.")


def erfcx_fit(name, shift, top, terms, slope, offset):
    """(slope x + offset) erfcx(x) on [0, top]; with 2x + 1 it is nearly flat, with x + shift it shares t's division."""
    shift, top = mp.mpf(shift), mp.mpf(top)

    def f(t):
        x = shift * (1 + t) / (1 - t)
        return (slope * x + offset) * mp.exp(x * x) * mp.erfc(x)

    note = f"({slope}x+{offset}) e^(x^2) erfc x in t = (x-{int(shift)})/(x+{int(shift)}), 0 <= x <= {float(top)}."
    fit(name, "f64", f, -1, (top - shift) / (top + shift), terms, lambda t, e: e / f(t), note)


erfcx_fit("ERFCX64", 4, 28, 24, 2, 1)
erfcx_fit("ERFCX32", 3, "10.4", 10, 1, 3)
fit("LGAMMA64", "f64", lambda y: mp.loggamma(2 + y) / y, "-0.5", "0.5", 21, lambda y, e: e, "ln Gamma(2+y) / y for |y| <= 1/2.")
root = mp.findroot(mp.digamma, 1.46)
fit("DIGAMMA64", "f64", lambda v: mp.digamma(v + 1.5) / (v + 1.5 - root), "-0.5", "0.5", 23, lambda v, e: e, "digamma(x) / (x - root) in v = x - 3/2, 1 <= x <= 2.")


def pair(name, value, note, bits=53):
    high = mp.mpf(float(value)) if bits == 53 else mp.floor(value * mp.mpf(2) ** bits) / mp.mpf(2) ** bits
    low = float(value - high)
    lines.append("")
    lines.append(f"/// {note}, as the sum of two numbers.")
    lines.append(f"pub(super) const {name}: [f64; 2] = [{float(high)!r}, {low!r}];")


lines.append("")
lines.append("// Constants in double-double.")
pair("HALF_PI", mp.pi / 2, "pi/2")
pair("PI", mp.pi, "pi")
pair("THREE_QUARTER_PI", 3 * mp.pi / 4, "3 pi/4")
pair("QUARTER_PI", mp.pi / 4, "pi/4")
pair("LOG2_E", 1 / mp.log(2), "1/ln 2")
pair("LOG10_E", 1 / mp.log(10), "1/ln 10")
pair("TWO_THIRDS", mp.mpf(2) / 3, "2/3")
pair("DIGAMMA_ROOT", root, "The positive zero of digamma")
pair("LN2", mp.log(2), "ln 2, the first with 41 bits so that its product with an exponent is exact", 41)
pair("LOG10_2", mp.log10(2), "log10 2, the first with 41 bits so that its product with an exponent is exact", 41)
value = 2 / mp.pi
with mp.workdps(420):
    value = mp.floor(2 / mp.pi * mp.mpf(2) ** 1280)
    digits = int(value)
lines.append("")
lines.append("/// 2/pi in binary: bit 63 of word 0 weighs 1/2.")
lines.append("pub(super) const TWO_OVER_PI: [u64; 20] = [")
lines.extend(f"    0x{(digits >> (64 * (19 - i))) & (2**64 - 1):016x}," for i in range(20))
lines.append("];")
open(OUT, "w").write("\n".join(lines) + "\n")
