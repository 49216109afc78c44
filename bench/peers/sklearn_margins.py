"""scikit-learn: support vector machines (W24, W25); quality as in bench/tove/src/learn_margins.rs."""

import gzip
import os
import warnings
from pathlib import Path

import numpy as np
import sklearn
from sklearn.svm import SVC, LinearSVC

from data import fill

warnings.filterwarnings("ignore")


def versions():
    return {"scikit-learn": sklearn.__version__}


def number_type(p):
    return np.float64 if p["dtype"] == "f64" else np.float32


class Linear:
    def __init__(self, p):
        n, d = p["rows"], p["columns"]
        x = fill(1, (n, d), 1.0, "f64")
        w, noise = fill(2, (d,), 1.0, "f64"), fill(3, (n,), 3.0, "f64")
        self.y = (x @ w + noise > 0.5).astype(np.int64)
        self.x = np.ascontiguousarray(x.astype(number_type(p)))
        self.hinge = p.get("loss") == "hinge"
        self.make = lambda: LinearSVC(loss="hinge", C=0.01, max_iter=10_000) if self.hinge else LinearSVC()

    def run(self, count):
        for _ in range(count):
            self.make().fit(self.x, self.y)

    def quality(self):
        model = self.make().fit(self.x, self.y)
        w, b = model.coef_.ravel().astype(np.float64), float(model.intercept_[0])
        slack = np.maximum(0.0, 1.0 - (2 * self.y - 1) * (self.x.astype(np.float64) @ w + b))
        loss = 0.01 * slack.sum() if self.hinge else (slack**2).sum()
        return float((0.5 * (w @ w + b * b) + loss) / len(self.y))


def images(folder, name, n):
    with gzip.open(folder / f"{name}-images-idx3-ubyte.gz") as file:
        file.read(16)
        x = np.frombuffer(file.read(n * 784), np.uint8).reshape(n, 784)
    with gzip.open(folder / f"{name}-labels-idx1-ubyte.gz") as file:
        file.read(8)
        y = np.frombuffer(file.read(n), np.uint8).astype(np.int64)
    return x, y


def synthetic(n, seed):
    centres = fill(7, (10, 784), 0.3, "f64")
    y = np.arange(n) % 10
    return fill(seed, (n, 784), 1.0, "f64") + centres[y], y


class Rbf:
    def __init__(self, p):
        folder = Path(os.environ.get("TOVE_DATA", Path(__file__).parent / "../../../shared/data")) / "fashion-mnist"
        real = folder.exists()
        take = (lambda name, seed, n: images(folder, name, n)) if real else (lambda name, seed, n: synthetic(n, seed))
        scale = 255.0 if real else 1.0
        x, self.y = take("train", 5, p["rows"])
        others, self.other_y = take("t10k", 6, p["tests"])
        self.x, self.others = x.astype(number_type(p)), others.astype(number_type(p))
        self.x /= scale
        self.others /= scale

    def run(self, count):
        for _ in range(count):
            SVC(C=10.0, cache_size=1000).fit(self.x, self.y)

    def quality(self):
        return float(SVC(C=10.0, cache_size=1000).fit(self.x, self.y).score(self.others, self.other_y))


def make(workload, parameters, threads):
    return (Linear if workload == "W24" else Rbf)(parameters)
