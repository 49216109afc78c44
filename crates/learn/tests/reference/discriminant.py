"""Discriminant analysis of scikit-learn: python discriminant.py writes ../fixtures/discriminant.json."""

import json
import pathlib

import numpy as np
import sklearn
from sklearn import datasets
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis


def sets():
    """Three classes, two classes, and columns that are constant or depend on others."""
    for name, load in [("iris", datasets.load_iris), ("wine", datasets.load_wine)]:
        x, y = load(return_X_y=True)
        yield name, name, x, y
    x, y = datasets.load_breast_cancer(return_X_y=True)
    yield "breast_cancer", "breast_cancer", x, y
    x, y = datasets.load_iris(return_X_y=True)
    yield "iris_dependent", "iris", np.column_stack([x, x[:, 0] - 2 * x[:, 2], np.full(len(x), 3.0)]), y


def answers(model, x):
    some = x[::7]
    return {"means": model.means_.tolist(), "priors": model.priors_.tolist(), "decision": model.decision_function(some).tolist(),
            "proba": model.predict_proba(some).tolist(), "labels": model.predict(some).tolist()}


out = {"versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__}, "linear": {}, "quadratic": {}}
for name, source, x, y in sets():
    for tol in [1e-4, 0.3]:
        model = LinearDiscriminantAnalysis(tol=tol).fit(x, y)
        out["linear"][f"{name} {tol}"] = {"name": name, "set": source, "tol": tol, "coef": model.coef_.tolist(),
                                           "intercept": model.intercept_.tolist(), **answers(model, x)}
    for reg_param in [0.0, 0.1]:
        try:
            model = QuadraticDiscriminantAnalysis(reg_param=reg_param).fit(x, y)
            found = answers(model, x)
        except np.linalg.LinAlgError as error:
            found = {"error": str(error)}
        out["quadratic"][f"{name} {reg_param}"] = {"name": name, "set": source, "settings": {"reg_param": reg_param}, **found}

# Solvers, shrinkage, given priors and projections.
out["solvers"] = []
priors = [0.2, 0.5, 0.3]
for name in ["iris", "wine", "breast_cancer"]:
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    own = priors if len(set(y)) == 3 else [0.3, 0.7]
    for settings in [
        {"solver": "svd", "priors": own, "store_covariance": True}, {"solver": "svd", "n_components": 1},
        {"solver": "lsqr"}, {"solver": "lsqr", "shrinkage": "auto"}, {"solver": "lsqr", "shrinkage": 0.3, "priors": own},
        {"solver": "eigen"}, {"solver": "eigen", "shrinkage": "auto", "priors": own}, {"solver": "eigen", "shrinkage": 0.3, "n_components": 1},
    ]:  # fmt: skip
        model = LinearDiscriminantAnalysis(**settings).fit(x, y)
        case = {"name": name, "set": name, "settings": settings, "coef": model.coef_.tolist(), "intercept": model.intercept_.tolist(),
                **answers(model, x)}  # fmt: skip
        if hasattr(model, "covariance_"):
            case["covariance"] = model.covariance_.tolist()
        if settings["solver"] != "lsqr":
            case["transform"] = model.transform(x[::7]).tolist()
            case["explained_variance_ratio"] = model.explained_variance_ratio_.tolist()
        out["solvers"].append(case)
    # What is symmetric in the definition: shrunk covariance matrices, priors, stored covariance matrices.
    for settings in [
        {"priors": own, "store_covariance": True, "reg_param": 0.2}, {"solver": "eigen", "shrinkage": 0.3, "store_covariance": True, "tol": 0.0},
        {"solver": "eigen", "shrinkage": "auto", "priors": own, "tol": 0.0}, {"solver": "eigen", "tol": 0.0},
    ]:  # fmt: skip
        model = QuadraticDiscriminantAnalysis(**settings).fit(x, y)
        case = {"name": name, "set": name, "settings": settings, **answers(model, x)}
        if settings.get("store_covariance") and settings.get("solver") == "eigen":
            case["covariance"] = np.array(model.covariance_).tolist()
        out["quadratic"][f"{name} {settings}"] = case

path = pathlib.Path(__file__).parent.parent / "fixtures" / "discriminant.json"
path.write_text(json.dumps(out))
