"""Writes tests/fixtures/calibration.json: inputs, and what scikit-learn, netcal, torchmetrics, relplot, venn-abers, betacal and scipy
say about them. Floats are written so that reading gives back the same bits.

pip install scikit-learn netcal torchmetrics relplot venn-abers betacal
"""

import json
import pathlib
import warnings
from importlib.metadata import version

import numpy as np
import scipy.optimize
import scipy.special
import scipy.stats
import sklearn.metrics
import torch
import torchmetrics
from betacal import BetaCalibration
from netcal.metrics import ECE, MCE
from relplot.metrics import smECE, smECE_sigma
from sklearn.calibration import _SigmoidCalibration, calibration_curve
from sklearn.isotonic import IsotonicRegression
from venn_abers.venn_abers import calc_p0p1, calc_probs

warnings.simplefilter("ignore")
OUT = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "calibration.json"
rng = np.random.default_rng(20)


def plain(value):
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, str):
        return value
    return float(value)


# Events with probabilities that are too extreme; among them 0, 1, multiples of a tenth, and equal ones.
logits = rng.normal(size=260) * 2
p = scipy.special.expit(logits)
y = (rng.uniform(size=260) < scipy.special.expit(logits / 1.7)).astype(int)
smooth_p, smooth_y = p.copy(), y.copy()
p[:11] = np.linspace(0, 1, 11)
p[11:30] = np.round(p[11:30], 1)
p[30:33] = [0.3, 0.1 * 3, 1 - 0.7]
curves = []
for strategy in ["uniform", "quantile"]:
    for bins in [1, 5, 10, 13]:
        frequency, mean = calibration_curve(y, p, n_bins=bins, strategy=strategy)
        curves.append({"strategy": strategy, "bins": bins, "frequency": frequency, "mean": mean})

# Four classes.
z = rng.normal(size=(230, 4)) * 2
q = scipy.special.softmax(z, axis=1)
labels = np.array([rng.choice(4, p=scipy.special.softmax(row / 1.5)) for row in z])
errors = []
for bins in [7, 10, 15]:
    metric = {
        norm: torchmetrics.CalibrationError(task="multiclass", num_classes=4, n_bins=bins, norm=norm)
        for norm in ["l1", "max"]
    }
    errors.append({
        "bins": bins,
        "ece": ECE(bins).measure(q, labels),
        "mce": MCE(bins).measure(q, labels),
        "adaptive": ECE(bins, equal_intervals=False).measure(q, labels),
        "binary_ece": ECE(bins).measure(smooth_p, smooth_y),
        "binary_mce": MCE(bins).measure(smooth_p, smooth_y),
        "torchmetrics_ece": metric["l1"](torch.tensor(q), torch.tensor(labels)),
        "torchmetrics_mce": metric["max"](torch.tensor(q), torch.tensor(labels)),
    })

# Maps: fitted to the events above, applied to a grid.
grid = np.concatenate([np.linspace(0.001, 0.999, 41), p[11:20]])
weights = rng.integers(1, 5, size=260) / 4
isotonic = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(p, y)
isotonic_weighted = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(p, y, weights)
sigmoid = _SigmoidCalibration().fit(logits, y)
sigmoid_weighted = _SigmoidCalibration().fit(logits, y, weights)
beta = BetaCalibration(parameters="abm").fit(smooth_p.reshape(-1, 1), smooth_y)
beta_grid = beta.predict(grid.reshape(-1, 1))
# A case whose unrestricted fit has a negative coefficient.
bent_p = rng.beta(0.5, 0.5, size=300)
bent_y = (rng.uniform(size=300) < np.sqrt(bent_p) * 0.4 + 0.05).astype(int)
bent = BetaCalibration(parameters="abm").fit(bent_p.reshape(-1, 1), bent_y)
# venn-abers keeps scores apart that differ by rounding; scikit-learn's isotonic regression does not.
tied = np.round(p, 12)
p0, p1, c = calc_p0p1(np.column_stack([1 - tied, tied]), y)
merged, bounds = calc_probs(p0, p1, c, np.column_stack([1 - grid, grid]))


def with_sample(score, label):
    fitted = IsotonicRegression().fit(np.append(tied, score), np.append(y, label))
    return fitted.predict([score])[0]


by_definition = [[with_sample(score, 0), with_sample(score, 1)] for score in grid]


def mean_loss(logits_of, labels_of):
    rows = logits_of - scipy.special.logsumexp(logits_of, axis=1, keepdims=True)
    return -rows[np.arange(len(labels_of)), labels_of].mean()


temperature = scipy.optimize.minimize_scalar(
    lambda log_t: mean_loss(z / np.exp(log_t), labels), bounds=(-3, 3), method="bounded", options={"xatol": 1e-12}
)


def vector_loss(point):
    w, b = point[:4], point[4:]
    return mean_loss(z * w + b, labels) + 0.5e-6 * (((w - 1) ** 2).sum() + (b**2).sum())


vector = scipy.optimize.minimize(
    vector_loss, np.r_[np.ones(4), np.zeros(4)], method="BFGS", options={"gtol": 1e-10}
)
vector = scipy.optimize.minimize(vector_loss, vector.x, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-15, "maxiter": 20000})

# Smooth calibration error: of the events, of calibrated ones, of sure ones.
fair = rng.uniform(size=400)
cases = [
    (smooth_p, smooth_y),
    (fair, (rng.uniform(size=400) < fair).astype(int)),
    (np.full(50, 0.9), np.tile([0, 1], 25)),
]
smooth = [
    {"p": f, "y": e, "value": smECE(f, e), "bandwidth": smECE(f, e, return_width=True)[1], "at_0.05": smECE_sigma(f, e, 0.05)}
    for f, e in cases
]


def parts(f, e, bins):
    place = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], f)
    out = dict(reliability=0.0, resolution=0.0, variance=0.0, covariance=0.0)
    for b in np.unique(place):
        own_f, own_e = f[place == b], e[place == b]
        share = len(own_f) / len(f)
        out["reliability"] += share * (own_f.mean() - own_e.mean()) ** 2
        out["resolution"] += share * (own_e.mean() - e.mean()) ** 2
        out["variance"] += share * own_f.var()
        out["covariance"] += 2 * share * ((own_f - own_f.mean()) * (own_e - own_e.mean())).mean()
    return {"bins": bins, "uncertainty": e.mean() * (1 - e.mean()), "brier": sklearn.metrics.brier_score_loss(e, f), **out}


def ap(rows_y, rows_p):
    return sklearn.metrics.average_precision_score(rows_y, rows_p)


scores = rng.normal(size=120) + np.repeat([0, 1.0], 60)
truth = np.repeat([0, 1], 60)
intervals = {}
for method in ["percentile", "BCa"]:
    found = scipy.stats.bootstrap(
        (truth, scores), ap, paired=True, vectorized=False, n_resamples=6000, method=method, rng=np.random.default_rng(5)
    ).confidence_interval
    intervals[method] = [found.low, found.high]
precision, recall, _ = sklearn.metrics.precision_recall_curve(truth, scores)

binomial = []
for k, n, confidence in [(0, 1, 0.95), (0, 10, 0.9), (3, 10, 0.95), (10, 10, 0.99), (930, 1000, 0.95), (1, 50000, 0.999)]:
    test = scipy.stats.binomtest(k, n)
    exact, wilson = (test.proportion_ci(confidence, method) for method in ["exact", "wilson"])
    binomial.append({"k": k, "n": n, "confidence": confidence, "exact": [*exact], "wilson": [*wilson]})

fixture = {
    "versions": {
        name: version(name)
        for name in ["numpy", "scipy", "scikit-learn", "netcal", "torchmetrics", "torch", "relplot", "venn-abers", "betacal"]
    },
    "p": p, "y": y, "logits": logits, "weights": weights, "curves": curves,
    "smooth_p": smooth_p, "q": q, "z": z, "labels": labels, "errors": errors,
    "grid": grid,
    "isotonic": isotonic.predict(grid), "isotonic_weighted": isotonic_weighted.predict(grid),
    "sigmoid": [sigmoid.a_, sigmoid.b_], "sigmoid_weighted": [sigmoid_weighted.a_, sigmoid_weighted.b_],
    "beta": beta_grid, "bent_p": bent_p, "bent_y": bent_y, "bent": bent.predict(grid.reshape(-1, 1)), "bent_map": bent.calibrator_.map_,
    "tied": tied, "venn_abers": bounds, "venn_abers_merged": merged[:, 1], "venn_abers_by_definition": by_definition,
    "temperature": np.exp(temperature.x), "vector": vector.x, "vector_loss": vector.fun,
    "smooth": smooth,
    "spiegelhalter": ((y - p) * (1 - 2 * p)).sum() / np.sqrt(((1 - 2 * p) ** 2 * p * (1 - p)).sum()),
    "brier": [parts(p, y, bins) for bins in [1, 5, 10]],
    "truth": truth, "scores": scores, "average_precision_intervals": intervals,
    "precision_recall_auc": sklearn.metrics.auc(recall, precision),
    "binomial": binomial,
}
OUT.write_text(json.dumps(plain(fixture)) + "\n")
