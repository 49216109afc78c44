"""Factors of the package implicit: python implicit_feedback.py writes ../fixtures/implicit.json.

Its confidence of an entry is alpha * r, tove's 1 + confidence * |r|: the entries are given to implicit as that, with alpha = 1; those
of negative counts with a minus sign, which is its mark of a dislike too.
"""

import json
import os
import pathlib

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import implicit
import numpy as np
import scipy
from implicit.als import AlternatingLeastSquares
from scipy.sparse import csr_matrix

rng = np.random.default_rng(3)
users, items, k = 40, 25, 3
regularization, confidence = 0.4, 2.5
taste = rng.normal(size=(users, 2)) @ rng.normal(size=(2, items)) + 0.7 * rng.normal(size=(users, items))
counts = np.where(taste > 1.2, np.ceil(2 * taste), 0.0)
counts[taste < -3.0] = -1.0
counts[7] = 0.0
weights = csr_matrix(np.sign(counts) * np.where(counts == 0, 0, 1 + confidence * np.abs(counts)))


def objective(w, z):
    c, p = 1 + confidence * np.abs(counts), (counts > 0).astype(float)
    return float((c * (p - w @ z.T) ** 2).sum() + regularization * ((w**2).sum() + (z**2).sum()))


best = None
for seed in range(20):
    model = AlternatingLeastSquares(factors=k, regularization=regularization, alpha=1.0, dtype=np.float64, use_native=True,
                                    use_cg=False, iterations=500, num_threads=1, random_state=seed)
    model.fit(weights, show_progress=False)
    found = objective(model.user_factors, model.item_factors)
    if best is None or found < best[0]:
        best = (found, model)
value, model = best
new = np.zeros((3, items))
new[0, [2, 5, 11]] = [1, 3, 2]
new[1, :20] = rng.integers(0, 4, size=20)
new[2, [0, 24]] = [4, -2]
folded = []
for row in new:
    entries = csr_matrix(np.sign(row) * np.where(row == 0, 0, 1 + confidence * np.abs(row)))
    folded.append(np.asarray(model.recalculate_user(0, entries)).ravel().tolist())
lists = [model.recommend(u, csr_matrix(np.where(counts > 0, counts, 0))[u], N=5)[0].tolist() for u in range(users)]

out = {"versions": {"implicit": implicit.__version__, "scipy": scipy.__version__, "numpy": np.__version__},
       "counts": counts.tolist(), "factors": k, "regularization": regularization, "confidence": confidence, "objective": value,
       "item_factors": model.item_factors.tolist(), "scores": (model.user_factors @ model.item_factors.T).tolist(),
       "new": new.tolist(), "new_factors": folded, "lists": lists}
path = pathlib.Path(__file__).parent.parent / "fixtures" / "implicit.json"
path.write_text(json.dumps(out) + "\n")
