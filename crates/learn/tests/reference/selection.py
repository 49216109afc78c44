"""Folds, scorers and searches of scikit-learn: python selection.py writes ../fixtures/selection.json."""

import json
import pathlib

import numpy as np
import sklearn
from sklearn import datasets, dummy, linear_model, metrics, model_selection as ms, naive_bayes, pipeline, preprocessing

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
out["leave_one_group_out"] = {"groups": groups, "folds": folds(ms.LeaveOneGroupOut(), len(groups), None, groups)}
out["leave_p_groups_out"] = [{"groups": groups, "p": p, "folds": folds(ms.LeavePGroupsOut(p), len(groups), None, groups)} for p in [1, 2, 4]]
rng = np.random.default_rng(7)
out["stratified_group"] = []
for n, classes, many, k in [(20, 2, 6, 2), (60, 3, 12, 4), (60, 2, 30, 5), (50, 4, 50, 3), (40, 2, 4, 3)]:
    y = rng.integers(0, classes, n).tolist()
    g = rng.integers(0, many, n).tolist()
    out["stratified_group"].append({"y": y, "groups": g, "k": k, "folds": folds(ms.StratifiedGroupKFold(k), n, y, g)})
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

# Scores of models that both sides fit exactly, under the names that are used here.
def named(estimator, x, y, cv, scores):
    report = ms.cross_validate(estimator, x, y, cv=cv, scoring=scores)
    return {s: report[f"test_{s}"].tolist() for s in scores}


def own(function, response="predict", **options):
    return metrics.make_scorer(function, response_method=response, **options)


x, y = datasets.load_breast_cancer(return_X_y=True)
scores = ["matthews_corrcoef", "balanced_accuracy", "jaccard", "jaccard_macro", "jaccard_micro", "jaccard_weighted", "f1_micro",
          "precision_micro", "precision_weighted", "recall", "recall_micro", "recall_weighted"]
scores = {s: s for s in scores} | {
    "fbeta(beta=2)": own(metrics.fbeta_score, beta=2),
    "fbeta(beta=0.5)": own(metrics.fbeta_score, beta=0.5),
    "fbeta_macro(beta=3)": own(metrics.fbeta_score, beta=3, average="macro"),
    "cohen_kappa": own(metrics.cohen_kappa_score),
}
out["named_two"] = named(naive_bayes.GaussianNB(), x, y, ms.StratifiedKFold(4), scores)
x, y = datasets.load_iris(return_X_y=True)
scores = {s: s for s in ["matthews_corrcoef", "jaccard_macro", "jaccard_micro", "jaccard_weighted"]} | {
    "cohen_kappa": own(metrics.cohen_kappa_score),
    "cohen_kappa_linear": own(metrics.cohen_kappa_score, weights="linear"),
    "cohen_kappa_quadratic": own(metrics.cohen_kappa_score, weights="quadratic"),
    "top_k_accuracy(k=2)": own(metrics.top_k_accuracy_score, "predict_proba", k=2),
    "top_k_accuracy(k=1)": own(metrics.top_k_accuracy_score, "predict_proba", k=1),
}
out["named_three"] = named(naive_bayes.GaussianNB(), x[:, :2], y, ms.StratifiedKFold(5), scores)
x, y = datasets.load_diabetes(return_X_y=True)
scores = ["explained_variance", "neg_median_absolute_error", "neg_mean_absolute_percentage_error", "neg_max_error",
          "neg_mean_squared_log_error", "neg_mean_poisson_deviance", "neg_mean_gamma_deviance", "d2_absolute_error_score"]
scores = {s: s for s in scores} | {
    "d2_tweedie_score(power=1.5)": own(metrics.d2_tweedie_score, power=1.5),
    "d2_poisson": own(metrics.d2_tweedie_score, power=1),
    "d2_gamma": own(metrics.d2_tweedie_score, power=2),
    "d2_pinball_score(alpha=0.9)": own(metrics.d2_pinball_score, alpha=0.9),
    "neg_mean_pinball_loss(alpha=0.1)": own(metrics.mean_pinball_loss, alpha=0.1, greater_is_better=False),
}
out["named_numbers"] = named(linear_model.Ridge(alpha=0.5), x, y, ms.KFold(4), scores)

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
