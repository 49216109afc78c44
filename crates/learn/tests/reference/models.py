"""Writes ../fixtures/models.json: penalties chosen by cross-validation, ridge classification, generalized linear models, one-class
machines, sparse rows in kernel machines, and further options of linear models, all by scikit-learn.

Run with a Python that has scikit-learn 1.9.1: python models.py
"""

import json
import warnings
from pathlib import Path

import numpy as np
import scipy
import sklearn
from scipy.sparse import csr_matrix
from sklearn import linear_model as lm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

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
unit = (diabetes[1] - diabetes[1].mean()) / diabetes[1].std()

# Kernel machines on sparse rows: one number in nine is not zero.
x, y = np.where(wine[0] > 1.2, wine[0], 0.0), wine[1]
xd = np.where(diabetes[0] > 1.2, diabetes[0], 0.0)
assert (x != 0).mean() < 0.15 and (xd != 0).mean() < 0.15
sparse = []
for kernel in ["linear", "rbf", "poly"]:
    parameters = {"kernel": kernel, "gamma": 0.1, "coef0": 1.0}
    row = {"kernel": kernel}
    row["SVC"] = SVC(tol=1e-8, decision_function_shape="ovo", **parameters).fit(csr_matrix(x), y).decision_function(x[::7]).tolist()
    row["NuSVC"] = NuSVC(nu=0.5, tol=1e-8, decision_function_shape="ovo", **parameters).fit(csr_matrix(x), y).decision_function(x[::7]).tolist()
    row["SVR"] = SVR(tol=1e-8, C=0.5, **parameters).fit(csr_matrix(xd), unit).predict(xd[::7]).tolist()
    row["NuSVR"] = NuSVR(tol=1e-8, C=0.5, **parameters).fit(csr_matrix(xd), unit).predict(xd[::7]).tolist()
    row["KernelRidge"] = KernelRidge(alpha=2.0, **parameters).fit(csr_matrix(xd), unit).predict(csr_matrix(xd[::7])).tolist()
    sparse.append(row)
out["sparse"] = sparse

# Lasso and elastic net by cross-validation.
x, y = diabetes
tight = {"tol": 1e-10, "max_iter": 100000}
nets = []
for weighted in [False, True]:
    w = weights(len(y)) if weighted else None
    for ratios, options in [([1.0], {}), ([0.5], {"cv": 3}), ([0.2, 0.7, 1.0], {}), ([0.5], {"alphas": [0.01, 1.0, 0.1]})]:
        if ratios == [1.0]:
            model = lm.LassoCV(eps=1e-2, alphas=30, **tight, **options).fit(x, y, sample_weight=w)
        else:
            grid = {"alphas": 30} | options
            model = lm.ElasticNetCV(l1_ratio=ratios, eps=1e-2, **grid, **tight).fit(x, y, sample_weight=w)
        nets.append(
            {
                "weighted": weighted, "ratios": ratios, "options": options, "alpha": model.alpha_,
                "l1_ratio": getattr(model, "l1_ratio_", 1.0), "alphas": np.asarray(model.alphas_).tolist(),
                "mse_path": model.mse_path_.tolist(), "coef": model.coef_.tolist(), "intercept": model.intercept_,
                "n_iter": int(model.n_iter_),
            }
        )  # fmt: skip
out["nets"] = nets

# RidgeCV with folds and scores.
both = np.stack([y, x[:, 2] ** 2], axis=1)
ridges = []
for cv in [None, 4]:
    for scoring in [None, "r2", "neg_mean_absolute_error"]:
        for several in [False, True]:
            alphas = [0.1, 1.0, 10.0, 100.0, 1000.0]
            model = lm.RidgeCV(alphas=alphas, cv=cv, scoring=scoring).fit(x, both if several else y)
            ridges.append(
                {
                    "cv": cv, "scoring": scoring, "several": several, "alphas": alphas, "alpha": model.alpha_,
                    "best_score": model.best_score_, "coef": model.coef_.tolist(),
                    "intercept": np.asarray(model.intercept_).tolist(),
                }
            )  # fmt: skip
out["ridge_cv"] = ridges

classifiers = []
for name, (x, y) in [("iris", iris), ("breast_cancer", cancer)]:
    for weighted in [False, True]:
        for class_weight in [None, "balanced"]:
            for intercept in [True, False]:
                model = lm.RidgeClassifier(alpha=2.0, class_weight=class_weight, fit_intercept=intercept)
                model.fit(x, y, sample_weight=weights(len(y)) if weighted else None)
                classifiers.append(
                    {
                        "data": name, "weighted": weighted, "class_weight": class_weight, "intercept": intercept,
                        "coef": model.coef_.tolist(), "b": np.asarray(model.intercept_).ravel().tolist(),
                        "decision": model.decision_function(x[::7]).tolist(), "predict": model.predict(x).tolist(),
                    }
                )  # fmt: skip
out["ridge_classifier"] = classifiers

# Logistic regression by cross-validation. Newton's method, so that all digits are there.
logistic = []
for name, (x, y) in [("iris", iris), ("breast_cancer", cancer)]:
    for scoring in ["neg_log_loss", "accuracy"]:
        for refit in [True, False]:
            model = lm.LogisticRegressionCV(
                Cs=[0.01, 0.1, 1.0, 10.0], scoring=scoring, refit=refit, cv=4, tol=1e-10, max_iter=1000,
                solver="newton-cholesky", l1_ratios=(0.0,), use_legacy_attributes=False,
            ).fit(x, y)  # fmt: skip
            logistic.append(
                {
                    "data": name, "scoring": scoring, "refit": refit, "C": float(np.ravel(model.C_)[0]),
                    "scores": np.asarray(model.scores_).tolist(), "coef": model.coef_.tolist(),
                    "intercept": model.intercept_.tolist(),
                }
            )  # fmt: skip
out["logistic_cv"] = logistic

# Generalized linear models.
x, y = diabetes
y = y / 100.0
glms = []
for weighted in [False, True]:
    w = weights(len(y)) if weighted else None
    for alpha in [0.0, 0.1, 1.0]:
        for intercept in [True, False]:
            cases = [("Poisson", 1.0, "log"), ("Gamma", 2.0, "log"), ("Tweedie", 1.5, "auto"), ("Tweedie", 3.0, "auto"),
                     ("Tweedie", 0.0, "auto"), ("Tweedie", 0.0, "log"), ("Tweedie", 1.0, "identity")]  # fmt: skip
            for name, power, link in cases:
                if link == "identity" and (not intercept or alpha == 0.0):
                    continue
                options = {"alpha": alpha, "fit_intercept": intercept, "tol": 1e-9, "max_iter": 100000}
                if name == "Poisson":
                    model = lm.PoissonRegressor(solver="newton-cholesky", **options)
                elif name == "Gamma":
                    model = lm.GammaRegressor(solver="newton-cholesky", **options)
                else:
                    model = lm.TweedieRegressor(power=power, link=link, solver="newton-cholesky", **options)
                model.fit(x, y, sample_weight=w)
                glms.append(
                    {
                        "name": name, "power": power, "link": link, "alpha": alpha, "intercept": intercept,
                        "weighted": weighted, "coef": model.coef_.tolist(), "b": float(model.intercept_),
                        "predict": model.predict(x[::7]).tolist(), "n_iter": int(model.n_iter_),
                    }
                )  # fmt: skip
out["glm"] = glms

# One-class machines.
one_class = []
for kernel, x in [("rbf", wine[0]), ("linear", wine[0] + 3.0), ("poly", wine[0])]:
    for nu in [0.1, 0.5]:
        for weighted in [False, True]:
            model = OneClassSVM(kernel=kernel, nu=nu, gamma=0.05, coef0=1.0, tol=1e-9)
            model.fit(x, sample_weight=weights(len(x)) if weighted else None)
            one_class.append(
                {
                    "kernel": kernel, "nu": nu, "weighted": weighted, "shift": 3.0 if kernel == "linear" else 0.0,
                    "decision": model.decision_function(x).tolist(), "scores": model.score_samples(x).tolist(),
                    "predict": model.predict(x).tolist(), "offset": float(np.ravel(model.offset_)[0]),
                    "total": float(model.dual_coef_.sum()),
                }
            )  # fmt: skip
out["one_class"] = one_class

# Options.
x, y = diabetes
both = np.stack([y, x[:, 2] ** 2 * 50], axis=1)
options = {}
options["ridge_positive"] = [lm.Ridge(alpha=a, positive=True, tol=1e-12).fit(x, y).coef_.tolist() for a in [0.1, 10.0]]
each = lm.Ridge(alpha=[1.0, 50.0]).fit(x, both)
options["ridge_each"] = {"coef": each.coef_.tolist(), "intercept": each.intercept_.tolist()}
lasso = lm.Lasso(alpha=2.0, **tight).fit(x, both)
options["lasso_both"] = {"coef": lasso.coef_.tolist(), "intercept": lasso.intercept_.tolist()}
net = lm.ElasticNet(alpha=2.0, **tight).fit(x, both)
options["net_both"] = {"coef": net.coef_.tolist(), "intercept": net.intercept_.tolist()}
x, y = iris
free = lm.LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=1000).fit(x[:, :2], y)
options["logistic_free"] = {"proba": free.predict_proba(x[::7, :2]).tolist()}
x, y = cancer
for c in [0.01, 0.1, 1.0]:
    model = LinearSVC(penalty="l1", dual=False, C=c, tol=1e-9, max_iter=1000000).fit(x, y)
    margins = 1 - np.where(y == 1, 1, -1) * model.decision_function(x)
    objective = np.abs(model.coef_).sum() + np.abs(model.intercept_).sum() + c * (np.maximum(margins, 0) ** 2).sum()
    options[f"linear_svc_l1_{c}"] = {
        "coef": model.coef_.tolist(), "intercept": model.intercept_.tolist(), "objective": float(objective),
    }  # fmt: skip
out["options"] = options

target = Path(__file__).parent.parent / "fixtures" / "models.json"
target.write_text(json.dumps(out))
print(target, target.stat().st_size)
