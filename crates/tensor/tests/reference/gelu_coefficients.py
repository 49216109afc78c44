"""Prints the coefficients of `kernels/gelu.rs`: a polynomial in t = 1/(1 + a/3) for e^(a^2/2) * Phi(-a), a >= 0.

Method: least squares in the Chebyshev basis on Chebyshev nodes, weighted by the function (relative errors), turned into
powers of u = 2t - 1. Run with: python gelu_coefficients.py
"""

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import erfcx

DEGREE, LARGEST = 9, 14.0


def main():
    low = 1.0 / (1.0 + LARGEST / 3.0)
    nodes = np.cos(np.pi * (np.arange(4000) + 0.5) / 4000)
    t = low + (1.0 - low) * (nodes + 1.0) / 2.0
    a = 3.0 * (1.0 / t - 1.0)
    # The function is t times something smooth: it falls like 1/a.
    values = 0.5 * erfcx(a / np.sqrt(2.0)) / t
    u = 2.0 * t - 1.0
    fit = np.polynomial.Chebyshev.fit(u, values, DEGREE, domain=[-1, 1], w=1.0 / values)
    powers = chebyshev.cheb2poly(fit.coef)
    single = powers.astype(np.float32)
    worst = np.max(np.abs(np.polynomial.polynomial.polyval(u, single.astype(np.float64)) / values - 1.0))
    print(f"numpy {np.__version__}: largest relative error {worst:.2e}")
    for power in powers:
        print(f"    {power:.12e},")


main()
