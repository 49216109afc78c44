"""Logistic and softmax regression, SGD and perceptron of scikit-learn and statsmodels: python logistic.py writes
../fixtures/logistic.json and ../fixtures/logistic.npz (adult and german-credit as numbers). TOVE_DATA names the data folder."""

import json
import os
import pathlib
import warnings

import numpy as np
import scipy
import sklearn
import statsmodels
import statsmodels.api as sm
from scipy import sparse, special
from sklearn import datasets
from sklearn.linear_model import LogisticRegression

warnings.filterwarnings("ignore")
HERE = pathlib.Path(__file__).parent.parent / "fixtures"
DATA = pathlib.Path(os.environ.get("TOVE_DATA", "/work/shared/data"))
out = {"versions": {"scikit-learn": sklearn.__version__, "statsmodels": statsmodels.__version__, "scipy": scipy.__version__}}


def standardised(x):
    spread = x.std(0)
    return (x - x.mean(0)) / np.where(spread == 0, 1, spread)


def objective(model, x, y, c, weights=None, l1=0.0, penalised=True):
    """The objective of tove's documentation at scikit-learn's solution."""
    weights = np.ones(len(y)) if weights is None else weights
    p = model.predict_log_proba(x)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    w = model.coef_
    penalty = ((1 - l1) / 2 * (w**2).sum() + l1 * np.abs(w).sum()) / (c * weights.sum()) if penalised else 0.0
    return float(-(weights * p).sum() / weights.sum() + penalty)


def entry(model, x, y, c=1.0, weights=None, l1=0.0, penalised=True):
    return {
        "coef": model.coef_.tolist(),
        "intercept": model.intercept_.tolist(),
        "objective": objective(model, x, y, c, weights, l1, penalised),
        "proba": model.predict_proba(x)[:20].tolist(),
    }


def l2(x, y, c=1.0, weights=None, **more):
    solver = "newton-cg" if len(np.unique(y)) > 2 else "newton-cholesky"
    more = {"solver": solver, **more}
    model = LogisticRegression(C=c, tol=1e-12, max_iter=10000, **more).fit(x, y, sample_weight=weights)
    return model


arrays = {}


def table(path, target, positive, columns=None):
    """Whole-number columns standardised, texts one-hot without rare values; small and exact in float32 after rounding."""
    import pandas as pd

    frame = pd.read_csv(path)
    y = (frame.pop(target).astype(str) == positive).astype(np.int64).to_numpy()
    if columns:
        frame = frame[columns]
    parts = []
    for name in frame:
        column = frame[name]
        if column.dtype.kind in "if":
            parts.append(standardised(column.to_numpy(float))[:, None])
        else:
            values = sorted(column.dropna().unique())
            parts.append(np.stack([(column == value).to_numpy(float) for value in values], 1))
    return np.concatenate(parts, 1).astype(np.float32), y


for name in ["iris", "wine", "breast_cancer"]:
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    x = standardised(x)
    out[name] = entry(l2(x, y), x, y)
    weights = 1.0 + np.arange(len(y)) % 3
    out[name + "_weighted"] = entry(l2(x, y, 0.5, weights), x, y, 0.5, weights)
    balanced = len(y) / (len(np.unique(y)) * np.bincount(y))[y]
    out[name + "_balanced"] = entry(l2(x, y, 1.0, class_weight="balanced"), x, y, 1.0, balanced)
    out[name + "_bare"] = entry(l2(x, y, fit_intercept=False), x, y)
    for l1, key in [(1.0, "_l1"), (0.5, "_elastic")]:
        model = LogisticRegression(C=0.3, l1_ratio=l1, solver="saga", tol=1e-13, max_iter=200000, random_state=0).fit(x, y)
        out[name + key] = entry(model, x, y, 0.3, None, l1)

# Without a penalty: overlapping classes, statsmodels' Logit and MNLogit.
x, y = datasets.load_iris(return_X_y=True)
two = y > 0
xb, yb = x[two][:, :2], y[two] - 1
fit = sm.Logit(yb, sm.add_constant(xb)).fit(disp=0, method="newton", tol=1e-14, maxiter=100)
out["logit"] = {"parameters": fit.params.tolist(), "nll": float(-fit.llf)}
x2 = x[:, :2]
fit = sm.MNLogit(y, sm.add_constant(x2)).fit(disp=0, method="newton", maxiter=500)
out["mnlogit"] = {"proba": fit.predict()[:20].tolist(), "nll": float(-fit.llf)}
model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=100000, solver="newton-cg").fit(x, y)
out["iris_unpenalised_l2_1e-6"] = entry(l2(x, y, 1e4), x, y, 1e4)

# Where lbfgs stops early.
for name in ["wine", "breast_cancer"]:
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)  # raw columns, badly scaled
    model = LogisticRegression().fit(x, y)
    out[name + "_raw"] = {"objective": objective(model, x, y, 1.0), "iterations": int(model.n_iter_[0])}

# Tables with texts.
german_x, german_y = table(DATA / "german-credit" / "german.csv", "credit_risk", "2")
adult_x, adult_y = table(DATA / "adult" / "train.csv", "income", ">50K")
adult_x, adult_y = adult_x[::8], adult_y[::8]
for name, x, y in [("german", german_x, german_y), ("adult", adult_x, adult_y)]:
    arrays[f"{name}_x"], arrays[f"{name}_y"] = x, y
    x = x.astype(float)
    out[name] = entry(l2(x, y), x, y)
    early = LogisticRegression().fit(x, y)
    out[name]["default_objective"] = objective(early, x, y, 1.0)
    model = LogisticRegression(C=0.1, l1_ratio=1.0, solver="liblinear" if name == "x" else "saga", tol=1e-10, max_iter=20000).fit(x, y)
    out[name + "_l1"] = entry(model, x, y, 0.1, None, 1.0)

# Wide and sparse, like text.
rng = np.random.default_rng(0)
n, d = 300, 2000
rows = sparse.random(n, d, density=0.01, random_state=1, data_rvs=lambda size: rng.integers(1, 5, size).astype(float), format="csr")
truth = rng.normal(size=(3, d))
y = np.asarray(rows @ truth.T + rng.gumbel(size=(n, 3))).argmax(1)
model = LogisticRegression(tol=1e-10, max_iter=10000).fit(rows, y)
out["sparse"] = {
    "indptr": rows.indptr.tolist(),
    "indices": rows.indices.tolist(),
    "values": rows.data.tolist(),
    "y": y.tolist(),
    "objective": objective(model, rows, y, 1.0),
    "proba": model.predict_proba(rows)[:20].tolist(),
}

# Formulae.
points = np.linspace(-30, 30, 41)
out["expit"] = special.expit(points).tolist()
vectors = rng.normal(size=(10, 7)) * 5
out["softmax"] = {"x": vectors.tolist(), "p": special.softmax(vectors, axis=1).tolist()}

np.savez_compressed(HERE / "logistic.npz", **arrays)
(HERE / "logistic.json").write_text(json.dumps(out))
