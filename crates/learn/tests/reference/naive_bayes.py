"""Writes ../fixtures/naive_bayes.json: naive Bayes of counts and of present features, dense and sparse, by scikit-learn.

Run with the peers' Python: python naive_bayes.py
"""

import json
from pathlib import Path

import numpy as np
import sklearn
from scipy.sparse import csr_matrix
from sklearn.naive_bayes import BernoulliNB, MultinomialNB

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

out = {
    "versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__},
    "x": x.tolist(), "y": y.tolist(), "weights": weights.tolist(), "cases": cases,
}  # fmt: skip
path = Path(__file__).parent.parent / "fixtures" / "naive_bayes.json"
path.write_text(json.dumps(out) + "\n")
