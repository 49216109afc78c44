"""Independent answers for syllabus tests, from scikit-learn and scipy: python syllabus.py writes ../fixtures/syllabus.json."""

import json
import pathlib
import warnings

import numpy as np
import scipy
import sklearn
from scipy import integrate, stats
from sklearn import datasets
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct
from sklearn.linear_model import LogisticRegression

warnings.filterwarnings("ignore")
HERE = pathlib.Path(__file__).parent.parent / "fixtures"
out = {"versions": {"scikit-learn": sklearn.__version__, "scipy": scipy.__version__, "numpy": np.__version__}}


def softmax_regression():
    """F16: all probabilities on iris, with the l2 penalty and without one. The mixed labels overlap everywhere, so that the
    optimum without a penalty is finite."""
    x, y = datasets.load_iris(return_X_y=True)
    x = (x - x.mean(0)) / x.std(0)
    mixed = np.where(np.arange(150) % 7 == 0, (y + 1) % 3, y)
    fit = lambda y, c: LogisticRegression(C=c, tol=1e-12, max_iter=100000, solver="newton-cg").fit(x, y)
    return {
        "mixed": mixed.tolist(),
        "l2": fit(y, 1.0).predict_proba(x).tolist(),
        "strong": fit(y, 0.05).predict_proba(x).tolist(),
        "none": fit(mixed, np.inf).predict_proba(x).tolist(),
        "none_plain": fit(y, np.inf).predict_proba(x).tolist(),
    }


def conjugate():
    """E14: the predictive of y = Xw + e with e ~ N(0, s^2) and w ~ N(0, t^2 I) as that of a Gaussian process with the kernel
    t^2 x x' (scikit-learn), and its density as an integral over the two weights (scipy)."""
    rng = np.random.default_rng(14)
    noise, prior = 0.5, 2.0
    x = rng.normal(size=(12, 2))
    y = x @ [1.0, -0.5] + noise * rng.normal(size=12)
    places = np.array([[0.8, 1.4], [0.0, 0.0], [-3.0, 0.5]])
    kernel = ConstantKernel(prior**2) * DotProduct(sigma_0=0.0)
    process = GaussianProcessRegressor(kernel, alpha=noise**2, optimizer=None).fit(x, y)
    mean, std = process.predict(places, return_std=True)

    def weight(a, b):
        residual = y - x @ [a, b]
        return np.exp(-(residual @ residual) / (2 * noise**2) - (a * a + b * b) / (2 * prior**2))

    # The posterior lies well within these bounds.
    centre = np.linalg.solve(x.T @ x / noise**2 + np.eye(2) / prior**2, x.T @ y / noise**2)
    box = (centre[0] - 2.5, centre[0] + 2.5, centre[1] - 2.5, centre[1] + 2.5)
    double = lambda f: integrate.dblquad(lambda b, a: f(a, b), *box, epsabs=1e-16, epsrel=1e-9)[0]
    evidence = double(weight)
    at = [-1.0, 0.2, 0.9]
    place = places[0]
    density = [double(lambda a, b: weight(a, b) * stats.norm.pdf(v, place @ [a, b], noise)) / evidence for v in at]
    return {
        "noise": noise,
        "prior": prior,
        "x": x.tolist(),
        "y": y.tolist(),
        "places": places.tolist(),
        "mean": mean.tolist(),
        "std": np.sqrt(std**2 + noise**2).tolist(),
        "at": at,
        "density": density,
    }


out["softmax_regression"] = softmax_regression()
out["conjugate"] = conjugate()
(HERE / "syllabus.json").write_text(json.dumps(out) + "\n")
