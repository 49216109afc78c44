"""scikit-learn: W23 (softmax regression by lbfgs, 100 iterations), saga over sparse rows, W32 (prediction for one row)."""

import gzip
import os
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse
import sklearn
from sklearn.linear_model import LogisticRegression

from data import fill, labels

warnings.filterwarnings("ignore")  # that it stops after 100 iterations is the task


def versions():
    return {"scikit-learn": sklearn.__version__}


def images(rows, dtype):
    folder = Path(os.environ.get("TOVE_DATA", "../shared/data")) / "fashion-mnist"
    if not folder.exists():
        return np.abs(fill(1, (rows, 784))).astype(dtype), labels(2, rows, 10)

    def read(name, offset):
        with gzip.open(folder / name) as file:
            return np.frombuffer(file.read(), np.uint8, offset=offset)

    x = read("train-images-idx3-ubyte.gz", 16).reshape(-1, 784)[:rows].astype(np.float32) / np.float32(255)
    return np.ascontiguousarray(x.astype(dtype)), read("train-labels-idx1-ubyte.gz", 8)[:rows].astype(np.int64)


class Fitting:
    def __init__(self, parameters):
        self.x, self.y = images(parameters["rows"], np.float32 if parameters["dtype"] == "f32" else np.float64)

    def fit(self):
        return LogisticRegression(max_iter=100).fit(self.x, self.y)

    def run(self, count):
        for _ in range(count):
            self.fit()

    def quality(self):
        """Mean loss with penalty, in blocks so that it does not add to the peak."""
        model, n, loss = self.fit(), len(self.y), 0.0
        for start in range(0, n, 1000):
            z = self.x[start : start + 1000].astype(np.float64) @ model.coef_.T.astype(np.float64) + model.intercept_
            most = z.max(1)
            own = z[np.arange(len(z)), self.y[start : start + 1000]]
            loss += float((np.log(np.exp(z - most[:, None]).sum(1)) + most - own).sum())
        return loss / n + float((model.coef_.astype(np.float64) ** 2).sum()) / (2 * n)


class Saga:
    """Passes of saga over sparse rows; the data as in bench/tove/src/learn_logistic.rs."""

    def __init__(self, p):
        rows, columns, each = p["rows"], p["columns"], p["each"]
        stratum = np.arange(each + 1, dtype=np.int64)
        starts = stratum + (columns - each) * stratum**3 // each**3
        picks, sizes = np.abs(fill(1, (rows, each), dtype="f64")), np.abs(fill(2, (rows, each), dtype="f64"))
        indices = starts[:-1] + (picks * np.diff(starts)).astype(np.int64)
        rule, noise = fill(3, (columns,), dtype="f64"), fill(4, (rows,), dtype="f64")
        self.y = ((sizes * rule[indices]).sum(1) + noise > 0).astype(np.int64)
        pointers = np.arange(0, rows * each + 1, each)
        self.x = scipy.sparse.csr_matrix((sizes.ravel(), indices.ravel(), pointers), shape=(rows, columns))
        self.l1, self.passes = p["l1_ratio"], p["passes"]

    def fit(self):
        return LogisticRegression(solver="saga", l1_ratio=self.l1, tol=0.0, max_iter=self.passes, random_state=0).fit(self.x, self.y)

    def run(self, count):
        for _ in range(count):
            self.fit()

    def quality(self):
        model = self.fit()
        w, z = model.coef_.ravel(), self.x @ model.coef_.ravel() + model.intercept_[0]
        loss = np.logaddexp(0.0, np.where(self.y == 1, -z, z)).sum()
        return float((loss + self.l1 * np.abs(w).sum() + (1 - self.l1) / 2 * (w @ w)) / len(self.y))


class Prediction:
    def __init__(self, parameters):
        rows, columns = parameters["rows"], parameters["columns"]
        x = fill(1, (rows, columns), dtype="f64").astype(np.float32 if parameters["dtype"] == "f32" else np.float64)
        y = labels(2, rows, parameters["classes"])
        self.model = LogisticRegression(tol=1e-6, max_iter=1000).fit(x, y)
        self.row = x[:1].copy()
        self.ask = self.model.predict_proba if parameters["task"] == "proba" else self.model.predict

    def run(self, count):
        ask, row = self.ask, self.row
        for _ in range(count):
            ask(row)

    def quality(self):
        return float(self.model.predict_proba(self.row).max())


def make(workload, parameters, threads):
    return {"W23": Fitting, "saga": Saga, "W32": Prediction}[workload](parameters)
