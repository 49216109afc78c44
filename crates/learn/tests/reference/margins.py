"""Writes ../fixtures/margins.json: kernel ridge and support vector machines by scikit-learn.

Run with the peers' Python: /opt/peers/bin/python margins.py
"""

import json
import warnings
from pathlib import Path

import numpy as np
import scipy
import sklearn
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

warnings.filterwarnings("ignore")
out = {"versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__, "scipy": scipy.__version__}}


def standardised(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def weights(n):
    return np.array([[1.0, 0.5, 2.0, 1.5, 3.0][i % 5] for i in range(n)])


iris = standardised(load_iris().data), load_iris().target
wine = standardised(load_wine().data), load_wine().target
cancer = standardised(load_breast_cancer().data), load_breast_cancer().target
diabetes = standardised(load_diabetes().data), load_diabetes().target

# Kernel matrices of the first rows of wine.
x = wine[0][:12]
out["kernels"] = {
    "linear": pairwise_kernels(x, metric="linear").tolist(),
    "poly": pairwise_kernels(x, metric="poly", gamma=0.3, coef0=1.0, degree=3).tolist(),
    "rbf": pairwise_kernels(x, metric="rbf", gamma=0.1).tolist(),
    "sigmoid": pairwise_kernels(x, metric="sigmoid", gamma=0.1, coef0=-0.2).tolist(),
}

# Kernel ridge: predictions and coefficients at the first rows.
x, y = diabetes
both = np.stack([y, x[:, 2] ** 2], axis=1)
ridge = []
for kernel in ["linear", "poly", "rbf", "sigmoid"]:
    for weighted in [False, True]:
        for several in [False, True]:
            coef0 = 1.0 if kernel != "sigmoid" else 0.0
            gamma = 0.05 if kernel != "sigmoid" else 0.01
            model = KernelRidge(alpha=2.0, kernel=kernel, gamma=gamma, degree=2, coef0=coef0)
            model.fit(x, both if several else y, sample_weight=weights(len(y)) if weighted else None)
            ridge.append(
                {
                    "kernel": kernel, "weighted": weighted, "several": several, "gamma": gamma, "coef0": coef0,
                    "predict": model.predict(x[:40]).tolist(), "dual": model.dual_coef_[:40].tolist(),
                }
            )  # fmt: skip
out["ridge"] = ridge

# Support vector classification at a tight tolerance and at the default one.
machines = []
for name, (x, y) in {"iris": iris, "wine": wine, "breast_cancer": cancer}.items():
    for kernel, parameters in [
        ("linear", {"C": 0.5}),
        ("poly", {"degree": 3, "coef0": 1.0, "gamma": 0.1}),
        ("rbf", {}),
        ("rbf", {"C": 10.0, "gamma": "auto", "class_weight": "balanced"}),
        ("rbf", {"C": 2.0, "gamma": 0.1, "sample_weight": True}),
        ("sigmoid", {"gamma": 0.02}),
    ]:
        for tol in [1e-3, 1e-9]:
            settings = dict(parameters)
            sample_weight = weights(len(y)) if settings.pop("sample_weight", False) else None
            model = SVC(kernel=kernel, tol=tol, decision_function_shape="ovo", **settings)
            model.fit(x, y, sample_weight=sample_weight)
            rows = slice(0, None, 7)
            entry = {
                "set": name, "kernel": kernel, "tol": tol, "parameters": parameters,
                "decision": model.decision_function(x[rows]).tolist(), "support": model.support_.tolist(),
                "n_support": model.n_support_.tolist(), "intercept": model.intercept_.tolist(),
                "predict": model.predict(x).tolist(), "dual_coef": model.dual_coef_.tolist() if tol < 1e-6 else [],
            }  # fmt: skip
            model.decision_function_shape = "ovr"
            entry["ovr"] = model.decision_function(x[rows]).tolist()
            machines.append(entry)
out["svc"] = machines

# Hard cases: duplicates, separable, unbalanced, one sample per class.
random = np.random.RandomState(3)
hard = {}
base = random.randn(20, 3)
labels = (base[:, 0] + 0.5 * random.randn(20) > 0).astype(int)
hard["duplicates"] = (np.concatenate([base, base, base[:5]]), np.concatenate([labels, labels, 1 - labels[:5]]))
hard["separable"] = (np.concatenate([random.randn(15, 2) + 4, random.randn(15, 2) - 4]), np.repeat([1, 0], 15))
x = random.randn(120, 4)
hard["unbalanced"] = (x, (x[:, 0] + x[:, 1] > 2.4).astype(int))
hard["one_each"] = (np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]]), np.array([4, 7, 9]))
cases = []
for name, (x, y) in hard.items():
    for kernel, C in [("rbf", 1.0), ("linear", 1.0), ("rbf", 1000.0)]:
        model = SVC(kernel=kernel, C=C, tol=1e-9, gamma=0.5, decision_function_shape="ovo").fit(x, y)
        cases.append(
            {
                "name": name, "kernel": kernel, "C": C, "x": x.tolist(), "y": y.tolist(),
                "decision": model.decision_function(x).tolist(), "predict": model.predict(x).tolist(),
            }
        )  # fmt: skip
out["hard"] = cases

# Regression.
x, y = diabetes
y = (y - y.mean()) / y.std()
regressions = []
for kernel, parameters in [("rbf", {"gamma": 0.1}), ("linear", {"C": 0.1, "epsilon": 0.3}), ("rbf", {"C": 5.0, "gamma": 0.02})]:
    for weighted in [False, True]:
        model = SVR(kernel=kernel, tol=1e-9, **parameters).fit(x, y, sample_weight=weights(len(y)) if weighted else None)
        regressions.append(
            {
                "kernel": kernel, "parameters": parameters, "weighted": weighted, "support": model.support_.tolist(),
                "predict": model.predict(x[:60]).tolist(), "intercept": model.intercept_.tolist(),
            }
        )  # fmt: skip
out["svr"] = regressions

# Linear machines.
linear = []
for name, (x, y) in {"iris": iris, "wine": wine, "breast_cancer": cancer}.items():
    for loss in ["hinge", "squared_hinge"]:
        for parameters in [{}, {"C": 0.1, "intercept_scaling": 10.0}, {"C": 0.5, "fit_intercept": False}]:
            for extra in ["plain", "weights", "balanced"]:
                settings = dict(parameters, class_weight="balanced" if extra == "balanced" else None)
                model = LinearSVC(loss=loss, tol=1e-10, max_iter=10_000_000, dual=True, random_state=0, **settings)
                model.fit(x, y, sample_weight=weights(len(y)) if extra == "weights" else None)
                linear.append(
                    {
                        "set": name, "loss": loss, "parameters": parameters, "extra": extra,
                        "coef": model.coef_.tolist(), "intercept": np.atleast_1d(model.intercept_).tolist(),
                    }
                )  # fmt: skip
out["linear_svc"] = linear

x, y = diabetes
y = (y - y.mean()) / y.std()
linear = []
for loss in ["epsilon_insensitive", "squared_epsilon_insensitive"]:
    for parameters in [{}, {"C": 0.1, "epsilon": 0.2}, {"C": 0.5, "fit_intercept": False}]:
        for weighted in [False, True]:
            model = LinearSVR(loss=loss, tol=1e-10, max_iter=10_000_000, dual=True, random_state=0, **parameters)
            model.fit(x, y, sample_weight=weights(len(y)) if weighted else None)
            linear.append(
                {
                    "loss": loss, "parameters": parameters, "weighted": weighted,
                    "coef": model.coef_.tolist(), "intercept": np.atleast_1d(model.intercept_).tolist(),
                }
            )  # fmt: skip
out["linear_svr"] = linear

# The soft margin without intercept in the textbook's scale, C = 1 / (lambda N). SVC always has an intercept: with every sample
# mirrored at the origin its optimum is 0.
x, y = cancer[0], 2 * cancer[1] - 1
mirrored, both = np.concatenate([x, -x]), np.concatenate([y, -y])
textbook = []
for strength in [0.1, 0.01]:
    C = 1.0 / (strength * len(y))
    linear = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-10, max_iter=10_000_000, dual=True).fit(x, y)
    kernel = SVC(kernel="linear", C=C / 2, tol=1e-9).fit(mirrored, both)
    textbook.append({"lambda": strength, "linear_svc": linear.coef_[0].tolist(), "svc": kernel.coef_[0].tolist()})
out["textbook"] = textbook

path = Path(__file__).parent.parent / "fixtures" / "margins.json"
path.write_text(json.dumps(out) + "\n")
print(path, path.stat().st_size)
