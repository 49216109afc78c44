"""W20 to W22 in scikit-learn: least squares, ridge and lasso on one tall matrix (see bench/tove/src/learn_linear.rs)."""

import os

import numpy as np
import sklearn
from data import fill
from sklearn import linear_model as lm
from threadpoolctl import threadpool_limits


def versions():
    return {"scikit-learn": sklearn.__version__, "numpy": np.__version__}


class Linear:
    def __init__(self, p):
        n, d = p["rows"], p["columns"]
        x = fill(1, (n, d), 1.0, "f64")
        if p.get("twin"):
            half = d // 2
            share = 1.0 / (1.0 + np.arange(half))
            share[0] = 2e-7
            x[:, half : 2 * half] = x[:, :half] + share * x[:, half : 2 * half]
        self.x = x
        self.y = x @ fill(2, (d,), 3.0, "f64") + fill(3, (n,), 0.5, "f64") + 2.0
        self.task = p["task"]

    def fit(self):
        x, y = self.x, self.y
        if self.task.startswith("least squares"):
            # With scikit-learn's own tol of 1e-6 the twin's smallest singular value would be dropped.
            model = lm.LinearRegression(tol=1e-12).fit(x, y)
        elif self.task == "ridge":
            model = lm.Ridge().fit(x, y)
        elif self.task == "lasso":
            model = lm.Lasso(alpha=0.1).fit(x, y)
        else:
            # As LassoCV and lasso_path do it: centred, with the Gram matrix.
            mean, level = x.mean(0), y.mean()
            _, coefs, _ = lm.lasso_path(x - mean, y - level, alphas=100, eps=1e-3)
            return coefs[:, -1], level - mean @ coefs[:, -1]
        return model.coef_, model.intercept_

    def run(self, count):
        for _ in range(count):
            self.fit()

    def quality(self):
        w, b = self.fit()
        error = np.mean((self.x @ w + b - self.y) ** 2)
        if self.task == "least squares coefficients":
            return float(np.linalg.norm(w))
        return float(0.5 * error + 0.1 * np.abs(w).sum()) if self.task == "lasso" else float(error)


def make(workload, parameters, threads):
    os.environ["OMP_NUM_THREADS"] = str(threads)
    threadpool_limits(threads)
    return Linear(parameters)
