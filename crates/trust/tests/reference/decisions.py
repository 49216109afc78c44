"""Writes fixtures/decisions.json: thresholds, costs, cost curves and risk-coverage curves, by scikit-learn's scores and by search.

pip install scikit-learn==1.9.1
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.metrics import confusion_matrix, fbeta_score, precision_score, recall_score, roc_curve

rng = np.random.RandomState(3)
n = 120
scores = rng.beta(2, 2, n).round(2)  # with ties
labels = (rng.uniform(size=n) < scores).astype(int)
weights = rng.randint(1, 4, n)
costs = np.array([[0.5, 7.0], [2.0, 0.0]])


def best(value, allowed=lambda guess, w: True):
    """The largest threshold of largest value."""
    found = {}
    for name, w in [("plain", np.ones(n)), ("weighted", weights.astype(float))]:
        top, where = -np.inf, None
        for threshold in [np.inf, *sorted(set(scores), reverse=True)]:
            guess = (scores >= threshold).astype(int)
            if not allowed(guess, w):
                continue
            v = value(guess, w)
            if v > top + 1e-12:
                top, where = v, threshold
        found[name] = [where if np.isfinite(where) else None, top]
    return found


def precision(guess, w):
    return precision_score(labels, guess, sample_weight=w, zero_division=0)


def recall(guess, w):
    return recall_score(labels, guess, sample_weight=w)


def mean_cost(guess, w):
    return (costs[guess, labels] * w).sum() / w.sum()


def youden(guess, w):
    tn, fp, fn, tp = confusion_matrix(labels, guess, sample_weight=w).ravel()
    return tp / (tp + fn) - fp / (fp + tn)


thresholds = {
    "cost": best(lambda guess, w: -mean_cost(guess, w)),
    "f1": best(lambda guess, w: fbeta_score(labels, guess, beta=1, sample_weight=w)),
    "f2": best(lambda guess, w: fbeta_score(labels, guess, beta=2, sample_weight=w)),
    "precision_0.8": best(recall, lambda guess, w: guess.any() and precision(guess, w) >= 0.8),
    "recall_0.75": best(precision, lambda guess, w: recall(guess, w) >= 0.75),
    "youden": best(youden),
}

# The lower envelope of the cost lines, searched at many places.
false_alarms, hits, _ = roc_curve(labels, scores, drop_intermediate=False)
places = np.linspace(0, 1, 41)
lowest = [float(np.min(false_alarms * (1 - x) + (1 - hits) * x)) for x in places]

# Decisions for three classes.
p = rng.dirichlet([1, 1, 1], 30)
table = np.array([[0, 4, 9.5], [1, 0.25, 3], [2, 6, 0]])
expected = p @ table.T

# Selective risk: mean loss of the rows with at least each confidence.
confidence, losses = rng.uniform(size=40).round(1), rng.randint(0, 2, 40)
curve = [[t, float((confidence >= t).mean()), float(losses[confidence >= t].mean())] for t in sorted(set(confidence), reverse=True)]
area = float(np.mean([losses[confidence >= t].mean() for t in confidence]))

out = {
    "versions": {name: version(name) for name in ["scikit-learn", "numpy"]},
    "binary": {"scores": scores.tolist(), "labels": labels.tolist(), "weights": weights.tolist(), "costs": costs.tolist(),
               "thresholds": thresholds, "places": places.tolist(), "lowest": lowest},
    "classes": {"p": p.tolist(), "costs": table.tolist(), "expected": expected.tolist(), "decisions": expected.argmin(1).tolist()},
    "selective": {"confidence": confidence.tolist(), "losses": losses.tolist(), "curve": curve, "area": area},
}
path = Path(__file__).parent.parent / "fixtures" / "decisions.json"
path.write_text(json.dumps(out, separators=(",", ":")) + "\n")
print(path.stat().st_size, thresholds)
