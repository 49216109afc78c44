"""Reference values of the fairness tests: python fairness.py DATA writes ../fixtures/fairness_*.json.

DATA is the folder of the data sets. The fixtures hold a small deterministic sample of adult, compas and german-credit, with scores of a
logistic regression fitted to the rows of even number, and what fairlearn, scikit-learn and SciPy make of them.
"""

import json
import pathlib
import sys
import warnings

import fairlearn
import numpy as np
import pandas as pd
import scipy
import sklearn
from fairlearn import metrics as fm
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.preprocessing import CorrelationRemover
from fairlearn.reductions import DemographicParity, EqualizedOdds, ExponentiatedGradient, GridSearch
from scipy.optimize import minimize
from scipy.stats import binomtest
from sklearn import metrics as sm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

warnings.filterwarnings("ignore")
DATA = pathlib.Path(sys.argv[1])
OUT = pathlib.Path(__file__).parent.parent / "fixtures"
VERSIONS = {"fairlearn": fairlearn.__version__, "scikit-learn": sklearn.__version__, "scipy": scipy.__version__}


def adult():
    t = pd.read_csv(DATA / "adult/train.csv").iloc[::21].reset_index(drop=True)
    x = t[["age", "education-num", "hours-per-week"]].assign(married=(t["marital-status"] == "Married-civ-spouse") * 1)
    x = x.assign(gain=(t["capital-gain"] > 0) * 1, married_once=(t["marital-status"] != "Never-married") * 1)
    race = t["race"].map({"White": 0, "Black": 1}).fillna(2).astype(int)
    return x, (t["income"] == ">50K") * 1, (t["sex"] == "Male") * 1, race


def compas():
    t = pd.read_csv(DATA / "compas/compas-scores-two-years.csv").iloc[::5].reset_index(drop=True)
    x = t[["age", "priors_count", "juv_fel_count", "juv_misd_count"]].assign(felony=(t["c_charge_degree"] == "F") * 1)
    race = t["race"].map({"African-American": 0, "Caucasian": 1}).fillna(2).astype(int)
    return x, t["two_year_recid"], (t["sex"] == "Male") * 1, race


def german():
    t = pd.read_csv(DATA / "german-credit/german.csv")
    x = t[["duration", "credit_amount", "installment_rate", "existing_credits", "residence_since"]]
    x = x.assign(checking=t["status"].str[2].astype(int), savings=t["savings"].str[2].astype(int))
    female = t["personal_status_sex"].isin(["A92", "A95"]) * 1
    return x, (t["credit_risk"] == 1) * 1, 1 - female, (t["age"] < 26) * 1


class Scored(BaseEstimator, ClassifierMixin):
    """The first column is the score."""

    def fit(self, x, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, x):
        return np.asarray(x)[:, 0]


def number(value):
    return None if value is None or not np.isfinite(value) else float(value)


def frame(metric, y, d, group):
    f = fm.MetricFrame(metrics=metric, y_true=y, y_pred=d, sensitive_features=group)
    names = ["_".join(str(v) for v in (k if isinstance(k, tuple) else (k,))) for k in f.by_group.index]
    return {
        "overall": number(f.overall),
        "by_group": {name: number(v) for name, v in zip(names, f.by_group)},
        "min": number(f.group_min()),
        "max": number(f.group_max()),
        "difference": number(f.difference(method="between_groups")),
        "difference_to_overall": number(f.difference(method="to_overall")),
        "ratio": number(f.ratio(method="between_groups")),
        "ratio_to_overall": number(f.ratio(method="to_overall")),
    }


def calibration(y, score, group, bins=10):
    out = {}
    for g in sorted(set(group)):
        rows = group == g
        b = np.minimum((score[rows] * bins).astype(int), bins - 1)
        n = np.bincount(b, minlength=bins)
        hit = np.bincount(b, weights=y[rows], minlength=bins)
        total = np.bincount(b, weights=score[rows], minlength=bins)
        ends = lambda k, n: binomtest(int(k), int(n)).proportion_ci(0.95, "exact")
        out[str(g)] = {
            "rows": [int(v) for v in n],
            "ece": float(np.abs(hit - total).sum() / rows.sum()),
            "mean_score": float(score[rows].mean()),
            "base_rate_interval": [float(v) for v in ends(y[rows].sum(), rows.sum())],
        }
    return out


def thresholds(y, score, group, train):
    out = []
    x = score.reshape(-1, 1)
    for constraint in [
        "demographic_parity",
        "equalized_odds",
        "true_positive_rate_parity",
        "false_positive_rate_parity",
    ]:
        for objective in ["accuracy_score", "balanced_accuracy_score"]:
            t = ThresholdOptimizer(
                estimator=Scored().fit(None, None), constraints=constraint, objective=objective, prefit=True,
                predict_method="predict",
            )
            t.fit(x[train], y[train], sensitive_features=group[train])
            p = t._pmf_predict(x, sensitive_features=group)[:, 1]
            out.append({"constraint": constraint, "objective": objective, **expected(y, p, group, train)})
    return out


def expected(y, p, group, train):
    out = {}
    for name, rows in [("train", train), ("test", ~train)]:
        right = np.where(y == 1, p, 1 - p)
        mean = lambda mask: [float(p[rows & mask & (group == g)].mean()) for g in sorted(set(group))]
        out[name] = {
            "accuracy": float(right[rows].mean()),
            "balanced_accuracy": float(np.mean([right[rows & (y == v)].mean() for v in (0, 1)])),
            "selection": mean(y >= 0), "tpr": mean(y == 1), "fpr": mean(y == 0),
        }
    return out


def remover(x, sex, group):
    full = np.column_stack([x, sex, group]).astype(float)
    d = x.shape[1]
    out = []
    for ids, alpha in [([d], 1.0), ([d, d + 1], 1.0), ([d, d + 1], 0.4)]:
        z = CorrelationRemover(sensitive_feature_ids=ids, alpha=alpha).fit_transform(full)
        out.append({"sensitive": ids, "alpha": alpha, "rows": z[:25].tolist(), "sums": z.sum(axis=0).tolist()})
    return out


def reductions(x, y, group):
    out = []
    z = StandardScaler().fit_transform(x)
    for name, moment in [("demographic_parity", DemographicParity), ("equalized_odds", EqualizedOdds)]:
        model = LogisticRegression(tol=1e-9, max_iter=10000)
        plain = model.fit(z, y).predict(z)
        e = ExponentiatedGradient(model, constraints=moment(difference_bound=0.02), eps=0.02)
        e.fit(z, y, sensitive_features=group)
        p = e._pmf_predict(z)[:, 1]
        grid = GridSearch(model, constraints=moment(difference_bound=0.02), grid_size=11)
        grid.fit(z, y, sensitive_features=group)
        every = np.ones(len(y), dtype=bool)
        out.append({
            "constraint": name, "plain_accuracy": float((plain == y).mean()), "eps": 0.02,
            "duality_gap": float(e.best_gap_), "oracle_calls": int(e.n_oracle_calls_),
            "gradient": expected(y, p, group, every)["train"],
            "grid": expected(y, grid.predict(z).astype(float), group, every)["train"],
        })
    return out


def penalized(x, y, group):
    """Logistic regression with a dependence penalty, minimized by SciPy."""
    x, y, group = x[:150], y[:150], group[:150]
    z = (x - x.mean(0)) / x.std(0)
    n, d = z.shape
    out = []

    def between(s, cells, blocks):
        total = 0.0
        for block in np.unique(blocks):
            inside = blocks == block
            center = s[inside].mean()
            for cell in np.unique(cells[inside]):
                rows = inside & (cells == cell)
                total += rows.mean() * (s[rows].mean() - center) ** 2
        return total

    def hsic(s, cells, bandwidth):
        k = np.exp(-0.5 * (s[:, None] - s[None]) ** 2 / bandwidth**2)
        kernel = (cells[:, None] == cells[None]) * 1.0
        h = np.eye(n) - 1.0 / n
        return np.trace(k @ h @ kernel @ h) / n**2

    kinds = {
        "independence": lambda s: between(s, group, np.zeros(n)),
        "separation": lambda s: between(s, group, y),
        "hsic": lambda s: hsic(s, group, 1.5),
    }
    for name, dependence in kinds.items():
        for strength in [0.0, 0.5, 20.0]:
            def objective(v):
                s = z @ v[:-1] + v[-1]
                return np.mean(np.logaddexp(0, s) - y * s) + (v[:-1] ** 2).sum() / (2 * n) + strength * dependence(s)

            best = minimize(objective, np.zeros(d + 1), method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
            s = z @ best.x[:-1] + best.x[-1]
            out.append({
                "kind": name, "strength": strength, "objective": float(best.fun), "scores": s[:20].tolist(),
                "dependence": float(dependence(s)),
            })
    return {"x": x.tolist(), "y": y.tolist(), "group": group.tolist(), "fits": out}


def write(name, load):
    x, y, first, second = load()
    x, y, first, second = x.to_numpy(), y.to_numpy(), first.to_numpy(), second.to_numpy()
    train = np.arange(len(y)) % 2 == 0
    scaler = StandardScaler().fit(x[train])
    model = LogisticRegression(max_iter=10000).fit(scaler.transform(x[train]), y[train])
    score = np.round(model.predict_proba(scaler.transform(x))[:, 1], 6)
    d = (score > 0.5) * 1
    weights = (np.arange(len(y)) * 7 % 5 + 1).astype(float)
    both = pd.DataFrame({"first": first, "second": second})
    rates = {
        "selection_rate": fm.selection_rate, "accuracy": sm.accuracy_score, "true_positive_rate": fm.true_positive_rate,
        "false_positive_rate": fm.false_positive_rate, "false_negative_rate": fm.false_negative_rate,
        "true_negative_rate": fm.true_negative_rate,
        "positive_predictive_value": lambda t, p: sm.precision_score(t, p, zero_division=np.nan),
        "negative_predictive_value": lambda t, p: sm.precision_score(1 - t, 1 - p, zero_division=np.nan),
        "base_rate": lambda t, p: t.mean(),
    }
    gap = lambda f, **more: float(f(y, d, **more))
    of = {"sensitive_features": first}
    fixture = {
        "versions": VERSIONS, "x": x.tolist(), "y": y.tolist(), "first": first.tolist(), "second": second.tolist(),
        "score": score.tolist(), "weights": weights.tolist(),
        "frames": {name: frame(metric, y, d, first) for name, metric in rates.items()},
        "frames_second": {name: frame(metric, y, d, second) for name, metric in rates.items()},
        "frames_both": {name: frame(metric, y, d, both) for name, metric in rates.items()},
        "gaps": {
            which: {
                "demographic_parity_difference": gap(fm.demographic_parity_difference, sensitive_features=g, **w),
                "demographic_parity_ratio": gap(fm.demographic_parity_ratio, sensitive_features=g, **w),
                "equalized_odds_difference": gap(fm.equalized_odds_difference, sensitive_features=g, **w),
                "equalized_odds_ratio": gap(fm.equalized_odds_ratio, sensitive_features=g, **w),
                "equal_opportunity_difference": gap(fm.equal_opportunity_difference, sensitive_features=g, **w),
            }
            for which, g, w in [
                ("first", first, {}), ("second", second, {}), ("weighted", first, {"sample_weight": weights}),
            ]
        },
        "calibration": calibration(y, score, first),
        "auc": [float(sm.roc_auc_score(first, x[:, j])) for j in range(x.shape[1])],
        "thresholds": thresholds(y, score, first, train),
        "thresholds_second": thresholds(y, score, second, train),
        "remover": remover(x, first, second),
        "reductions": reductions(x.astype(float), y, first),
    }
    if name == "german":
        fixture["penalized"] = penalized(x.astype(float), y, second)
    (OUT / f"fairness_{name}.json").write_text(json.dumps(fixture, separators=(",", ":")))


for name, load in [("adult", adult), ("compas", compas), ("german", german)]:
    write(name, load)
