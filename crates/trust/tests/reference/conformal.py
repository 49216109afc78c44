"""Writes fixtures/conformal.json: sets and intervals of MAPIE, crepes and puncc for the same predictions.

pip install mapie==1.6.0 crepes==0.9.1 puncc==0.9.3 scikit-learn==1.9.1
"""

import json
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from crepes import ConformalClassifier, ConformalRegressor
from deel.puncc.api.nonconformity_scores import cqr_score, lac_score, raps_score
from deel.puncc.api.prediction_sets import lac_set, raps_set
from deel.puncc.api.utils import quantile as puncc_quantile
from mapie.classification import CrossConformalClassifier, SplitConformalClassifier
from mapie.regression import ConformalizedQuantileRegressor, CrossConformalRegressor, SplitConformalRegressor
from mapie.risk_control import MultiLabelClassificationController
from scipy.stats import beta, binomtest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold

warnings.filterwarnings("ignore")
SEED = 7
rng = np.random.RandomState(SEED)


class Known(ClassifierMixin, BaseEstimator):
    """Gives stored probabilities; a row is its number."""

    def __init__(self, p=None):
        self.p = p
        self.classes_ = np.arange(p.shape[1])
        self.fitted_ = True

    def fit(self, x, y):
        return self

    def predict_proba(self, x):
        return self.p[x[:, 0].astype(int)]

    def predict(self, x):
        return self.predict_proba(x).argmax(1)


class Column(RegressorMixin, BaseEstimator):
    """Gives stored predictions; a row is its number."""

    def __init__(self, values=None):
        self.values = values
        self.fitted_ = True

    def fit(self, x, y):
        return self

    def predict(self, x):
        return self.values[x[:, 0].astype(int)]


def rows(n, start=0):
    return np.arange(start, start + n, dtype=float)[:, None]


def bits(sets):
    """A set per row as a text of zeros and ones."""
    return ["".join("1" if member else "0" for member in row) for row in np.asarray(sets).astype(bool)]


def lists(sets, classes):
    table = np.zeros((len(sets), classes), bool)
    for row, members in enumerate(sets):
        table[row, list(members)] = True
    return bits(table)


# Probabilities of a logistic regression that has seen few digits, so that sets have many sizes.
digits = load_digits()
order = rng.permutation(len(digits.target))
x, y = digits.data[order][:, 20:44] / 16, digits.target[order]
fit, cal, test = slice(0, 150), slice(150, 320), slice(320, 400)
model = LogisticRegression(max_iter=2000, C=0.3).fit(x[fit], y[fit])
p_cal, p_test, y_cal, y_test = model.predict_proba(x[cal]), model.predict_proba(x[test]), y[cal], y[test]
n, m, k = len(y_cal), 10, len(y_test)
p_all = np.vstack([p_cal, p_test])
ALPHAS = [0.05, 0.1, 0.2]


def mapie_sets(score, include_last=True):
    tool = SplitConformalClassifier(
        Known(p_all), confidence_level=[1 - a for a in ALPHAS], conformity_score=score, prefit=True, random_state=SEED
    )
    tool.conformalize(rows(n), y_cal)
    options = {} if score == "lac" else {"conformity_score_params": {"include_last_label": include_last}}
    return tool, tool.predict_set(rows(k, n), **options)[1]


classification = {"p_cal": p_cal.tolist(), "y_cal": y_cal.tolist(), "p_test": p_test.tolist(), "y_test": y_test.tolist(),
                  "alphas": ALPHAS, "u_cal": np.random.RandomState(SEED).uniform(size=n).tolist(),
                  "u_test": np.random.RandomState(SEED).uniform(size=k).tolist()}
mapie = {"lac": [bits(mapie_sets("lac")[1][:, :, i]) for i in range(3)]}
for name, last in [("aps_randomized", "randomized"), ("aps_last", True), ("aps_without_last", False)]:
    sets = mapie_sets("aps", last)[1]
    mapie[name] = [bits(sets[:, :, i]) for i in range(3)]
raps = []
for alpha in ALPHAS[1:]:  # MAPIE holds out a tenth of the rows for its choice of k and lambda, too few for 0.05
    tool = SplitConformalClassifier(
        Known(p_all), confidence_level=1 - alpha, conformity_score="raps", prefit=True, random_state=SEED
    )
    tool.conformalize(rows(n), y_cal)
    without = tool.predict_set(rows(k, n), conformity_score_params={"include_last_label": False})[1][:, :, 0]
    sets = tool.predict_set(rows(k, n), conformity_score_params={"include_last_label": True})[1][:, :, 0]
    inner = tool._mapie_classifier.conformity_score_function_
    held = set(inner.X_raps[:, 0].astype(int).tolist())
    # The rows that are left, in the order in which MAPIE pairs them with its random numbers.
    from sklearn.model_selection import StratifiedShuffleSplit
    left, _ = next(StratifiedShuffleSplit(1, test_size=None, random_state=SEED).split(rows(n), y_cal))
    assert held.isdisjoint(left.tolist()) and len(left) + len(held) == n
    u = np.random.RandomState(SEED).uniform(size=len(left))
    raps.append({"alpha": alpha, "k_star": float(np.ravel(inner.k_star)[0]), "lambda": float(np.ravel(inner.lambda_star)[0]),
                 "rows": left.tolist(), "u": u.tolist(), "quantile": float(np.ravel(inner.quantiles_)[0]),
                 "without_last": bits(without), "last": bits(sets)})
mapie["raps"] = raps
classification["mapie"] = mapie

# puncc: sets with the first label that reaches the quantile.
puncc = {"lac": [], "raps": []}
for alpha in ALPHAS:
    level = float((1 - alpha) * (1 + 1 / n))
    q = puncc_quantile(lac_score(p_cal, y_cal), level)
    puncc["lac"].append(lists(lac_set(p_test, q)[0], m))
    q = puncc_quantile(raps_score(p_cal, y_cal, lambd=0.05, k_reg=2, rand=False), level)
    puncc["raps"].append({"quantile": float(q), "sets": lists(raps_set(p_test, q, lambd=0.05, k_reg=2, rand=False)[0], m)})
classification["puncc"] = puncc

# crepes: by group and by class, without smoothing.
g_cal, g_test = rng.randint(0, 3, n) * 5 - 3, rng.randint(0, 3, k) * 5 - 3
hinge_cal, hinge_test = 1 - p_cal[np.arange(n), y_cal], 1 - p_test
tool = ConformalClassifier().fit(hinge_cal, bins=g_cal)
grouped = tool.predict_set(hinge_test, bins=g_test, confidence=0.85, smoothing=False)
tool = ConformalClassifier().fit(hinge_cal, bins=y_cal)
# By class: the group of a class is the class itself, one column at a time.
columns = [tool.predict_set(hinge_test[:, [c]], bins=np.full(k, c), confidence=0.77, smoothing=False) for c in range(m)]
classification["crepes"] = {"g_cal": g_cal.tolist(), "g_test": g_test.tolist(), "group_alpha": 0.15, "by_group": bits(grouped),
                            "class_alpha": 0.23, "by_class": bits(np.hstack(columns))}

# Regression on diabetes: predictions, a difficulty and two quantiles.
data = load_diabetes()
order = rng.permutation(len(data.target))
x, t = data.data[order], data.target[order]
fit, cal, test = slice(0, 150), slice(150, 280), slice(280, 340)
line = LinearRegression().fit(x[fit], t[fit])
size = LinearRegression().fit(x[fit], np.abs(t[fit] - line.predict(x[fit])))
center, sigma = line.predict(x), np.clip(size.predict(x), 10, None)
low, high = center - 1.3 * sigma, center + 1.1 * sigma
n_cal, n_test = 130, 60
regression = {name: {"cal": values[cal].tolist(), "test": values[test].tolist()}
              for name, values in [("y", t), ("center", center), ("sigma", sigma), ("low", low), ("high", high)]}
tool = SplitConformalRegressor(Column(center), confidence_level=0.9, prefit=True)
tool.conformalize(rows(n_cal, 150), t[cal])
regression["mapie_absolute"] = tool.predict_interval(rows(n_test, 280))[1][:, :, 0].tolist()
tool = ConformalizedQuantileRegressor([Column(low), Column(high), Column(center)], confidence_level=0.9, prefit=True)
tool.conformalize(rows(n_cal, 150), t[cal])
regression["mapie_cqr"] = tool.predict_interval(rows(n_test, 280), symmetric_correction=True)[1][:, :, 0].tolist()
regression["mapie_cqr_asymmetric"] = tool.predict_interval(rows(n_test, 280))[1][:, :, 0].tolist()
bins_cal, bins_test = rng.randint(0, 2, n_cal) + 4, rng.randint(0, 2, n_test) + 4
residuals = t[cal] - center[cal]
tool = ConformalRegressor().fit(residuals, sigmas=sigma[cal], bins=bins_cal)
regression["crepes_normalized_by_group"] = tool.predict_int(center[test], sigmas=sigma[test], bins=bins_test, confidence=0.87).tolist()
regression["groups"] = {"cal": bins_cal.tolist(), "test": bins_test.tolist(), "alpha": 0.13}
tool = ConformalRegressor().fit(residuals)
regression["crepes_absolute"] = tool.predict_int(center[test], confidence=0.9).tolist()
q = puncc_quantile(cqr_score(np.column_stack([low[cal], high[cal]]), t[cal]), 0.9 * (1 + 1 / n_cal))
regression["puncc_cqr"] = np.column_stack([low[test] - q, high[test] + q]).tolist()

# CV+, jackknife+ and minmax with an ordinary linear regression on few rows.
x_few, t_few, x_new = data.data[order][:60, :3], data.target[order][:60], data.data[order][60:85, :3]
cross = {"x": x_few.tolist(), "y": t_few.tolist(), "x_new": x_new.tolist(), "alpha": 0.15}
for name, method, folds in [("cv_plus", "plus", KFold(5)), ("jackknife_plus", "plus", -1), ("cv_minmax", "minmax", KFold(5))]:
    tool = CrossConformalRegressor(LinearRegression(), confidence_level=0.85, method=method, cv=folds)
    tool.fit_conformalize(x_few, t_few)
    cross[name] = tool.predict_interval(x_new)[1][:, :, 0].tolist()

# Cross-conformal classification: the models of the folds, MAPIE's sets.
x, y = digits.data[rng.permutation(len(digits.target))], None
order = rng.permutation(len(digits.target))
x, y = digits.data[order][:, 20:44] / 16, digits.target[order]
keep = y < 4
x, y = x[keep][:180], y[keep][:180]
x_fit, y_fit, x_more = x[:129], y[:129], x[129:]
folds = KFold(4)
seen, fold_of, later = np.zeros((129, 4)), np.zeros(129, int), []
for number, (train, left) in enumerate(folds.split(x_fit)):
    model = LogisticRegression(C=0.02).fit(x_fit[train], y_fit[train])
    seen[left], fold_of[left] = model.predict_proba(x_fit[left]), number
    later.append(model.predict_proba(x_more))
tool = CrossConformalClassifier(LogisticRegression(C=0.02), confidence_level=0.9, conformity_score="lac", cv=folds)
tool.fit_conformalize(x_fit, y_fit)
cross_sets = tool.predict_set(x_more, agg_scores="crossval")[1][:, :, 0]
# The rule of Vovk 2015 and Romano et al. 2020, written out: the p-value is above alpha.
scores = 1 - seen[np.arange(129), y_fit]
count = np.zeros((len(x_more), 4), int)
for row in range(129):
    count += scores[row] >= 1 - later[fold_of[row]]
classification["cross"] = {"seen": seen.tolist(), "folds": fold_of.tolist(), "y": y_fit.tolist(), "alpha": 0.1,
                           "later": [p.tolist() for p in later], "mapie": bits(cross_sets), "rule": bits((count + 1) / 130 > 0.1)}

# False negative rate of label sets: MAPIE's grid of thresholds.
scores = rng.beta(1, 3, (150, 6))
truth = (rng.uniform(size=(150, 6)) < scores ** 0.7).astype(int)
truth[truth.sum(1) == 0, 0] = 1
grid = np.arange(0, 1, 0.01)
tool = MultiLabelClassificationController(lambda _: scores, risk="recall", method="crc", target_level=[0.8, 0.9], predict_params=grid)
tool.calibrate(rows(150), truth)
risk = {"scores": scores.round(6).tolist(), "truth": truth.tolist(), "targets": [0.8, 0.9],
        "mapie": np.ravel(tool.best_predict_param).tolist()}

intervals = []
for hits, total, confidence in [(0, 7, 0.95), (7, 7, 0.9), (3, 7, 0.95), (88, 100, 0.95), (1, 5000, 0.99), (4500, 5000, 0.95),
                                (123456, 1000000, 0.95)]:
    found = binomtest(hits, total).proportion_ci(confidence, "exact")
    intervals.append([hits, total, confidence, found.low, found.high])
ranges = []
for total, alpha in [(20, 0.1), (100, 0.05), (1000, 0.1), (100000, 0.2)]:
    rank = int(np.ceil((total + 1) * (1 - alpha) - 1e-9))
    ranges.append([total, alpha, *beta.ppf([0.05, 0.95], rank, total + 1 - rank).tolist()])

versions = {name: version(name) for name in ["mapie", "crepes", "puncc", "scikit-learn", "scipy", "numpy"]}
out = {"versions": versions, "classification": classification, "regression": regression, "cross": cross, "risk": risk,
       "clopper_pearson": intervals, "coverage_ranges": ranges}
path = Path(__file__).parent.parent / "fixtures" / "conformal.json"
path.write_text(json.dumps(out, separators=(",", ":")) + "\n")
print(path.stat().st_size, [(r["k_star"], r["lambda"]) for r in raps], risk["mapie"])
