"""Densities of SciPy and a quantile regression of scikit-learn: python probability.py writes ../fixtures/probability.json."""

import json
import pathlib

import numpy as np
import scipy
import sklearn
from scipy import stats
from sklearn.linear_model import QuantileRegressor

rng = np.random.default_rng(20)
y = rng.normal(size=12) * 3
mean = rng.normal(size=3)
root = rng.normal(size=(3, 3))
covariance = root @ root.T + 0.3 * np.eye(3)
rows = rng.normal(size=(9, 3))

n = 41
x = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
t = x @ [1.0, 2.0, -3.0] + rng.laplace(scale=0.7, size=n)
lad = QuantileRegressor(quantile=0.5, alpha=0.0, fit_intercept=False, solver="highs").fit(x, t)

out = {
    "versions": {"scipy": scipy.__version__, "scikit-learn": sklearn.__version__, "numpy": np.__version__},
    "y": y.tolist(),
    "normal": stats.norm(0.7, 1.9).logpdf(y).tolist(),
    "laplace": stats.laplace(0.7, 1.9).logpdf(y).tolist(),
    "mean": mean.tolist(),
    "covariance": covariance.tolist(),
    "rows": rows.tolist(),
    "multivariate": stats.multivariate_normal(mean, covariance).logpdf(rows).tolist(),
    "lad": {"x": x.tolist(), "y": t.tolist(), "coef": lad.coef_.tolist()},
}
path = pathlib.Path(__file__).parent.parent / "fixtures" / "probability.json"
path.write_text(json.dumps(out, indent=1))
