"""Sparse regressions and further options of scikit-learn: python options.py writes ../fixtures/options.json."""

import json
import pathlib
import warnings

import numpy as np
import sklearn
from sklearn import calibration, datasets, linear_model, naive_bayes, preprocessing, svm

warnings.simplefilter("ignore")
x, y = datasets.load_diabetes(return_X_y=True, scaled=False)
x = preprocessing.StandardScaler().fit_transform(x)
iris = datasets.load_iris()
rng = np.random.default_rng(5)

out = {"versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__}, "x": x.tolist(), "y": y.tolist()}


def linear(model, **more):
    model.fit(x, y)
    return {"coef": model.coef_.tolist(), "intercept": float(model.intercept_),
            **{name: np.asarray(getattr(model, name + "_")).tolist() for name in more.get("more", [])}}


out["omp"] = [
    {"n": n, "tol": tol, "fit_intercept": fit, **linear(linear_model.OrthogonalMatchingPursuit(
        n_nonzero_coefs=n, tol=tol, fit_intercept=fit))}
    for n, tol, fit in [(None, None, True), (3, None, True), (7, None, False), (None, 1.35e6, True)]
]
out["ard"] = [
    {"threshold": threshold, "fit_intercept": fit, **linear(linear_model.ARDRegression(
        threshold_lambda=threshold, fit_intercept=fit, tol=1e-6), more=["alpha", "lambda", "sigma"])}
    for threshold, fit in [(1e4, True), (0.05, True), (1e4, False)]
]
out["lars"] = [{"n": n, **linear(linear_model.Lars(n_nonzero_coefs=n), more=["alphas", "active"])} for n in (1, 4, 8, 500)]
out["lasso_lars"] = [
    {"alpha": alpha, "fit_intercept": fit, **linear(linear_model.LassoLars(alpha=alpha, fit_intercept=fit), more=["alphas", "active"])}
    for alpha, fit in [(1.0, True), (0.05, True), (0.0, True), (5.0, False), (100.0, True)]
]
out["d2"] = {
    name: float(model.fit(x, y).score(x, y))
    for name, model in [("poisson", linear_model.PoissonRegressor()), ("gamma", linear_model.GammaRegressor()),
                        ("tweedie", linear_model.TweedieRegressor(power=1.5))]
}
values = np.concatenate([rng.uniform(-3, 9, size=(20, 2)), iris.data[:1, :2]])
out["splines"] = {"values": values.tolist(), "train": iris.data[:, :2].tolist(), "cases": [
    {"degree": degree, "knots": knots, "include_bias": bias, "transform": preprocessing.SplineTransformer(
        n_knots=6, degree=degree, knots=knots, extrapolation="periodic", include_bias=bias,
    ).fit(iris.data[:, :2]).transform(values).tolist()}
    for degree in (0, 1, 3, 5) for knots in ("uniform", "quantile") for bias in (True, False)
]}
cancer = datasets.load_breast_cancer()
sets = {"iris": (iris.data, iris.target), "breast_cancer": (preprocessing.StandardScaler().fit_transform(cancer.data), cancer.target)}
out["temperature"] = []
for name, (features, labels) in sets.items():
    for model in ("LinearSVC", "GaussianNB"):
        for ensemble in (True, False):
            base = svm.LinearSVC(tol=1e-12, max_iter=1000000, C=0.1) if model == "LinearSVC" else naive_bayes.GaussianNB()
            fitted = calibration.CalibratedClassifierCV(base, method="temperature", cv=3, ensemble=ensemble).fit(features, labels)
            out["temperature"].append({
                "set": name, "model": model, "ensemble": ensemble, "proba": fitted.predict_proba(features)[::7].tolist(),
                "beta": [float(member.calibrators[0].beta_) for member in fitted.calibrated_classifiers_],
            })
out["robust"] = preprocessing.RobustScaler(quantile_range=(10.0, 80.0)).fit(iris.data).scale_.tolist()

path = pathlib.Path(__file__).parent.parent / "fixtures" / "options.json"
path.write_text(json.dumps(out) + "\n")
