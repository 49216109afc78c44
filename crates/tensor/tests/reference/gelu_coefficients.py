"""Prints the coefficients of `kernels/gelu.rs`: V in 1/R(a) = 2 + a (C + V(a)), where R(a) = e^(a^2/2) * Phi(-a) and
0 <= a <= 14.6, and a polynomial for e^(-s/2) - 1, |s| <= ln 2.

Method: least squares of relative errors, with weights raised where the error is largest until it is level (Lawson 1961);
for the rational function N/D the residual N - f D is divided by the last D found (Sanathanan and Koerner 1963), and the
highest coefficient of D is 1. The kernel multiplies n by ln 2 rounded to single precision; as n is next to -a^2 / (2 ln 2),
what that loses is a smooth function of a, which is fitted with the rest. Run with: python gelu_coefficients.py
"""

import numpy as np
from scipy.special import erfcx

KNEE, LARGEST = 2.5, 14.6
# By this much the kernel's numerators and denominators are scaled, so that tails below the normal numbers are rounded once.
SCALE = 2.0**64


def single(value):
    return float(np.float32(value))


def show(name, powers, worst):
    print(f"{name}: largest relative error 2^{np.log2(worst):.1f}")
    for power in powers:
        print(f"    {single(power):.9e},")


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


def main():
    print(f"numpy {np.__version__}")
    nodes = np.cos(np.pi * (np.arange(4000) + 0.5) / 4000)
    low = (KNEE - LARGEST) / (KNEE + LARGEST)
    u = low + (1.0 - low) * (nodes + 1.0) / 2.0
    a = KNEE * (1.0 - u) / (1.0 + u)
    lost = np.log(2.0) - single(np.log(2.0))
    inverse = 2.0 / erfcx(a / np.sqrt(2.0)) * np.exp(-a * a / (2.0 * np.log(2.0)) * lost)
    wanted = (inverse - 2.0) / a
    constant = single(rational(a, wanted, 4, 4, a / inverse)[1][4])
    worst, over, under = rational(a, wanted - constant, 3, 4, a / inverse)
    print(f"C {constant:.9e}, scaled {single(constant * SCALE):.9e}")
    show("N, scaled", over * SCALE, worst)
    show("D, but for its highest, which is 1", under, worst)
    worst, powers = exponential(nodes * np.log(2.0) * 1.001)
    show("exponential, after -1/2", powers, worst)


main()
