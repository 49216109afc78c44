"""Writes ../fixtures/further.json: inference of least squares (statsmodels), non-negative least squares (scipy), weights of
classes, machines with nu, precomputed kernels and a sigmoid kernel with one optimum (scikit-learn).

Run with the peers' Python: /opt/peers/bin/python further.py
"""

import json
import warnings
from pathlib import Path

import numpy as np
import scipy
import sklearn
import statsmodels
import statsmodels.api as sm
from scipy.optimize import nnls
from scipy.stats import t as student
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron, SGDClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR

warnings.filterwarnings("ignore")
out = {
    "versions": {
        "scikit-learn": sklearn.__version__, "numpy": np.__version__, "scipy": scipy.__version__,
        "statsmodels": statsmodels.__version__,
    }
}  # fmt: skip


def standardised(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def weights(n):
    return np.array([[1.0, 0.5, 2.0, 1.5, 3.0][i % 5] for i in range(n)])


iris = standardised(load_iris().data), load_iris().target
wine = standardised(load_wine().data), load_wine().target
cancer = standardised(load_breast_cancer().data), load_breast_cancer().target
sets = {"iris": iris, "wine": wine, "breast_cancer": cancer}
diabetes = load_diabetes()
every = slice(0, None, 7)

# Student's distribution, far into the tails.
out["student"] = [
    {"t": t, "freedom": freedom, "tail": float(2 * student.sf(t, freedom)), "critical": float(student.isf(0.005, freedom))}
    for t in [0.0, 0.1, 1.0, 2.5, 8.0, 40.0]
    for freedom in [1, 2, 5, 30, 431, 100000]
]

# Ordinary least squares with its tests and intervals.
ols = []
for columns, constant in [(10, True), (10, False), (3, True)]:
    x = diabetes.data[:, :columns]
    fit = sm.OLS(diabetes.target, sm.add_constant(x) if constant else x).fit()
    ols.append(
        {
            "columns": columns, "constant": constant, "estimates": fit.params.tolist(), "errors": fit.bse.tolist(),
            "t": fit.tvalues.tolist(), "p": fit.pvalues.tolist(), "interval95": fit.conf_int(0.05).tolist(),
            "interval99": fit.conf_int(0.01).tolist(), "scale": float(fit.scale),
        }
    )  # fmt: skip
out["ols"] = ols

# Coefficients that are not negative.
random = np.random.RandomState(5)
cases = [("diabetes", standardised(diabetes.data), diabetes.target)]
for n, d in [(30, 8), (20, 20), (60, 40)]:
    x = random.randn(n, d)
    cases.append((f"random {n} {d}", x, x @ random.randn(d) + random.randn(n)))
x = random.randn(25, 3)
cases.append(("dependent", np.concatenate([x, x[:, :1] + x[:, 1:2]], axis=1), random.randn(25)))
out["positive"] = []
for name, x, y in cases:
    entry = {"name": name, "x": x.tolist() if name != "diabetes" else [], "y": y.tolist()}
    entry["plain"] = nnls(x, y)[0].tolist()
    entry["residual"] = float(nnls(x, y)[1])
    model = LinearRegression(positive=True).fit(x, y)
    entry["centred"], entry["intercept"] = model.coef_.tolist(), float(model.intercept_)
    entry["weighted"] = LinearRegression(positive=True).fit(x, y, sample_weight=weights(len(y))).coef_.tolist()
    out["positive"].append(entry)

# Weights of classes by a list.
classes = []
for name, given in [("iris", {0: 1.0, 1: 5.0, 2: 0.5}), ("breast_cancer", {0: 3.0}), ("wine", {0: 0.2, 2: 4.0})]:
    x, y = sets[name]
    logistic = LogisticRegression(C=0.7, class_weight=given, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(x, y)
    machine = SVC(C=0.8, gamma=0.05, class_weight=given, tol=1e-9, decision_function_shape="ovo").fit(x, y)
    linear = LinearSVC(C=0.05, class_weight=given, tol=1e-10, max_iter=10_000_000, dual=True, random_state=0).fit(x, y)
    order = {"shuffle": False, "tol": None, "max_iter": 5, "class_weight": given}
    sgd, perceptron = SGDClassifier(**order).fit(x, y), Perceptron(**order).fit(x, y)
    classes.append(
        {
            "sgd_coef": sgd.coef_.tolist(), "perceptron_coef": perceptron.coef_.tolist(),
            "set": name, "text": ",".join(f"{k}:{v}" for k, v in given.items()),
            "coef": logistic.coef_.tolist(), "intercept": logistic.intercept_.tolist(),
            "decision": machine.decision_function(x[every]).tolist(),
            "linear_coef": linear.coef_.tolist(), "linear_intercept": linear.intercept_.tolist(),
        }
    )  # fmt: skip
out["class_weight"] = classes

# Machines with nu.
# (NuSVC takes class_weight and lets it have no effect; so classes are weighted by their samples.)
machines = []
for name, nu, kernel, weighted, by_class in [
    ("iris", 0.3, "rbf", False, None), ("iris", 0.3, "rbf", True, None), ("wine", 0.1, "rbf", False, None),
    ("breast_cancer", 0.2, "rbf", False, None), ("breast_cancer", 0.4, "linear", False, None),
    ("breast_cancer", 0.2, "rbf", False, {0: 3.0}), ("wine", 0.1, "rbf", False, {0: 0.5, 2: 2.0}),
]:  # fmt: skip
    x, y = sets[name]
    model = NuSVC(nu=nu, kernel=kernel, gamma=0.1, tol=1e-10, decision_function_shape="ovo")
    own = weights(len(y)) if weighted else None
    if by_class:
        own = np.array([by_class.get(int(label), 1.0) for label in y])
    model.fit(x, y, sample_weight=own)
    machines.append(
        {
            "set": name, "nu": nu, "kernel": kernel, "weighted": weighted,
            "class_weight": ",".join(f"{k}:{v}" for k, v in by_class.items()) if by_class else "none",
            "decision": model.decision_function(x[every]).tolist(), "predict": model.predict(x).tolist(),
            "intercept": model.intercept_.tolist(), "support": len(model.support_),
        }
    )  # fmt: skip
out["nu_svc"] = machines
x, y = standardised(diabetes.data), (diabetes.target - diabetes.target.mean()) / diabetes.target.std()
regressions = []
for nu, c, kernel, weighted in [(0.5, 1.0, "rbf", False), (0.2, 3.0, "rbf", False), (0.7, 0.1, "linear", False), (0.4, 1.0, "rbf", True)]:
    model = NuSVR(nu=nu, C=c, kernel=kernel, gamma=0.05, tol=1e-10)
    model.fit(x, y, sample_weight=weights(len(y)) if weighted else None)
    regressions.append(
        {
            "nu": nu, "c": c, "kernel": kernel, "weighted": weighted, "predict": model.predict(x[every]).tolist(),
            "intercept": model.intercept_.tolist(), "support": model.support_.tolist(),
        }
    )  # fmt: skip
out["nu_svr"] = regressions

# Kernels that are given.
x3, y3 = wine
train, test = np.arange(0, len(y3), 2), np.arange(1, len(y3), 2)
gram, beside = rbf_kernel(x3[train], x3[train], gamma=0.07), rbf_kernel(x3[test], x3[train], gamma=0.07)
svc = SVC(C=2.0, kernel="precomputed", tol=1e-9, decision_function_shape="ovo").fit(gram, y3[train])
numbers = x3[:, 0] + x3[:, 1] ** 2
svr = SVR(C=2.0, epsilon=0.05, kernel="precomputed", tol=1e-9).fit(gram, numbers[train])
ridge = KernelRidge(alpha=0.5, kernel="precomputed").fit(gram, numbers[train])
out["precomputed"] = {
    "gamma": 0.07, "svc": svc.decision_function(beside).tolist(), "svc_predict": svc.predict(beside).tolist(),
    "svr": svr.predict(beside).tolist(), "ridge": ridge.predict(beside).tolist(), "numbers": numbers.tolist(),
}  # fmt: skip

# A sigmoid kernel is not positive semi-definite, so that there may be several optima; for small gamma all orders of the samples
# lead to the same one.
x, y = cancer
sigmoid = []
for gamma, coef0, c in [(0.003, 0.0, 1.0), (0.001, 0.0, 10.0)]:
    model = SVC(kernel="sigmoid", gamma=gamma, coef0=coef0, C=c, tol=1e-9).fit(x, y)
    order = random.permutation(len(y))
    again = SVC(kernel="sigmoid", gamma=gamma, coef0=coef0, C=c, tol=1e-9).fit(x[order], y[order])
    gap = np.abs(model.decision_function(x) - again.decision_function(x)).max()
    assert gap < 1e-7, gap
    sigmoid.append(
        {
            "gamma": gamma, "coef0": coef0, "c": c, "decision": model.decision_function(x[every]).tolist(),
            "support": model.support_.tolist(), "orders_differ_by": float(gap),
        }
    )  # fmt: skip
out["sigmoid"] = sigmoid

path = Path(__file__).parent.parent / "fixtures" / "further.json"
path.write_text(json.dumps(out, separators=(",", ":")) + "\n")
print(path.stat().st_size, "bytes")
