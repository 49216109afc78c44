"""Prints the coefficients of `kernels/gelu.rs`: a rational function for e^(a^2/2) * Phi(-a), 0 <= a <= 13.2, and a polynomial for
e^r, |r| <= ln(2)/2.

Method: least squares of relative errors, with weights raised where the error is largest until it is level (Lawson 1961);
for the rational function N/D the residual N - f D is divided by the last D found (Sanathanan and Koerner 1963), and the
highest coefficient of D is 1. The polynomial has its first two coefficients held at 1. Run with: python gelu_coefficients.py
"""

import numpy as np
from scipy.special import erfcx

KNEE, LARGEST, OVER, UNDER = 2.5, 13.2, 4, 5


def show(name, powers, worst=None):
    print(name if worst is None else f"{name}: largest relative error {worst:.2e}")
    for power in powers:
        print(f"    {power:.12e},")


def rational(a, f):
    """Coefficients of N and of D, lowest first, that bring N/D next to f."""
    powers = a[:, None] ** np.arange(UNDER + 1)
    weights, below, best = np.ones(len(a)), np.ones(len(a)), (np.inf, None, None)
    for _ in range(300):
        scale = np.sqrt(weights) / (f * below)
        system = np.concatenate([powers[:, : OVER + 1], -f[:, None] * powers[:, :UNDER]], axis=1) * scale[:, None]
        lengths = np.linalg.norm(system, axis=0)
        found = np.linalg.lstsq(system / lengths, f * powers[:, UNDER] * scale, rcond=None)[0] / lengths
        over, under = found[: OVER + 1], found[OVER + 1 :]
        below = powers[:, :UNDER] @ under + powers[:, UNDER]
        error = np.abs(powers[:, : OVER + 1] @ over / (f * below) - 1.0)
        if error.max() < best[0]:
            best = (error.max(), over, under)
        weights *= error / error.max() + 1e-3
        weights /= weights.mean()
    return best


def exponential(r):
    """q in e^r = 1 + r + r^2 q(r), level relative to e^r."""
    wanted = (np.exp(r) - 1.0 - r) / r**2
    basis = np.stack([r**k for k in range(4)], axis=1)
    weights = np.ones(len(r))
    for _ in range(100):
        roots = np.sqrt(weights) * r**2 / np.exp(r)
        found = np.linalg.lstsq(basis * roots[:, None], wanted * roots, rcond=None)[0]
        error = np.abs(basis @ found - wanted) * r**2 / np.exp(r)
        weights *= error / error.max() + 1e-3
        weights /= weights.mean()
    single = found.astype(np.float32).astype(np.float64)
    return found, np.max(np.abs(basis @ single - wanted) * r**2 / np.exp(r))


def main():
    print(f"numpy {np.__version__}")
    nodes = np.cos(np.pi * (np.arange(2000) + 0.5) / 2000)
    low = (KNEE - LARGEST) / (KNEE + LARGEST)
    u = low + (1.0 - low) * (nodes + 1.0) / 2.0
    a = KNEE * (1.0 - u) / (1.0 + u)
    worst, over, under = rational(a, 0.5 * erfcx(a / np.sqrt(2.0)))
    show("numerator", over, worst)
    show("denominator, but for its highest, which is 1", under)
    show("exponential", *exponential(nodes * np.log(2.0) / 2.0))


main()
