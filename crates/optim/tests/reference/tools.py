"""Reference values of the losses, projections and constrained problems.

Run: python crates/optim/tests/reference/tools.py
Writes tests/fixtures/tools.json, in the format described in crates/tensor/tests/reference/fixture.py.
"""

import pathlib
import sys

import cvxpy
import numpy as np
import scipy
import scipy.special
import sklearn
import sklearn.linear_model
import sklearn.metrics
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tensor/tests/reference"))
import fixture  # noqa: E402
from fixture import case, normal, rng  # noqa: E402

fixture.FIXTURES = HERE.parent / "fixtures"
cases = []


def add(name, inputs, outputs, grads=None, **attrs):
    as_arrays = lambda values: {key: np.asarray(value) for key, value in (values or {}).items()}
    cases.append(case(name, as_arrays(inputs), as_arrays(outputs), as_arrays(grads), **attrs))


def projection(name, w, constraints, **inputs):
    v = cvxpy.Variable(len(w))
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(v - w)), constraints(v))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    # The tolerance asks for more than the solver can promise; it then says so and returns the best it has.
    assert problem.status in ("optimal", "optimal_inaccurate"), problem.status
    add(name, {"w": w, **inputs}, {"v": v.value})


def projections():
    g = rng(20)
    for i in range(5):
        w = normal(g, 6, scale=2.0)
        c = normal(g, 6)
        a = normal(g, 6)
        matrix, right = normal(g, 3, 6), normal(g, 3)
        low, high = -np.abs(normal(g, 6)), np.abs(normal(g, 6))
        projection(f"box {i}", w, lambda v: [v >= low, v <= high], low=low, high=high)
        projection(f"l2 {i}", w, lambda v: [cvxpy.norm(v - c, 2) <= 1.5], centre=c)
        projection(f"l1 {i}", w, lambda v: [cvxpy.norm(v - c, 1) <= 1.5], centre=c)
        projection(f"linf {i}", w, lambda v: [cvxpy.norm(v - c, "inf") <= 0.7], centre=c)
        projection(f"simplex {i}", w, lambda v: [v >= 0, cvxpy.sum(v) == 2.0])
        projection(f"half_space {i}", w, lambda v: [a @ v <= -0.5], normal=a)
        projection(f"affine {i}", w, lambda v: [matrix @ v == right], matrix=matrix, right=right)
        projection(f"intersection {i}", w, lambda v: [v >= 0, a @ v <= 0.5, cvxpy.norm(v, 1) <= 1.0], normal=a)


def least_squares(name, x, y, constraints, **inputs):
    w = cvxpy.Variable(x.shape[1])
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(x @ w - y) / (2 * len(y))), constraints(w))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    add(name, {"x": x, "y": y, **inputs}, {"w": w.value})


def constrained():
    g = rng(21)
    x, y = normal(g, 30, 5), normal(g, 30, scale=3.0)
    matrix, right = normal(g, 2, 5), normal(g, 2)
    least_squares("ls in simplex", x, y, lambda w: [w >= 0, cvxpy.sum(w) == 1])
    least_squares("ls in l1 ball", x, y, lambda w: [cvxpy.norm(w, 1) <= 0.8])
    least_squares("ls in l2 ball", x, y, lambda w: [cvxpy.norm(w, 2) <= 0.5])
    least_squares("ls not negative", x, y, lambda w: [w >= 0])
    least_squares("ls on affine", x, y, lambda w: [matrix @ w == right], matrix=matrix, right=right)


def torch_case(name, function, prediction, target, **attrs):
    p = torch.tensor(prediction, requires_grad=True)
    y = function(p, torch.tensor(target))
    y.backward()
    inputs = {"prediction": prediction, "target": target}
    add(name, inputs, {"y": y.detach().numpy()}, {"prediction": p.grad.numpy()}, **attrs)


def losses():
    g = rng(22)
    p, t = normal(g, 40, scale=2.0), normal(g, 40)
    signs = np.where(g.random(40) < 0.5, -1.0, 1.0)
    add("regression", {"prediction": p, "target": t}, {
        "squared": np.float64(sklearn.metrics.mean_squared_error(t, p)),
        "absolute": np.float64(sklearn.metrics.mean_absolute_error(t, p)),
    })
    weights = np.abs(normal(g, 40)) + 0.1
    add("weighted", {"prediction": p, "target": t, "weights": weights}, {
        "squared": np.float64(sklearn.metrics.mean_squared_error(t, p, sample_weight=weights)),
        "absolute": np.float64(sklearn.metrics.mean_absolute_error(t, p, sample_weight=weights)),
    })
    add("signs", {"prediction": p, "target": signs}, {
        "hinge": np.float64(sklearn.metrics.hinge_loss(signs, p)),
        "accuracy": np.float64(sklearn.metrics.accuracy_score(signs, np.sign(p))),
    })
    for dtype in ("float32", "float64"):
        f = lambda values: values.astype(dtype)
        short = dtype.replace("float", "f")
        for delta in (0.7, 1.0, 2.0):
            torch_case(f"huber {delta} {short}", lambda p, t: F.huber_loss(p, t, delta=delta), f(p), f(t), delta=delta)
        scores, classes = normal(g, 12, 5, scale=3.0), g.integers(0, 5, 12)
        soft = g.dirichlet(np.ones(5), 12)
        class_weights = np.array([0.5, 1.0, 2.0, 0.25, 1.5])
        w = torch.tensor(f(class_weights))
        torch_case(f"softmax {short}", F.cross_entropy, f(scores), classes)
        torch_case(f"soft targets {short}", F.cross_entropy, f(scores), f(soft))
        for epsilon in (0.1, 0.4):
            torch_case(f"smoothing {epsilon} {short}",
                       lambda p, t: F.cross_entropy(p, t, label_smoothing=epsilon), f(scores), classes, epsilon=epsilon)
        torch_case(f"class weights {short}", lambda p, t: F.cross_entropy(p, t, weight=w), f(scores), classes)
        torch_case(f"class weights soft {short}", lambda p, t: F.cross_entropy(p, t, weight=w), f(scores), f(soft))
        torch_case(f"class weights smoothed {short}",
                   lambda p, t: F.cross_entropy(p, t, weight=w, label_smoothing=0.2), f(scores), classes)
        logits = np.concatenate([normal(g, 20, scale=4.0), [1000.0, -1000.0, 1000.0, -1000.0, 0.0]])
        labels = np.concatenate([(g.random(20) < 0.5), [1, 0, 0, 1, 1]])
        torch_case(f"logits {short}", F.binary_cross_entropy_with_logits, f(logits), f(labels))
        torch_case(f"logits weighted {short}", lambda p, t: F.binary_cross_entropy_with_logits(
            p, t, pos_weight=torch.tensor(f(np.array(2.5)))), f(logits), f(labels))
    probabilities, classes = g.dirichlet(np.ones(4), 15), g.integers(0, 4, 15)
    add("log_loss", {"prediction": probabilities, "target": classes}, {
        "y": np.float64(sklearn.metrics.log_loss(classes, probabilities, labels=range(4)))})


def log_sum_exp():
    g = rng(23)
    for i, scale in enumerate([1.0, 30.0, 1000.0]):
        x = normal(g, 8, 6, scale=scale)
        add(f"logsumexp {i}", {"x": x}, {"y": scipy.special.logsumexp(x, axis=1)})


def outlier():
    g = rng(24)
    x = normal(g, 50)
    y = np.round(2.0 * x + 1.0 + 0.1 * g.standard_normal(50), 4)
    moved = y.copy()
    moved[int(np.argmax(x))] = 1e3
    slope = lambda y: sklearn.linear_model.HuberRegressor(epsilon=1.35, alpha=0.0, max_iter=1000).fit(x[:, None], y).coef_[0]
    line = lambda y: sklearn.linear_model.LinearRegression().fit(x[:, None], y).coef_[0]
    absolute = lambda y: sklearn.linear_model.QuantileRegressor(quantile=0.5, alpha=0.0).fit(x[:, None], y).coef_[0]
    add("outlier", {"x": x, "y": y, "moved": moved}, {
        "huber": np.array([slope(y), slope(moved)]),
        "squared": np.array([line(y), line(moved)]),
        "absolute": np.array([absolute(y), absolute(moved)]),
    })


projections()
constrained()
losses()
log_sum_exp()
outlier()
fixture.write("tools", cases, scipy, sklearn, torch, cvxpy)
