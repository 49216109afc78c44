"""Bounds of small nets by interval propagation and CROWN, written out with dense matrices in numpy, and distances to other
Voronoi cells by nonnegative least squares: writes fixtures/certificates.json.

auto_LiRPA 0.3 (the one on PyPI) needs a torch that could not be installed here, so the reference is this independent program.
"""

import json
from pathlib import Path

import numpy as np
import scipy
from scipy.optimize import nnls

rng = np.random.default_rng(3)


def interval(weights, biases, low, high):
    """Bounds before every rectifier, and of the outputs."""
    bounds = []
    for index, (w, b) in enumerate(zip(weights, biases)):
        if index:
            low, high = np.maximum(low, 0), np.maximum(high, 0)
        center, radius = (low + high) / 2, (high - low) / 2
        low, high = w @ center + b - abs(w) @ radius, w @ center + b + abs(w) @ radius
        bounds.append((low, high))
    return bounds


def backward(weights, biases, before, rows, low, high):
    """Lower bounds of rows @ (output of the last affine map), given bounds before each rectifier."""
    a, constant = rows, np.zeros(len(rows))
    for index in range(len(weights) - 1, -1, -1):
        constant = constant + a @ biases[index]
        a = a @ weights[index]
        if index:
            l, u = before[index - 1]
            unstable = (l < 0) & (u > 0)
            chord = np.where(unstable, u / np.where(unstable, u - l, 1), (l >= 0) * 1.0)
            below = np.where(unstable, (u >= -l) * 1.0, (l >= 0) * 1.0)
            constant = constant + np.minimum(a, 0) @ np.where(unstable, -chord * l, 0)
            a = np.maximum(a, 0) * below + np.minimum(a, 0) * chord
    return np.maximum(a, 0) @ low + np.minimum(a, 0) @ high + constant


def crown(weights, biases, low, high):
    """Every hidden bound by CROWN, intersected with the interval of the layer before it; the outputs likewise."""
    bounds = []
    for count in range(1, len(weights) + 1):
        first = interval(weights[:1], biases[:1], low, high)[0] if count == 1 else None
        if first is None:
            l, u = (np.maximum(bound, 0) for bound in bounds[-1])
            center, radius = (l + u) / 2, (u - l) / 2
            w, b = weights[count - 1], biases[count - 1]
            first = (w @ center + b - abs(w) @ radius, w @ center + b + abs(w) @ radius)
        l, u = first
        eye = np.eye(len(l))
        lower = backward(weights[:count], biases[:count], bounds, eye, low, high)
        upper = -backward(weights[:count], biases[:count], bounds, -eye, low, high)
        keep = (l < 0) & (u > 0) if count < len(weights) else np.ones(len(l), bool)
        bounds.append((np.where(keep, np.maximum(l, lower), l), np.where(keep, np.minimum(u, upper), u)))
    return bounds


def nets():
    cases = []
    for sizes, eps in [([3, 8, 2], 0.1), ([4, 10, 10, 3], 0.2), ([5, 12, 12, 12, 4], 0.15), ([6, 16, 3], 1.0)]:
        weights = [rng.normal(size=(m, n)) / np.sqrt(n) for n, m in zip(sizes, sizes[1:])]
        biases = [rng.normal(size=m) * 0.3 for m in sizes[1:]]
        x = rng.normal(size=sizes[0])
        low, high = x - eps, x + eps
        ibp, relaxed = interval(weights, biases, low, high)[-1], crown(weights, biases, low, high)
        mixed = interval(weights, biases, low, high)
        eye = np.eye(sizes[-1])
        lower = np.maximum(ibp[0], backward(weights, biases, mixed, eye, low, high))
        upper = np.minimum(ibp[1], -backward(weights, biases, mixed, -eye, low, high))
        rows = -np.eye(sizes[-1])[1:]
        rows[:, 0] = 1
        cases.append({
            "weights": [w.tolist() for w in weights], "biases": [b.tolist() for b in biases],
            "low": low.tolist(), "high": high.tolist(),
            "intervals": [ibp[0].tolist(), ibp[1].tolist()],
            "mixed": [lower.tolist(), upper.tolist()],
            "crown": [np.maximum(lower, relaxed[-1][0]).tolist(), np.minimum(upper, relaxed[-1][1]).tolist()],
            "margins": backward(weights, biases, relaxed, rows, low, high).tolist(),
        })
    return cases


def voronoi():
    cases = []
    for n, d, classes in [(12, 2, 2), (20, 3, 3), (30, 5, 2)]:
        rows, labels = rng.normal(size=(n, d)), rng.integers(0, classes, n)
        queries, radii = rng.normal(size=(4, d)), []
        for x in queries:
            nearest = np.argmin(((rows - x) ** 2).sum(1))
            ours, best = rows[labels == labels[nearest]], np.inf
            for b in rows[labels != labels[nearest]]:
                normal = b - ours
                gap = (((x - b) ** 2).sum() - ((x - ours) ** 2).sum(1)) / 2
                # Least distance programming (Lawson and Hanson): the residual of a nonnegative least squares problem.
                system = np.vstack([normal.T, gap])
                residual = system @ nnls(system, np.eye(d + 1)[d])[0] - np.eye(d + 1)[d]
                z = -residual[:d] / residual[d]
                assert (normal @ z >= gap - 1e-8).all()
                best = min(best, np.linalg.norm(z))
            radii.append(best)
        cases.append({"rows": rows.tolist(), "labels": labels.tolist(), "queries": queries.tolist(), "radii": radii})
    return cases


fixture = {"versions": {"numpy": np.__version__, "scipy": scipy.__version__}, "nets": nets(), "voronoi": voronoi()}
path = Path(__file__).parent.parent / "fixtures" / "certificates.json"
path.write_text(json.dumps(fixture) + "\n")
