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
        out["quadratic"][f"{name} {reg_param}"] = {"name": name, "set": source, "reg_param": reg_param, **found}

path = pathlib.Path(__file__).parent.parent / "fixtures" / "discriminant.json"
path.write_text(json.dumps(out))
