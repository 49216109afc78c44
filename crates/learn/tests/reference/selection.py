"""Folds, scorers and searches of scikit-learn: python selection.py writes ../fixtures/selection.json."""

import json
import pathlib

import numpy as np
import sklearn
from sklearn import datasets, dummy, linear_model, model_selection as ms, pipeline, preprocessing

out = {"versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__}}


def folds(splitter, n, y=None, groups=None):
    x = np.zeros((n, 1))
    return [{"train": a.tolist(), "test": b.tolist()} for a, b in splitter.split(x, y, groups)]


y13 = [0, 1, 1, 2, 0, 0, 1, 2, 2, 0, 1, 0, 0]
y40 = [(7 * i * i + i) % 3 + 5 for i in range(40)]
groups = [3, 3, 1, 1, 1, 2, 4, 4, 4, 4, 2, 9, 1, 4, 9, 9, 9, 9, 9, 7]
out["kfold"] = [{"n": n, "k": k, "folds": folds(ms.KFold(k), n)} for n, k in [(10, 5), (7, 3), (11, 4), (6, 6), (5, 2)]]
out["stratified"] = [{"y": y, "k": k, "folds": folds(ms.StratifiedKFold(k), len(y), y)} for y, k in [(y13, 2), (y13, 3), (y40, 5), (y40, 10)]]
out["group"] = [{"groups": groups, "k": k, "folds": folds(ms.GroupKFold(k), len(groups), None, groups)} for k in [2, 3, 4]]
out["time"] = []
for n, k, gap, most, size in [(12, 3, 0, None, None), (13, 4, 1, None, None), (20, 3, 2, 5, 4), (9, 2, 0, 3, None)]:
    splitter = ms.TimeSeriesSplit(k, gap=gap, max_train_size=most, test_size=size)
    out["time"].append({"n": n, "k": k, "gap": gap, "max_train_size": most, "test_size": size, "folds": folds(splitter, n)})
out["leave_one_out"] = {"n": 5, "folds": folds(ms.LeaveOneOut(), 5)}

# Scores of the constants, which both sides have, by all folds.
x, y = datasets.load_breast_cancer(return_X_y=True)
scores = ["accuracy", "balanced_accuracy", "f1", "f1_macro", "f1_weighted", "precision", "recall_macro", "roc_auc",
          "average_precision", "neg_log_loss", "neg_brier_score"]
report = ms.cross_validate(dummy.DummyClassifier(), x, y, cv=ms.StratifiedKFold(5), scoring=scores, return_train_score=True)
out["classifier"] = {s: {"test": report[f"test_{s}"].tolist(), "train": report[f"train_{s}"].tolist()} for s in scores}
x, y = datasets.load_diabetes(return_X_y=True)
scores = ["r2", "neg_mean_squared_error", "neg_root_mean_squared_error", "neg_mean_absolute_error"]
report = ms.cross_validate(dummy.DummyRegressor(), x, y, cv=ms.KFold(4), scoring=scores, return_train_score=True)
out["regressor"] = {s: {"test": report[f"test_{s}"].tolist(), "train": report[f"train_{s}"].tolist()} for s in scores}
search = ms.GridSearchCV(dummy.DummyRegressor(), {"strategy": ["mean", "median"]}, cv=ms.KFold(4), scoring="neg_mean_absolute_error").fit(x, y)
table = search.cv_results_
out["grid"] = {"mean": table["mean_test_score"].tolist(), "std": table["std_test_score"].tolist(), "rank": table["rank_test_score"].tolist()}
x, y = datasets.load_iris(return_X_y=True)
out["predict"] = ms.cross_val_predict(dummy.DummyClassifier(), x[20:], y[20:], cv=ms.KFold(3)).tolist()

# A grid over a pipeline with a real estimator, learning and validation curves without shuffling.
x, y = datasets.load_diabetes(return_X_y=True)
steps = pipeline.Pipeline([("scale", preprocessing.StandardScaler()), ("ridge", linear_model.Ridge())])
grid = {"ridge__alpha": [0.1, 10.0, 1000.0], "scale__with_mean": [True, False]}
search = ms.GridSearchCV(steps, grid, cv=ms.KFold(5), scoring="neg_mean_squared_error").fit(x, y)
table = search.cv_results_
out["pipeline"] = {"mean": table["mean_test_score"].tolist(), "std": table["std_test_score"].tolist(), "rank": table["rank_test_score"].tolist(),
                   "best": int(search.best_index_), "predict": search.predict(x[:10]).tolist()}
own, left = ms.validation_curve(steps, x, y, param_name="ridge__alpha", param_range=[0.1, 1000.0], cv=ms.KFold(4), scoring="r2")
out["validation_curve"] = {"train": own.tolist(), "test": left.tolist()}

path = pathlib.Path(__file__).parent.parent / "fixtures" / "selection.json"
path.write_text(json.dumps(out))
