"""Two-sample tests, effect sizes and corrections by scipy and statsmodels: writes fixtures/drift.json."""

import json
from pathlib import Path

import numpy as np
import scipy
import sklearn
import statsmodels
from scipy import stats
from sklearn.metrics import roc_auc_score
from statsmodels.stats.multitest import multipletests

rng = np.random.default_rng(0)
PAIRS = {
    "equal": (rng.normal(size=37), rng.normal(size=50)),
    "same_size": (rng.normal(size=40), rng.normal(size=40)),
    "shifted": (rng.normal(size=60), rng.normal(size=90) + 0.8),
    "far": (rng.normal(size=200), rng.normal(size=300) + 3.0),
    "one": (rng.normal(size=1), rng.normal(size=7)),
    "ties": (rng.integers(0, 6, 80).astype(float), rng.integers(0, 7, 70).astype(float)),
    "wide": (rng.normal(size=150), rng.normal(size=150) * 2),
}


def kolmogorov(a, b):
    result = stats.ks_2samp(a, b, method="exact")
    return {"d": result.statistic, "p": result.pvalue}


def asymptotic():
    cases = []
    for m, n in [(4000, 100_000), (3000, 20_000), (2000, 1_000_000), (500, 700)]:
        en = round(m * n / (m + n))
        for z in [0.3, 0.5, 0.8, 1.0, 1.3, 1.45, 1.6, 2.5, 4.0]:
            d = z / np.sqrt(en)
            cases.append({"m": m, "n": n, "d": d, "p": stats.kstwo.sf(d, en)})
    return cases


def exact():
    cases = []
    for m, n in [(5, 9), (10, 10), (30, 45), (100, 101), (400, 300)]:
        for d in [0.1, 0.2, 0.35, 0.6, 0.9]:
            grid = m * n // np.gcd(m, n)
            h = int(np.ceil(d * grid - 1e-9))
            success, found, p = stats._stats_py._attempt_exact_2kssamp(m, n, np.gcd(m, n), h / grid, "two-sided")
            assert success
            cases.append({"m": m, "n": n, "d": h / grid, "p": p})
    return cases


def shares():
    cases = []
    for a, b in [([50, 48, 20], [30, 60, 25]), ([500, 300, 200], [40, 35, 25]), ([100, 200], [130, 170])]:
        result = stats.chi2_contingency([a, b], correction=False)
        cases.append({"a": a, "b": b, "statistic": result.statistic, "p": result.pvalue, "freedom": result.dof})
    return cases


def fisher():
    tables = [(8, 10, 1, 6), (0, 50, 3, 40), (120, 10_000, 40, 1000), (3, 3, 0, 4), (500, 1000, 400, 1000), (7, 20, 7, 20)]
    row = lambda a, m, b, n: stats.fisher_exact([[a, m - a], [b, n - b]]).pvalue
    return [{"table": table, "p": row(*table)} for table in tables]


def corrections():
    lists = [rng.uniform(size=12) ** 3, np.array([0.01, 0.04, 0.03, 0.04]), np.array([0.5]), np.array([1e-9, 1.0, 0.2, 0.049])]
    return [
        {
            "p": list(p),
            "holm": list(multipletests(p, method="holm")[1]),
            "bh": list(multipletests(p, method="fdr_bh")[1]),
        }
        for p in lists
    ]


def delong(negatives, positives):
    """AUC and its variance by all pairs, straight from the definition."""
    wins = (positives[:, None] > negatives[None, :]) + 0.5 * (positives[:, None] == negatives[None, :])
    return wins.mean(), wins.mean(1).var(ddof=1) / len(positives) + wins.mean(0).var(ddof=1) / len(negatives)


def areas():
    cases = []
    for shift, tied in [(0.0, False), (0.7, False), (0.5, True)]:
        a, b = rng.normal(size=30), rng.normal(size=45) + shift
        if tied:
            a, b = np.round(a), np.round(b)
        auc, variance = delong(a, b)
        assert abs(auc - roc_auc_score(np.r_[np.zeros(30), np.ones(45)], np.r_[a, b])) < 1e-12
        p = stats.mannwhitneyu(b, a, alternative="greater", method="asymptotic").pvalue
        half = stats.norm.ppf(0.975) * np.sqrt(variance)
        cases.append({"negatives": list(a), "positives": list(b), "auc": auc, "p": p, "low": auc - half, "high": auc + half})
    return cases


fixture = {
    "versions": {"numpy": np.__version__, "scipy": scipy.__version__, "statsmodels": statsmodels.__version__,
                 "scikit-learn": sklearn.__version__},
    "pairs": {
        name: {"a": list(a), "b": list(b), "wasserstein": stats.wasserstein_distance(a, b), **kolmogorov(a, b)}
        for name, (a, b) in PAIRS.items()
    },
    "asymptotic": asymptotic(),
    "exact": exact(),
    "shares": shares(),
    "fisher": fisher(),
    "corrections": corrections(),
    "areas": areas(),
}
path = Path(__file__).parent.parent / "fixtures" / "drift.json"
path.write_text(json.dumps(fixture, indent=1) + "\n")
