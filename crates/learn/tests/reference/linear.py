"""Writes tests/fixtures/linear.json: linear regressions by scikit-learn, statsmodels, scipy and numpy.

Run by hand: /opt/peers/bin/python crates/learn/tests/reference/linear.py
"""

import json
import warnings
from pathlib import Path

import numpy as np
import scipy
import sklearn
import statsmodels
import statsmodels.api as sm
from sklearn import linear_model as lm
from sklearn.preprocessing import PolynomialFeatures

FIXTURES = Path(__file__).parent.parent / "fixtures"
warnings.filterwarnings("ignore")


def table(a):
    return np.asarray(a, dtype=np.float64).tolist()


def fitted(model, names=("coef_", "intercept_")):
    return {name.rstrip("_"): table(getattr(model, name)) for name in names}


def problems():
    """Small problems, the hard ones among them, as rows and targets."""
    rng = np.random.default_rng(5)
    data = np.load(FIXTURES / "data.npz")
    diabetes = data["diabetes_x"], data["diabetes_y"]
    plain = rng.normal(size=(40, 5))
    rule = plain @ [1.0, -2.0, 0.0, 0.5, 3.0] + 1.5
    noisy = rule + 0.3 * rng.normal(size=40)
    collinear = np.hstack([plain[:, :3], plain[:, :1] * 2.0, plain[:, 1:2] - plain[:, 2:3]])
    scales = 10.0 ** np.array([-8, -4, 0, 4, 8])
    shifted = plain + np.array([1e6, -1e4, 0, 1e3, 10])
    constant = plain.copy()
    constant[:, 2] = 0.1
    wide = rng.normal(size=(12, 30))
    near = plain.copy()
    near[:, 4] = near[:, 3] + 1e-6 * near[:, 4]
    return {
        "plain": (plain, noisy),
        "collinear": (collinear, noisy),
        "badly_scaled": (plain * scales, noisy),
        "shifted": (shifted, noisy),
        "constant_column": (constant, noisy),
        "constant_target": (plain, np.full(40, 2.5)),
        "wide": (wide, wide @ rng.normal(size=30) + 0.1 * rng.normal(size=12)),
        "one_sample": (plain[:1], noisy[:1]),
        "near_collinear": (near, noisy),
        "diabetes": diabetes,
    }


def least_squares(x, y):
    """By LAPACK's gelsd on columns of length one; dependent columns get the least norm in the given scale."""
    mean, level = x.mean(0), y.mean()
    centred = x - mean
    coef = np.linalg.lstsq(centred, y - level, rcond=None)[0]
    length = np.linalg.norm(centred, axis=0)
    length[length < 1e-12] = 1.0
    rank = np.linalg.matrix_rank(centred / length)
    if rank == x.shape[1]:
        coef = np.linalg.lstsq(centred / length, y - level, rcond=None)[0] / length
    return {"coef": table(coef), "intercept": level - mean @ coef, "rank": int(rank)}


def case(name, x, y):
    out = {"lstsq": least_squares(x, y)}
    out["ridge"] = [dict(alpha=a, **fitted(lm.Ridge(alpha=a, solver="svd").fit(x, y))) for a in (1e-3, 1.0, 50.0)]
    if name in ("plain", "diabetes", "wide"):
        out["ridge_bare"] = fitted(lm.Ridge(alpha=0.7, fit_intercept=False, solver="svd").fit(x, y))
    if name not in ("one_sample",):
        alphas = [0.01, 0.1, 1.0, 10.0]
        cv = lm.RidgeCV(alphas=alphas, store_cv_results=True).fit(x, y)
        out["ridge_cv"] = dict(alphas=alphas, alpha=cv.alpha_, errors=table(cv.cv_results_.mean(0)), **fitted(cv))
    if name not in ("badly_scaled", "shifted", "near_collinear"):
        scale = np.abs((x - x.mean(0)).T @ (y - y.mean())).max() / len(y)
        alpha = max(0.1 * scale, 1e-3)
        enet = dict(max_iter=1_000_000, tol=1e-14)
        out["lasso"] = dict(alpha=alpha, **fitted(lm.Lasso(alpha=alpha, **enet).fit(x, y)))
        out["positive"] = dict(alpha=alpha, **fitted(lm.Lasso(alpha=alpha, positive=True, **enet).fit(x, y)))
        out["elastic"] = dict(alpha=alpha, **fitted(lm.ElasticNet(alpha=alpha, l1_ratio=0.4, **enet).fit(x, y)))
    if name in ("plain", "wide", "diabetes", "constant_column", "collinear"):
        bayes = lm.BayesianRidge(tol=1e-10, max_iter=3000, compute_score=True).fit(x, y)
        mean, std = bayes.predict(x[:5], return_std=True)
        out["bayes"] = dict(
            alpha=bayes.alpha_, **{"lambda": bayes.lambda_}, score=bayes.scores_[-1], std=table(std), mean=table(mean),
            **fitted(bayes, ("coef_", "intercept_", "sigma_")),
        )
        default = lm.BayesianRidge().fit(x, y)
        out["bayes_default"] = dict(alpha=default.alpha_, iterations=default.n_iter_, **{"lambda": default.lambda_}, **fitted(default))
    if name in ("plain", "diabetes"):
        out["quantile"] = []
        for quantile, alpha in ((0.5, 0.0), (0.9, 0.0), (0.25, 0.05), (0.5, 0.5)):
            model = lm.QuantileRegressor(quantile=quantile, alpha=alpha).fit(x, y)
            out["quantile"].append(dict(quantile=quantile, alpha=alpha, **fitted(model)))
        z = (x - x.mean(0)) / x.std(0)
        broken = y.copy()
        broken[::9] += 300.0
        huber = lm.HuberRegressor(tol=1e-10, max_iter=10_000).fit(z, broken)
        out["huber"] = dict(scale=huber.scale_, outliers=int(huber.outliers_.sum()), **fitted(huber))
        ols = sm.OLS(y, sm.add_constant(x)).fit()
        out["ols"] = dict(
            params=table(ols.params), bse=table(ols.bse), tvalues=table(ols.tvalues), scale=ols.scale, r2=ols.rsquared
        )
    return out


def weighted(x, y):
    """Weights, several outputs."""
    w = np.random.default_rng(6).uniform(0, 2, len(y))
    both = np.stack([y, np.roll(y, 3), y * y], 1)
    cv = lm.RidgeCV(alphas=[0.1, 1.0, 10.0]).fit(x, y, w)
    enet = lm.ElasticNet(alpha=0.1, l1_ratio=0.7, tol=1e-14, max_iter=100_000).fit(x, y, w)
    bayes = lm.BayesianRidge(tol=1e-10, max_iter=3000).fit(x, y, w)
    return {
        "weights": table(w),
        "y": table(both),
        "linear": fitted(lm.LinearRegression().fit(x, both, w)),
        "ridge": fitted(lm.Ridge(alpha=2.0).fit(x, both, w)),
        "ridge_cv": dict(alpha=cv.alpha_, **fitted(cv)),
        "elastic": fitted(enet),
        "bayes": dict(alpha=bayes.alpha_, **{"lambda": bayes.lambda_}, **fitted(bayes)),
        "huber": fitted(lm.HuberRegressor(tol=1e-10, max_iter=1000, alpha=0.1).fit(x, y, w), ("coef_", "intercept_", "scale_")),
        "quantile": fitted(lm.QuantileRegressor(alpha=0.01, quantile=0.3).fit(x, y, w)),
    }


def path(x, y):
    alphas, coefs, gaps = lm.lasso_path(x - x.mean(0), y - y.mean(), eps=1e-3, n_alphas=30, tol=1e-12, max_iter=100_000)
    ealphas, ecoefs, _ = lm.enet_path(x - x.mean(0), y - y.mean(), l1_ratio=0.5, eps=1e-2, n_alphas=10, tol=1e-12, max_iter=100_000)
    return {"alphas": table(alphas), "coefs": table(coefs.T), "enet_alphas": table(ealphas), "enet_coefs": table(ecoefs.T)}


def polynomials():
    rng = np.random.default_rng(8)
    t = np.linspace(-1.0, 1.0, 40)
    y = t**3 - t + 0.1 * rng.normal(size=40)
    x = rng.normal(size=(4, 3))
    features = []
    for degree in (0, 1, 2, 3, 4):
        for interaction in (False, True):
            for bias in (False, True):
                p = PolynomialFeatures(degree, interaction_only=interaction, include_bias=bias)
                try:
                    values = p.fit_transform(x)
                except ValueError:
                    continue
                names = p.get_feature_names_out(["a", "b", "c"]).tolist()
                features.append(dict(degree=degree, interaction_only=interaction, include_bias=bias, values=table(values), names=names))
    return {
        "t": table(t), "y": table(y), "x": table(x), "features": features,
        "polyfit": {str(k): table(np.polyfit(t, y, k)) for k in range(1, 13)},
    }


def large():
    """California housing: fitted on the shared file, which the tests read themselves."""
    file = Path("/work/shared/data/california-housing/california_housing.csv")
    rows = np.loadtxt(file, delimiter=",", skiprows=1)
    x, y = rows[:, :-1], rows[:, -1]
    return {
        "linear": least_squares(x, y),
        "sklearn": fitted(lm.LinearRegression(tol=0).fit(x, y)),
        "ridge": fitted(lm.Ridge(alpha=10.0, solver="svd").fit(x, y)),
        "lasso": fitted(lm.Lasso(alpha=0.01, tol=1e-12, max_iter=100_000).fit(x, y)),
        "bayes": fitted(lm.BayesianRidge(tol=1e-10).fit(x, y)),
    }


def main():
    sets = problems()
    out = {
        "versions": {"numpy": np.__version__, "scipy": scipy.__version__, "scikit-learn": sklearn.__version__, "statsmodels": statsmodels.__version__},
        "cases": {name: dict(case(name, x, y), **({} if name == "diabetes" else {"x": table(x), "y": table(y)})) for name, (x, y) in sets.items()},
        "weighted": weighted(*sets["plain"]),
        "path": path(*sets["diabetes"]),
        "polynomials": polynomials(),
        "california": large(),
    }
    (FIXTURES / "linear.json").write_text(json.dumps(out) + "\n")


if __name__ == "__main__":
    main()
