"""Writes ../fixtures/naive_bayes.json: naive Bayes of counts and of present features, dense and sparse, and in batches, by scikit-learn.

Run with the peers' Python: python naive_bayes.py
"""

import json
from pathlib import Path

import numpy as np
import sklearn
from scipy.sparse import csr_matrix
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB

random = np.random.default_rng(7)
n, d = 60, 9
y = np.array([[3, 5, 11][i % 3] for i in range(n)])
rates = random.gamma(1.0, 1.0, size=(3, d))
x = random.poisson(np.array([rates[i % 3] for i in range(n)])).astype(float)
x[:, 4] = 0.0  # a word that no text has
weights = np.array([[1.0, 0.5, 2.0, 0.0, 3.0][i % 5] for i in range(n)])

cases = []
for model, name, settings in [
    (MultinomialNB(), "MultinomialNB", {}),
    (MultinomialNB(alpha=0.25, fit_prior=False), "MultinomialNB", {"alpha": 0.25, "fit_prior": False}),
    (BernoulliNB(), "BernoulliNB", {}),
    (BernoulliNB(alpha=0.1, binarize=1.0), "BernoulliNB", {"alpha": 0.1, "binarize": 1.0}),
    (BernoulliNB(alpha=3.0, fit_prior=False), "BernoulliNB", {"alpha": 3.0, "fit_prior": False}),
    (ComplementNB(), "ComplementNB", {}),
    (ComplementNB(alpha=0.5, norm=True), "ComplementNB", {"alpha": 0.5, "norm": True}),
]:
    for weighted in [False, True]:
        model.fit(csr_matrix(x) if weighted else x, y, sample_weight=weights if weighted else None)
        cases.append({
            "name": name, "settings": settings, "weighted": weighted,
            "feature_log_prob": model.feature_log_prob_.tolist(),
            "class_log_prior": model.class_log_prior_.tolist(),
            "feature_count": model.feature_count_.tolist(),
            "class_count": model.class_count_.tolist(),
            "predict": model.predict(x).tolist(),
            "proba": model.predict_proba(x[::5]).tolist(),
        })  # fmt: skip

# Batches, of which the first lacks a class.
batches = [list(range(0, 40, 2)), list(range(1, 60, 2)), list(range(40, 60, 2))]
batches[0] = [i for i in batches[0] if y[i] != 11]
batches[2] += [i for i in range(0, 40, 2) if y[i] == 11]
partial = []
for model, name in [(GaussianNB(), "GaussianNB"), (MultinomialNB(), "MultinomialNB"), (BernoulliNB(), "BernoulliNB"), (ComplementNB(), "ComplementNB")]:
    for rows in batches:
        model.partial_fit(x[rows], y[rows], classes=[3, 5, 11], sample_weight=weights[rows])
    names = ["theta", "class_prior", "class_count"] if name == "GaussianNB" else ["feature_log_prob", "feature_count", "class_count"]
    partial.append({"name": name, "proba": model.predict_proba(x[::5]).tolist(), "attributes": {n: getattr(model, n + "_").tolist() for n in names}})

out = {
    "versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__},
    "x": x.tolist(), "y": y.tolist(), "weights": weights.tolist(), "cases": cases,
    "batches": batches, "partial": partial,
}  # fmt: skip
path = Path(__file__).parent.parent / "fixtures" / "naive_bayes.json"
path.write_text(json.dumps(out) + "\n")
