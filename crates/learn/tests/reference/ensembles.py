"""Variance of bagged and single polynomial fits in scikit-learn: python ensembles.py writes ../fixtures/ensembles.json.

A penalty of 0.01 keeps the solutions finite where a bootstrap set has fewer distinct samples than there are coefficients."""

import json
import pathlib

import numpy as np
import sklearn
from sklearn.ensemble import BaggingRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

points = np.linspace(-0.9, 0.9, 19)[:, None]
out = {"versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__}, "points": points[:, 0].tolist(), "bagging": []}


def wave(rng, n):
    x = rng.uniform(-1, 1, size=(n, 1))
    return x, np.sin(3 * x[:, 0]) + 0.4 * rng.normal(size=n)


for degree, n, models, sets in [(15, 20, 15, 1000), (25, 20, 15, 1000)]:
    rng = np.random.default_rng(3)
    basis = FunctionTransformer(lambda x, degree=degree: np.polynomial.chebyshev.chebvander(x[:, 0], degree))
    deep = make_pipeline(basis, Ridge(alpha=0.01, fit_intercept=False))
    fits = {"alone": [], "bagged": []}
    for seed in range(sets):
        x, y = wave(rng, n)
        fits["alone"].append(deep.fit(x, y).predict(points))
        fits["bagged"].append(BaggingRegressor(deep, n_estimators=models, random_state=seed).fit(x, y).predict(points))
    variance = {name: float(np.median(np.var(f, axis=0, ddof=1))) for name, f in fits.items()}
    error = {name: float(np.mean((np.array(f) - np.sin(3 * points[:, 0])) ** 2)) for name, f in fits.items()}
    print(degree, n, variance, error)
    out["bagging"].append({"degree": degree, "n": n, "models": models, "sets": sets, "ratio": variance["bagged"] / variance["alone"], "error_ratio": error["bagged"] / error["alone"]})

# One bag whole: the sets that scikit-learn drew, and what it answers.
x, y = wave(np.random.default_rng(8), 40)
basis = FunctionTransformer(lambda x: np.polynomial.chebyshev.chebvander(x[:, 0], 15))
bag = BaggingRegressor(make_pipeline(basis, Ridge(alpha=0.01, fit_intercept=False)), n_estimators=10, random_state=1).fit(x, y)
out["one"] = {"x": x[:, 0].tolist(), "y": y.tolist(), "sets": [s.tolist() for s in bag.estimators_samples_], "answers": bag.predict(points).tolist()}

path = pathlib.Path(__file__).parent.parent / "fixtures" / "ensembles.json"
path.write_text(json.dumps(out))
