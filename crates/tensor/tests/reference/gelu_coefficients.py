"""Writes crates/tensor/src/kernels/gelu/coefficients.rs. Run from the repository root:
    python3 crates/tensor/tests/reference/gelu_coefficients.py && cargo fmt

Value: Phi(-a) as a polynomial of degree 6 in t = a K - j, |t| <= 1/2, for each piece j = 0 ... 31. Coefficients are found by
least squares of the relative error over Chebyshev nodes, lowest first: each is rounded to single precision before the
next ones are fitted, so that these make up for its rounding. Nothing can make up for the rounding of the first, which is
Phi(-j/K) itself, so K is the number of a fine grid for which the worst of these roundings is smallest.

Beyond the pieces: m in 2 a R(a) = e^(-m/2) as a polynomial of degree 5 in 1/a^2, found in the same way with the absolute
error, where R(a) = e^(a^2/2) * Phi(-a).

Slope: V in 1/R(a) = 2 + a (C + V(a)), 0 <= a <= 14.6, and a polynomial for
e^(-s/2) - 1, |s| <= ln 2. Least squares of relative errors, with weights raised where the error is largest until it is
level (Lawson 1961); for the rational function N/D the residual N - f D is divided by the last D found (Sanathanan and
Koerner 1963), and the highest coefficient of D is 1. The kernel multiplies n by ln 2 rounded to single precision; as n is
next to -a^2 / (2 ln 2), what that loses is a smooth function of a, which is fitted with the rest.
"""

import numpy as np
import scipy
from scipy.special import erfcx, ndtr

OUT = "crates/tensor/src/kernels/gelu/coefficients.rs"
PIECES, DEGREE = 32, 6
KNEE, LARGEST = 2.5, 14.6
# By this much the slope's numerators and denominators are scaled, so that tails below the normal numbers are rounded once.
SCALE = 2.0**64


def single(value):
    return float(np.float32(value))


def literal(value):
    text = f"{single(value):.9e}"
    return text if single(float(text)) == single(value) else repr(single(value))


def pieces_per_unit():
    """The K whose worst rounding of a first coefficient is smallest; 31 pieces and a half must reach 5.4."""
    grid = np.arange(int(5.68 * 2**17), int(5.84 * 2**17)) / 2**17
    first = ndtr(-np.arange(1, PIECES)[None, :] / grid[:, None])
    worst = (np.abs(first.astype(np.float32).astype(float) - first) / first).max(axis=1)
    return float(grid[np.argmin(worst)])


def tail(per_unit):
    """Coefficients of every piece, and the largest relative error."""
    nodes = np.cos(np.pi * (np.arange(400) + 0.5) / 400) * 0.50025
    found, worst = [], 0.0
    for piece in range(PIECES):
        t = nodes if piece > 0 else (nodes + 0.5) / 2.0  # there are no numbers below zero
        wanted = ndtr(-(piece + t) / per_unit)
        rest, row = wanted.copy(), []
        for power in range(DEGREE + 1):
            basis = t[:, None] ** np.arange(power, DEGREE + 1)
            fit = np.linalg.lstsq(basis / wanted[:, None], rest / wanted, rcond=None)[0]
            row.append(0.5 if piece == 0 and power == 0 else single(fit[0]))
            rest = rest - row[-1] * t**power
        found.append(row)
        worst = max(worst, np.abs(rest / wanted).max())
    return np.array(found).T, worst


def beyond(start):
    """The polynomial m(1/a^2) from `start` on, and its largest error."""
    nodes = np.cos(np.pi * (np.arange(400) + 0.5) / 400)
    low, high = LARGEST**-2, start**-2
    w = low + (high - low) * (nodes * 1.0005 + 1.0) / 2.0
    a = w**-0.5
    rest = -2.0 * (np.log(erfcx(a / np.sqrt(2.0))) + np.log(a))
    row = []
    for power in range(6):
        fit = np.linalg.lstsq(w[:, None] ** np.arange(power, 6), rest, rcond=None)[0]
        row.append(single(fit[0]))
        rest = rest - row[-1] * w**power
    return row, np.abs(rest).max()


def rational(a, f, over, under, size):
    """Coefficients of N and of D, lowest first, that bring N/D next to f; `size` weighs errors."""
    powers = a[:, None] ** np.arange(under + 1)
    weights, below, best = np.ones(len(a)), np.ones(len(a)), (np.inf, None, None)
    for _ in range(1500):
        scale = np.sqrt(weights) * size / below
        system = np.concatenate([powers[:, : over + 1], -f[:, None] * powers[:, :under]], axis=1) * scale[:, None]
        lengths = np.linalg.norm(system, axis=0)
        found = np.linalg.lstsq(system / lengths, f * powers[:, under] * scale, rcond=None)[0] / lengths
        top, bottom = found[: over + 1], found[over + 1 :]
        below = powers[:, :under] @ bottom + powers[:, under]
        error = np.abs(powers[:, : over + 1] @ top / below - f) * size
        if error.max() < best[0]:
            best = (error.max(), top, bottom)
        weights *= error / error.max() + 1e-3
        weights /= weights.mean()
    return best


def exponential(s):
    """e^(-s/2) - 1 = s (-1/2 + s q(s)), level relative to e^(-s/2)."""
    wanted = np.expm1(-s / 2.0) / s + 0.5
    basis = np.stack([s**k for k in range(1, 6)], axis=1)
    weights, size = np.ones(len(s)), np.abs(s) / np.exp(-s / 2.0)
    best = (np.inf, None)
    for _ in range(300):
        roots = np.sqrt(weights) * size
        found = np.linalg.lstsq(basis * roots[:, None], wanted * roots, rcond=None)[0]
        error = np.abs(basis @ found - wanted) * size
        if error.max() < best[0]:
            best = (error.max(), found)
        weights *= error / error.max() + 1e-3
        weights /= weights.mean()
    return best


def table(name, rows, note):
    lines = [f"\n/// {note}", f"pub(super) const {name}: [[f32; {len(rows[0])}]; {len(rows)}] = ["]
    for row in rows:
        lines.append("    [")
        lines += ["        " + ", ".join(literal(v) for v in row[i : i + 6]) + "," for i in range(0, len(row), 6)]
        lines.append("    ],")
    return lines + ["];"]


def numbers(name, values, note):
    listed = ", ".join(literal(v) for v in values)
    return [f"\n/// {note}", f"pub(super) const {name}: [f32; {len(values)}] = [{listed}];"]


def main():
    lines = [
        "//! Coefficients, lowest power first, written by `tests/reference/gelu_coefficients.py`",
        f"//! (numpy {np.__version__}, scipy {scipy.__version__}); do not edit.",
        "#![allow(clippy::excessive_precision)]",
    ]
    per_unit = pieces_per_unit()
    rows, worst = tail(per_unit)
    lines += ["", "/// Pieces in a unit length.", f"pub(super) const PER_UNIT: f32 = {per_unit!r};"]
    note = f"Φ(−a) by powers of the place in a piece; relative error 2^{np.log2(worst):.1f}, rounding included."
    lines += table("TAIL", rows, note)
    powers, worst = beyond((PIECES - 0.6) / per_unit)
    note = f"m by powers of 1/a²; error 2^{np.log2(worst):.1f}, rounding included."
    lines += numbers("BEYOND", powers, note)

    nodes = np.cos(np.pi * (np.arange(4000) + 0.5) / 4000)
    low = (KNEE - LARGEST) / (KNEE + LARGEST)
    u = low + (1.0 - low) * (nodes + 1.0) / 2.0
    a = KNEE * (1.0 - u) / (1.0 + u)
    lost = np.log(2.0) - single(np.log(2.0))
    inverse = 2.0 / erfcx(a / np.sqrt(2.0)) * np.exp(-a * a / (2.0 * np.log(2.0)) * lost)
    wanted = (inverse - 2.0) / a
    constant = single(rational(a, wanted, 4, 4, a / inverse)[1][4])
    worst, over, under = rational(a, wanted - constant, 3, 4, a / inverse)
    size = f"relative error of Φ 2^{np.log2(worst):.1f}"
    lines += ["", "/// C · 2^64.", f"pub(super) const CONSTANT: f32 = {literal(constant * SCALE)};"]
    lines += numbers("NUMERATOR", over * SCALE, f"N · 2^64; {size}.")
    lines += numbers("DENOMINATOR", under, "D without its last coefficient, which is 1.")
    worst, powers = exponential(nodes * np.log(2.0) * 1.001)
    note = f"(e^(−s/2) − 1) / s for |s| ≤ ln 2; relative error 2^{np.log2(worst):.1f}."
    lines += numbers("EXPONENTIAL", [-0.5, *powers], note)
    with open(OUT, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


main()
