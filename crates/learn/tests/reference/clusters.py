"""Clusterings of scikit-learn and scores of them: python clusters.py writes ../fixtures/clusters.json."""

import json
import pathlib

import numpy as np
import sklearn
from sklearn import cluster, datasets, metrics

rng = np.random.default_rng(11)
iris = datasets.load_iris()
x = iris.data
blobs = np.concatenate([rng.normal(size=(60, 3)) * s + c for s, c in
                        ((0.5, (0, 0, 0)), (1.0, (6, 0, 0)), (0.3, (0, 5, 1)), (0.7, (4, 6, 3)))])
blobs = np.concatenate([blobs, rng.uniform(-6, 12, size=(20, 3))])
rng.shuffle(blobs)
weights = rng.integers(0, 4, size=len(x)).astype(float)

out = {"versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__},
       "x": x.tolist(), "y": iris.target.tolist(), "blobs": blobs.tolist(), "weights": weights.tolist()}


def kmeans(data, k, w=None):
    start = data[rng.choice(len(data), k, replace=False)]
    model = cluster.KMeans(k, init=start, n_init=1, tol=0.0, max_iter=300, algorithm="lloyd").fit(data, sample_weight=w)
    return {"k": k, "start": start.tolist(), "centers": model.cluster_centers_.tolist(), "labels": model.labels_.tolist(),
            "inertia": float(model.inertia_), "weighted": w is not None}


out["kmeans"] = [kmeans(x, 3), kmeans(x, 5), kmeans(x, 4, weights), kmeans(x, 9)]
out["kmeans_blobs"] = [kmeans(blobs, 4), kmeans(blobs, 12)]


def scores(data, labels, truth):
    silhouettes = metrics.silhouette_samples(data, labels)
    return {"labels": labels.tolist(), "silhouettes": silhouettes.tolist(),
            "silhouette": float(metrics.silhouette_score(data, labels)),
            "davies_bouldin": float(metrics.davies_bouldin_score(data, labels)),
            "calinski_harabasz": float(metrics.calinski_harabasz_score(data, labels)),
            "adjusted_rand": float(metrics.adjusted_rand_score(truth, labels)),
            "normalized_mutual_info": float(metrics.normalized_mutual_info_score(truth, labels)),
            "adjusted_mutual_info": float(metrics.adjusted_mutual_info_score(truth, labels))}


groupings = [np.array(out["kmeans"][0]["labels"]), np.array(out["kmeans"][3]["labels"]),
             rng.integers(0, 6, size=len(x)), np.arange(len(x)) // 2,
             np.where(np.arange(len(x)) == 17, 1, 0)]
out["scores"] = [scores(x, labels, iris.target) for labels in groupings]

out["dbscan"] = []
for data, name, eps, least in ((x, "x", 0.5, 5), (x, "x", 0.35, 4), (blobs, "blobs", 0.9, 5), (blobs, "blobs", 0.1, 3)):
    model = cluster.DBSCAN(eps=eps, min_samples=least).fit(data)
    out["dbscan"].append({"data": name, "eps": eps, "min_samples": least, "labels": model.labels_.tolist(),
                          "core": model.core_sample_indices_.tolist()})

out["agglomerative"] = []
for linkage in ("ward", "complete", "average", "single"):
    for k in (3, 7):
        model = cluster.AgglomerativeClustering(k, linkage=linkage, compute_distances=True).fit(blobs)
        out["agglomerative"].append({"linkage": linkage, "k": k, "labels": model.labels_.tolist(),
                                     "distances": model.distances_.tolist(), "children": model.children_.tolist()})

out["hdbscan"] = []
for data, name, size, least in ((blobs, "blobs", 5, None), (blobs, "blobs", 15, 4), (x, "x", 10, None)):
    model = cluster.HDBSCAN(min_cluster_size=size, min_samples=least, copy=True).fit(data)
    out["hdbscan"].append({"data": name, "min_cluster_size": size, "min_samples": least, "labels": model.labels_.tolist(),
                           "probabilities": model.probabilities_.tolist()})

path = pathlib.Path(__file__).parent.parent / "fixtures" / "clusters.json"
path.write_text(json.dumps(out) + "\n")
