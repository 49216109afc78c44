"""Nearest neighbors of scikit-learn: python neighbors.py writes ../fixtures/neighbors.json."""

import json
import pathlib

import numpy as np
import sklearn
from sklearn import datasets, neighbors

rng = np.random.default_rng(5)
x = rng.normal(size=(200, 5)) @ rng.normal(size=(5, 5))
queries = rng.normal(size=(30, 5)) @ rng.normal(size=(5, 5))
labels = rng.integers(0, 4, size=200)
targets = rng.normal(size=(200, 2))
covariance = np.cov(x.T)

out = {"versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__},
       "x": x.tolist(), "queries": queries.tolist(), "labels": labels.tolist(), "targets": targets.tolist(), "metrics": {}}

for metric in ("euclidean", "manhattan", "cosine", "mahalanobis"):
    options = {"metric_params": {"VI": np.linalg.inv(covariance)}} if metric == "mahalanobis" else {}
    options = {"algorithm": "brute", "metric": metric, **options}
    index = neighbors.NearestNeighbors(**options).fit(x)
    distances, indices = index.kneighbors(queries, 7)
    radius = float(np.median(distances[:, -1]))
    around = index.radius_neighbors(queries, radius, sort_results=True)
    entry = {"distances": distances.tolist(), "indices": indices.tolist(), "radius": radius,
             "around": [row.tolist() for row in around[1]]}
    for weights in ("uniform", "distance"):
        classifier = neighbors.KNeighborsClassifier(7, weights=weights, **options).fit(x, labels)
        regressor = neighbors.KNeighborsRegressor(7, weights=weights, **options).fit(x, targets)
        entry[weights] = {"proba": classifier.predict_proba(queries).tolist(),
                          "predict": classifier.predict(queries).tolist(),
                          "regress": regressor.predict(queries).tolist()}
    out["metrics"][metric] = entry

# Digits, of which half are stored; the label of the nearest ones is compared exactly.
digits = datasets.load_digits()
half = len(digits.data) // 2
model = neighbors.KNeighborsClassifier(3).fit(digits.data[:half], digits.target[:half])
distances, _ = model.kneighbors(digits.data[half:], 4)
clear = np.all(np.diff(distances, axis=1) > 0, axis=1)  # rows without equally near samples
out["digits"] = {"predict": model.predict(digits.data[half:]).tolist(), "clear": clear.tolist(),
                 "score": float(model.score(digits.data[half:], digits.target[half:]))}

path = pathlib.Path(__file__).parent.parent / "fixtures" / "neighbors.json"
path.write_text(json.dumps(out) + "\n")
