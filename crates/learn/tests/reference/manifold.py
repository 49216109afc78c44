"""UMAP of umap-learn and scikit-learn's trustworthiness: python manifold.py writes ../fixtures/manifold.json.

Graphs are those of exact neighbors. The layouts have a seed, which makes umap-learn use one thread.
"""

import json
import pathlib
import warnings

import numpy as np
import scipy
import sklearn
import umap
from sklearn import datasets, manifold, neighbors
from umap.umap_ import find_ab_params, fuzzy_simplicial_set, smooth_knn_dist

warnings.filterwarnings("ignore")
rng = np.random.default_rng(31)


def exact(x, k, metric):
    """Each row first among its own neighbors, as umap-learn has them."""
    distances, indices = neighbors.NearestNeighbors(n_neighbors=k, metric=metric, algorithm="brute").fit(x).kneighbors(x)
    return indices, distances.astype(np.float32)


def graph(x, k, metric="euclidean", **options):
    indices, distances = exact(x, k, metric)
    assert (indices[:, 0] == np.arange(len(x))).all()
    found = fuzzy_simplicial_set(x, k, np.random.RandomState(0), metric, knn_indices=indices, knn_dists=distances, **options)
    sigmas, rhos = smooth_knn_dist(distances, float(k), local_connectivity=options.get("local_connectivity", 1.0))
    return {"n_neighbors": k, "metric": metric, "sigmas": sigmas.tolist(), "rhos": rhos.tolist(),
            "local_connectivity": options.get("local_connectivity", 1.0),
            "set_op_mix_ratio": options.get("set_op_mix_ratio", 1.0), "dense": found[0].toarray().tolist()}


out = {"versions": {"umap-learn": umap.__version__, "scikit-learn": sklearn.__version__, "numpy": np.__version__,
                    "scipy": scipy.__version__}}
out["ab"] = [[spread, least, *map(float, find_ab_params(spread, least))]
             for spread, least in [(1.0, 0.1), (1.0, 0.0), (1.0, 0.5), (1.0, 0.99), (2.0, 0.1), (0.5, 0.25), (3.0, 1.5)]]

x = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3))
x[20:] += 4.0
out["x"] = x.tolist()
out["graphs"] = [graph(x, 8), graph(x, 8, "manhattan"), graph(x, 6, "cosine"), graph(x, 12, local_connectivity=2.5),
                 graph(x, 10, set_op_mix_ratio=0.25), graph(x, 5, local_connectivity=0.5)]


def trust(name, x, y, k):
    score = float(manifold.trustworthiness(x, y, n_neighbors=k))
    return {"name": name, "x": x.tolist(), "embedded": y.tolist(), "n_neighbors": k, "score": score}


flat = x[:, :2]
out["trust"] = [trust("a projection", x, flat, 5), trust("noise", x, rng.normal(size=(40, 2)), 5),
                trust("the samples themselves", x, x, 7), trust("many neighbors", x, flat, 19),
                trust("one dimension", x, flat[:, :1], 3)]

digits = datasets.load_digits()
data, labels = (digits.data / 16.0).astype(np.float32), digits.target
even, odd = np.arange(0, len(data), 2), np.arange(1, len(data), 2)


def accuracy(train, train_labels, test, test_labels):
    return float(neighbors.KNeighborsClassifier(5).fit(train, train_labels).score(test, test_labels))


runs = []
for seed in range(5):
    whole = umap.UMAP(random_state=seed).fit_transform(data)
    half = umap.UMAP(random_state=seed).fit(data[even])
    runs.append({"seed": seed, "trustworthiness": float(manifold.trustworthiness(data, whole, n_neighbors=15)),
                 "accuracy": accuracy(whole[even], labels[even], whole[odd], labels[odd]),
                 "transformed": accuracy(half.embedding_, labels[even], half.transform(data[odd]), labels[odd])})
    print(runs[-1])
out["digits"] = runs

path = pathlib.Path(__file__).parent.parent / "fixtures" / "manifold.json"
path.write_text(json.dumps(out) + "\n")
