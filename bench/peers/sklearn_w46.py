"""W46 in scikit-learn: the data and what quality means are those of bench/tove/src/w46.rs."""

import os
import warnings

import numpy as np
import sklearn
from data import fill
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.preprocessing import PolynomialFeatures, RobustScaler, StandardScaler
from sklearn_logistic import Saga
from threadpoolctl import threadpool_limits

warnings.filterwarnings("ignore")

TRUE_COLUMNS = 50


def versions():
    return {"scikit-learn": sklearn.__version__, "numpy": np.__version__}


class Case:
    def __init__(self, p):
        self.task, n, d = p["task"], p["rows"], p["columns"]
        self.alpha = p.get("alpha", 1.0)
        self.x = fill(1, (n, d), 1.0, "f64")
        w = fill(2, (d,), 3.0, "f64")
        if self.task == "lasso":
            w[np.arange(d) % (d // TRUE_COLUMNS) != 0] = 0.0
        score = self.x @ w + fill(3, (n,), 10.0 if self.task == "logistic" else 0.5, "f64")
        self.y = (score > 0).astype(np.int64) if self.task == "logistic" else score

    def fit(self):
        x, y = self.x, self.y
        if self.task == "logistic":
            return LogisticRegression().fit(x, y)
        if self.task == "lasso":
            return Lasso(alpha=self.alpha).fit(x, y)
        if self.task == "ridge":
            return Ridge().fit(x, y)
        kinds = {"polynomial": PolynomialFeatures(2), "standard": StandardScaler(), "robust": RobustScaler()}
        return kinds[self.task].fit_transform(x)

    def run(self, count):
        for _ in range(count):
            self.fit()

    def quality(self):
        model = self.fit()
        if isinstance(model, np.ndarray):
            return float(np.sqrt(np.mean(model**2)))
        w, z = model.coef_.ravel(), self.x @ model.coef_.ravel() + model.intercept_
        if self.task == "logistic":
            loss = np.logaddexp(0.0, np.where(self.y == 1, -z, z)).mean()
            return float(loss + w @ w / (2 * len(z)))
        error = np.mean((z - self.y) ** 2)
        return float(0.5 * error + self.alpha * np.abs(w).sum() if self.task == "lasso" else error + w @ w / len(z))


def make(workload, parameters, threads):
    os.environ["OMP_NUM_THREADS"] = str(threads)
    threadpool_limits(threads)
    return Saga(parameters) if parameters["task"] == "saga" else Case(parameters)
