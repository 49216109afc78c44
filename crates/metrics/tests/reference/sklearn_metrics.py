"""Writes tests/fixtures/sklearn_metrics.json: inputs and what scikit-learn says about them.

A file is {"versions": {...}, "cases": [{"kind", "name", ...inputs, "expected": {...}}]}. Floats are written so that reading
gives back the same bits; inf and nan are strings. Weights are multiples of 1/4, so that sums of them are exact and the
same points of a ROC curve count as collinear everywhere.
"""

import json
import math
import pathlib
import platform
import warnings

import numpy as np
import scipy
import scipy.special
import sklearn
import sklearn.metrics as m

OUT = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "sklearn_metrics.json"
warnings.simplefilter("ignore")


def plain(value):
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, (int, np.integer)):
        return int(value)
    if value is None or isinstance(value, str):
        return value
    value = float(value)
    return str(value) if math.isnan(value) or math.isinf(value) else value


cases = []


def case(kind, name, expected, **inputs):
    cases.append(plain({"kind": kind, "name": name, **inputs, "expected": expected}))


def classes(name, truth, prediction, weights=None):
    truth, prediction = np.asarray(truth), np.asarray(prediction)
    options = {"sample_weight": weights}
    expected = {
        "accuracy": m.accuracy_score(truth, prediction, **options),
        "labels": np.union1d(truth, prediction),
        "confusion": m.confusion_matrix(truth, prediction, **options).ravel(),
    }
    for zero in [0.0, 1.0, np.nan]:
        for average in [None, "micro", "macro", "weighted"]:
            scores = m.precision_recall_fscore_support(
                truth, prediction, average=average, zero_division=zero, **options
            )
            if average is None:
                expected[f"each_{zero}"] = [list(part) for part in scores]
            else:
                expected[f"{average}_{zero}"] = list(scores[:3])
    expected["matthews"] = m.matthews_corrcoef(truth, prediction, **options)
    expected["balanced"] = m.balanced_accuracy_score(truth, prediction, **options)
    expected["balanced_adjusted"] = m.balanced_accuracy_score(truth, prediction, adjusted=True, **options)
    expected["kappa"] = [
        m.cohen_kappa_score(truth, prediction, weights=kind, **options) for kind in [None, "linear", "quadratic"]
    ]
    for average in [None, "micro", "macro", "weighted"]:
        expected[f"jaccard_{average}"] = m.jaccard_score(truth, prediction, average=average, zero_division=0, **options)
        expected[f"fbeta_{average}"] = [
            m.fbeta_score(truth, prediction, beta=beta, average=average, zero_division=0, **options)
            for beta in [0, 0.5, 2, np.inf]
        ]
    case("classes", name, expected, truth=truth, prediction=prediction, weights=weights)


def ranking(name, truth, scores, weights=None):
    truth, scores = np.asarray(truth), np.asarray(scores, dtype=np.float64)
    options = {"sample_weight": weights}
    expected = {"average_precision": m.average_precision_score(truth, scores, **options)}
    precision, recall, thresholds = m.precision_recall_curve(truth, scores, **options)
    expected["pr"] = [precision, recall, thresholds]
    if len(set(truth)) == 2:
        expected["auc"] = m.roc_auc_score(truth, scores, **options)
        expected["roc"] = list(m.roc_curve(truth, scores, **options))
    case("ranking", name, expected, truth=truth, scores=scores, weights=weights)


def probabilities(name, truth, p, weights=None):
    truth, p = np.asarray(truth), np.asarray(p, dtype=np.float64)
    labels = list(range(p.shape[1] if p.ndim == 2 else 2))
    expected = {"log_loss": m.log_loss(truth, p, labels=labels, sample_weight=weights)}
    if p.ndim == 2:
        expected["brier"] = m.brier_score_loss(truth, p, labels=labels, sample_weight=weights)
    else:
        expected["brier"] = m.brier_score_loss(truth, p, sample_weight=weights, pos_label=1)
    case("probabilities", name, expected, truth=truth, p=p, weights=weights)


def multiclass(name, truth, scores, weights=None):
    truth, scores = np.asarray(truth), np.asarray(scores, dtype=np.float64)
    count = scores.shape[1]
    log_p = scores - scipy.special.logsumexp(scores, axis=1, keepdims=True)
    p = np.exp(log_p)
    p /= p.sum(axis=1, keepdims=True)
    options = {"sample_weight": weights, "labels": list(range(count))}
    expected = {
        "top_k": [m.top_k_accuracy_score(truth, scores, k=k, **options) for k in range(1, count)],
        "nll": np.average(-log_p[np.arange(len(truth)), truth], weights=weights),
        "ovr_macro": m.roc_auc_score(truth, p, multi_class="ovr", average="macro", **options),
        "ovr_weighted": m.roc_auc_score(truth, p, multi_class="ovr", average="weighted", **options),
    }
    case("multiclass", name, expected, truth=truth, scores=scores, p=p, weights=weights)


def regression(name, truth, prediction, weights=None):
    truth, prediction = np.asarray(truth, dtype=np.float64), np.asarray(prediction, dtype=np.float64)
    options = {"sample_weight": weights}
    expected = {
        "mse": m.mean_squared_error(truth, prediction, **options),
        "mae": m.mean_absolute_error(truth, prediction, **options),
        "r2": m.r2_score(truth, prediction, **options),
        "explained": m.explained_variance_score(truth, prediction, **options),
        "mape": m.mean_absolute_percentage_error(truth, prediction, **options),
        "median": m.median_absolute_error(truth, prediction, **options),
        "pinball": [m.mean_pinball_loss(truth, prediction, alpha=alpha, **options) for alpha in [0, 0.1, 0.5, 1]],
        "d2_pinball": [m.d2_pinball_score(truth, prediction, alpha=alpha, **options) for alpha in [0, 0.1, 0.7, 1]],
        "d2_absolute": m.d2_absolute_error_score(truth, prediction, **options),
        "max": m.max_error(truth, prediction) if truth.ndim == 1 and weights is None else None,
    }
    case("regression", name, expected, truth=truth, prediction=prediction, weights=weights)


def positive(name, truth, prediction, weights=None):
    truth, prediction = np.asarray(truth, dtype=np.float64), np.asarray(prediction, dtype=np.float64)
    options = {"sample_weight": weights}
    powers = [-0.5, 0, 1, 1.5] + ([2, 3] if truth.min() > 0 else [])
    expected = {
        "powers": powers,
        "deviance": [m.mean_tweedie_deviance(truth, prediction, power=power, **options) for power in powers],
        "d2": [m.d2_tweedie_score(truth, prediction, power=power, **options) for power in powers],
        "msle": m.mean_squared_log_error(truth, prediction, **options),
    }
    case("positive", name, expected, truth=truth, prediction=prediction, weights=weights)


def quarters(generator, n, zeros=True):
    return generator.integers(0 if zeros else 1, 9, n) / 4


rng = np.random.default_rng(20261115)
classes("three classes", rng.integers(0, 3, 60), rng.integers(0, 3, 60))
classes("weights", rng.integers(0, 4, 50), rng.integers(0, 4, 50), quarters(rng, 50, zeros=False))
classes("a class never predicted", [0, 0, 1, 2, 2, 2], [0, 0, 0, 2, 2, 0])
classes("a class never true", [0, 0, 1, 1], [0, 5, 1, 5])
classes("one class, all right", [1, 1, 1], [1, 1, 1])
classes("one class, all wrong", [1, 1, 1], [0, 0, 0])
classes("one sample", [7], [7])
classes("negative labels", [-1, 1, -1, 1, 1], [-1, -1, 1, 1, 1])
ranking("distinct", rng.integers(0, 2, 40), rng.standard_normal(40))
ranking("ties", rng.integers(0, 2, 80), rng.integers(0, 6, 80) / 5)
ranking("ties and weights", rng.integers(0, 2, 80), rng.integers(0, 9, 80) / 8, quarters(rng, 80))
ranking("weights", rng.integers(0, 2, 60), rng.standard_normal(60), quarters(rng, 60))
ranking("all scores equal", [0, 1, 1, 0, 1], [0.5] * 5)
ranking("perfect", [0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9])
ranking("reversed", [1, 1, 0, 0], [0.1, 0.2, 0.7, 0.9])
ranking("two zeros", [0, 1, 1, 0], [0.0, -0.0, 0.0, -1.0])
ranking("all positive", [1, 1, 1], [0.3, 0.2, 0.2])
ranking("huge and tiny", [0, 1, 0, 1], [-1e300, 1e-300, 0.0, 1e300])
p = rng.dirichlet(np.ones(4), 30)
probabilities("four classes", rng.integers(0, 4, 30), p)
probabilities("four classes, weights", rng.integers(0, 4, 30), p, quarters(rng, 30))
probabilities("two columns", rng.integers(0, 2, 20), rng.dirichlet([1, 1], 20))
probabilities("binary", rng.integers(0, 2, 25), rng.uniform(size=25))
probabilities("binary, weights", rng.integers(0, 2, 25), rng.uniform(size=25), quarters(rng, 25))
probabilities("sure and wrong", [0, 1, 1], [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
probabilities("one class only", [1, 1], [0.25, 0.75])
multiclass("logits", rng.permutation(np.arange(60) % 5), rng.standard_normal((60, 5)))
multiclass("tied logits", rng.permutation(np.arange(40) % 4), rng.integers(0, 3, (40, 4)))
multiclass("weights", rng.permutation(np.arange(40) % 3), rng.standard_normal((40, 3)), quarters(rng, 40, zeros=False))
multiclass("large logits", rng.permutation(np.arange(12) % 3), 300 * rng.standard_normal((12, 3)))
regression("vector", rng.standard_normal(30), rng.standard_normal(30))
regression("weights", rng.standard_normal(30), rng.standard_normal(30), quarters(rng, 30))
regression("outputs", rng.standard_normal((20, 3)), rng.standard_normal((20, 3)))
regression("outputs, weights", rng.standard_normal((20, 3)), rng.standard_normal((20, 3)), quarters(rng, 20))
regression("constant truth, right", [2.0, 2.0, 2.0], [2.0, 2.0, 2.0])
regression("constant truth, wrong", [2.0, 2.0, 2.0], [2.0, 2.5, 2.0])
regression("large offset", 1e8 + rng.standard_normal(50), 1e8 + rng.standard_normal(50))
positive("counts", rng.poisson(2.0, 40), rng.uniform(0.2, 5.0, 40))
positive("counts, weights", rng.poisson(2.0, 40), rng.uniform(0.2, 5.0, 40), quarters(rng, 40))
positive("amounts", rng.gamma(2.0, 3.0, 40), rng.gamma(2.0, 3.0, 40))
positive("amounts, weights", rng.gamma(2.0, 3.0, 40), rng.gamma(2.0, 3.0, 40), quarters(rng, 40))
positive("small amounts", 1e-6 * rng.gamma(2.0, 3.0, 20), 1e-6 * rng.gamma(2.0, 3.0, 20))

versions = {
    "python": platform.python_version(),
    "numpy": np.__version__,
    "scipy": scipy.__version__,
    "scikit-learn": sklearn.__version__,
}
OUT.parent.mkdir(exist_ok=True)
lines = ",\n".join(json.dumps(item) for item in cases)
OUT.write_text(f'{{"versions": {json.dumps(versions)},\n"cases": [\n{lines}\n]}}\n')
print(len(cases), "cases")
