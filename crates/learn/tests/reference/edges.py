"""Where solvers stop and what they reach on badly scaled features, by scikit-learn: python edges.py writes ../fixtures/edges.json."""

import json
import pathlib
import warnings

import numpy as np
import scipy
import sklearn
from sklearn import datasets
from sklearn.linear_model import BayesianRidge, HuberRegressor, QuantileRegressor, SGDClassifier, SGDRegressor

warnings.filterwarnings("ignore")


def standardised(x):
    return (x - x.mean(0)) / x.std(0)


out = {"versions": {"scikit-learn": sklearn.__version__, "scipy": scipy.__version__, "numpy": np.__version__}}

# Epochs until the objective stops falling, with weights in several units and with weights that differ.
x, y = datasets.load_breast_cancer(return_X_y=True)
x = standardised(x)
uneven = 0.5 + (np.arange(len(y)) % 7) / 4
stops = []
plans = [
    {"loss": "log_loss"},
    {"loss": "hinge", "alpha": 0.01},
    {"loss": "log_loss", "penalty": "l1", "alpha": 0.01},
    {"loss": "log_loss", "penalty": "elasticnet", "alpha": 0.01, "l1_ratio": 0.3},
    {"loss": "log_loss", "penalty": "l1", "alpha": 0.1},
    {"loss": "hinge", "penalty": "elasticnet", "alpha": 0.06, "l1_ratio": 0.15},
    {"loss": "log_loss", "learning_rate": "adaptive", "eta0": 0.1},
]
for plan in plans:
    for name, weights in [("none", None), ("0.001", np.full(len(y), 1e-3)), ("1000", np.full(len(y), 1e3)), ("uneven", uneven)]:
        model = SGDClassifier(shuffle=False, max_iter=500, **plan).fit(x, y, sample_weight=weights)
        stops.append({"plan": {k: str(v) for k, v in plan.items()}, "weights": name, "epochs": int(model.n_iter_)})
out["classifier_stops"] = stops
xr, yr = datasets.load_diabetes(return_X_y=True)
xr, yr = standardised(xr), (yr - yr.mean()) / yr.std()
uneven = 0.5 + (np.arange(len(yr)) % 7) / 4
stops = []
for name, weights in [("none", None), ("0.001", np.full(len(yr), 1e-3)), ("uneven", uneven)]:
    model = SGDRegressor(shuffle=False, max_iter=500).fit(xr, yr, sample_weight=weights)
    stops.append({"weights": name, "epochs": int(model.n_iter_)})
out["regressor_stops"] = stops

# The best value of Huber's objective, with the features in several units.
huber = []
for unit in [1e-8, 1e-4, 1.0, 1e4]:
    for alpha in [1e-4, 1.0]:
        z = xr * unit
        model = HuberRegressor(alpha=alpha, max_iter=10000, tol=1e-10).fit(z, yr)
        r, s, eps = yr - model.predict(z), model.scale_, model.epsilon
        losses = np.where(np.abs(r) <= eps * s, r * r / s, 2 * eps * np.abs(r) - s * eps * eps)
        huber.append({"unit": unit, "alpha": alpha, "objective": float(len(yr) * s + losses.sum() + alpha * (model.coef_**2).sum())})
out["huber"] = huber

# The optimum of the quantile programme by HiGHS, a vertex.
quantile = []
for unit in [1e-8, 1.0]:
    for alpha in [0.0, 0.02, 1.0]:
        for q in [0.3, 0.5]:
            z = xr * unit
            model = QuantileRegressor(quantile=q, alpha=alpha, solver="highs").fit(z, yr)
            r = yr - model.predict(z)
            value = float(np.maximum(q * r, (q - 1) * r).mean() + alpha * np.abs(model.coef_).sum())
            quantile.append({"unit": unit, "alpha": alpha, "quantile": q, "objective": value, "zeros": int((model.coef_ == 0).sum())})
out["quantile"] = quantile

# The covariance of the weights where the noise is small.
noise = np.random.default_rng(3).normal(size=len(yr))
w = np.linspace(-1, 1, xr.shape[1])
bayes = []
for size in [1e-2, 1e-5]:
    t = xr @ w + size * noise
    model = BayesianRidge().fit(xr, t)
    bayes.append({"y": t.tolist(), "alpha": float(model.alpha_), "lambda": float(model.lambda_), "sigma": model.sigma_.tolist()})
out["bayes"] = bayes

(pathlib.Path(__file__).parent.parent / "fixtures" / "edges.json").write_text(json.dumps(out))
