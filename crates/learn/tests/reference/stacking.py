"""Stacking and calibration of scikit-learn: python stacking.py writes ../fixtures/stacking.json."""

import json
import pathlib

import numpy as np
import sklearn
from sklearn import calibration, datasets, ensemble, linear_model, naive_bayes, preprocessing, svm

out = {"versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__}}

x, y = datasets.load_diabetes(return_X_y=True)
bases = [("ridge", linear_model.Ridge(alpha=0.1)), ("line", linear_model.LinearRegression())]
out["regression"] = {}
for name, options in {
    "default": {},
    "passthrough": {"passthrough": True, "final_estimator": linear_model.Ridge(alpha=2.0), "cv": 3},
}.items():
    stack = ensemble.StackingRegressor(bases, **options).fit(x, y)
    out["regression"][name] = {"predict": stack.predict(x).tolist(), "transform": stack.transform(x)[:5, :2].tolist()}
weights = 1.0 + np.arange(len(y)) % 3
stack = ensemble.StackingRegressor(bases, final_estimator=linear_model.Ridge(alpha=2.0)).fit(x, y, sample_weight=weights)
out["regression"]["weighted"] = {"predict": stack.predict(x).tolist(), "transform": stack.transform(x)[:5, :2].tolist()}


def logistic(c=1.0):
    return linear_model.LogisticRegression(C=c, tol=1e-10, max_iter=10000)


iris = datasets.load_iris(return_X_y=True)
cancer_x, cancer_y = datasets.load_breast_cancer(return_X_y=True)
sets = {"iris": iris, "breast_cancer": (preprocessing.StandardScaler().fit_transform(cancer_x), cancer_y)}

out["classification"] = {}
for data, (x, y) in sets.items():
    bases = [("nb", naive_bayes.GaussianNB()), ("logistic", logistic(0.5))]
    for name, options in {
        "auto": {},
        "decision": {"stack_method": "decision_function"},
        "predict": {"stack_method": "predict", "cv": 3},
        "passthrough": {"passthrough": True},
    }.items():
        own = bases[1:] if name == "decision" else bases
        stack = ensemble.StackingClassifier(own, final_estimator=logistic(), **options).fit(x, y)
        out["classification"][f"{data} {name}"] = stack.predict_proba(x)[::7].tolist()

out["calibration"] = {}
for data, (x, y) in sets.items():
    for base, estimator in {
        "nb": naive_bayes.GaussianNB(),
        "logistic": logistic(),
        "svc": svm.LinearSVC(tol=1e-12, max_iter=1000000, dual=False),
    }.items():
        for method in ["sigmoid", "isotonic"]:
            for joint in [True, False]:
                model = calibration.CalibratedClassifierCV(estimator, method=method, ensemble=joint, cv=4)
                w = None if base == "svc" else 1.0 + np.arange(len(y)) % 3
                model.fit(x, y, sample_weight=w)
                key = f"{data} {base} {method} {str(joint).lower()}"
                out["calibration"][key] = model.predict_proba(x)[::7].tolist()

path = pathlib.Path(__file__).parent.parent / "fixtures" / "stacking.json"
path.write_text(json.dumps(out))
