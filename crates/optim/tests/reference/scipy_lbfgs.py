"""What SciPy's L-BFGS-B needs on the problems of tests/lbfgs.rs.

    python scipy_lbfgs.py

writes ../fixtures/scipy_lbfgs.json: per problem the minimum, the number of iterations and of evaluations, with the same
history and tolerances. Data come from the formulas below, which the test repeats.
"""

import json
import pathlib
import platform

import numpy as np
import scipy
from scipy.optimize import minimize, rosen, rosen_der

FIXTURE = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "scipy_lbfgs.json"


def quadratic(condition, size):
    h = condition ** (np.arange(size) / (size - 1))
    return lambda x: (0.5 * np.sum(h * (x - 1) ** 2), h * (x - 1))


def logistic(rows, columns, strength):
    i, j = np.arange(rows)[:, None], np.arange(columns)[None, :]
    x = np.sin(1.0 + 0.7 * i * (j + 1) + 0.3 * j) * (1.0 + j % 3)
    y = np.where(np.cos(0.9 * np.arange(rows)) + 0.5 * x[:, 0] > 0, 1.0, -1.0)

    def f(w):
        margin = y * (x @ w)
        loss = np.logaddexp(0, -margin).mean() + 0.5 * strength * w @ w
        slope = -y / (1 + np.exp(margin)) / rows
        return loss, x.T @ slope + strength * w

    return f


def rosenbrock(x):
    return rosen(x), rosen_der(x)


PROBLEMS = {
    "rosenbrock_100": (rosenbrock, np.tile([-1.2, 1.0], 50)),
    "quadratic_1e4": (quadratic(1e4, 100), np.zeros(100)),
    "quadratic_1e6": (quadratic(1e6, 100), np.zeros(100)),
    "logistic": (logistic(200, 20, 1e-3), np.zeros(20)),
}

cases = {}
for name, (f, start) in PROBLEMS.items():
    options = {"maxcor": 10, "gtol": 1e-6, "ftol": 0.0, "maxiter": 15000, "maxfun": 15000}
    result = minimize(f, start, jac=True, method="L-BFGS-B", options=options)
    size = float(np.abs(result.jac).max())
    print(name, result.nit, result.nfev, result.fun, size, result.message)
    cases[name] = {
        "value": float(result.fun),
        "x": [float(x) for x in result.x],
        "iterations": int(result.nit),
        "evaluations": int(result.nfev),
        "gradient_size": size,
    }

versions = {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__}
FIXTURE.write_text(json.dumps({"versions": versions, "problems": cases}) + "\n")
