"""Prints the coefficients of `kernels/gelu.rs`: polynomials for e^(a^2/2) * Phi(-a), 0 <= a <= 13.2, and for e^r, |r| <= ln(2)/2.

Method: least squares of relative errors in the Chebyshev basis on Chebyshev nodes, with weights raised where the error is
largest until it is level (Lawson 1961). The first is in u = (2.5 - a)/(2.5 + a), the second in r with its first two
coefficients held at 1. Run with: python gelu_coefficients.py
"""

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import erfcx

KNEE, DEGREE, LARGEST = 2.5, 8, 13.2


def level(basis):
    """Coefficients that bring basis @ c next to 1."""
    weights = np.ones(len(basis))
    for _ in range(100):
        roots = np.sqrt(weights)
        found = np.linalg.lstsq(basis * roots[:, None], roots, rcond=None)[0]
        error = np.abs(basis @ found - 1.0)
        weights *= error / error.max() + 1e-3
        weights /= weights.mean()
    return found


def show(name, powers, worst):
    print(f"{name}: largest relative error {worst:.2e}")
    for power in powers:
        print(f"    {power:.12e},")


def main():
    print(f"numpy {np.__version__}")
    nodes = np.cos(np.pi * (np.arange(4000) + 0.5) / 4000)
    low = (KNEE - LARGEST) / (KNEE + LARGEST)
    u = low + (1.0 - low) * (nodes + 1.0) / 2.0
    a = KNEE * (1.0 - u) / (1.0 + u)
    values = 0.5 * erfcx(a / np.sqrt(2.0))
    powers = chebyshev.cheb2poly(level(chebyshev.chebvander(u, DEGREE) / values[:, None]))
    single = powers.astype(np.float32).astype(np.float64)
    show("tail", powers, np.max(np.abs(np.polynomial.polynomial.polyval(u, single) / values - 1.0)))

    r = nodes * np.log(2.0) / 2.0
    # e^r = 1 + r + r^2 q(r): what q has to be near, relative to e^r.
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
    show("exponential", found, np.max(np.abs(basis @ single - wanted) * r**2 / np.exp(r)))


main()
