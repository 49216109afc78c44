"""scikit-learn, faiss, hdbscan, fast-hdbscan, scipy: neighbors, clusters, mixtures and components (W26 to W29, W39, W41); quality as in bench/tove/src/learn_unsupervised.rs."""

import os
import warnings
from pathlib import Path

import numpy as np
import scipy
import sklearn
from scipy.spatial import cKDTree
from sklearn.cluster import DBSCAN, HDBSCAN, KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KDTree, KNeighborsClassifier

from data import fill
from sklearn_margins import images, number_type, synthetic

warnings.filterwarnings("ignore")


def versions():
    return {"scikit-learn": sklearn.__version__, "scipy": scipy.__version__}


def pictures(p, tests):
    folder = Path(os.environ.get("TOVE_DATA", Path(__file__).parent / "../../../shared/data")) / "fashion-mnist"
    real = folder.exists()
    take = (lambda name, seed, n: images(folder, name, n)) if real else (lambda name, seed, n: synthetic(n, seed))
    scale = 255.0 if real else 1.0
    (x, y), (others, other_y) = take("train", 5, p["rows"]), take("t10k", 6, tests)
    kind = number_type(p)
    return (x.astype(kind) / kind(scale), y), (others.astype(kind) / kind(scale), other_y)


class Votes:
    def __init__(self, p):
        (self.x, self.y), (self.others, self.other_y) = pictures(p, p["tests"])
        self.make = lambda: KNeighborsClassifier(p["neighbors"], n_jobs=-1)

    def run(self, count):
        for _ in range(count):
            self.make().fit(self.x, self.y).predict(self.others)

    def quality(self):
        return float(self.make().fit(self.x, self.y).score(self.others, self.other_y))


class Flat:
    """faiss: the same votes over the neighbors of IndexFlatL2, which takes float32 alone."""

    def __init__(self, p, threads):
        import faiss

        faiss.omp_set_num_threads(threads)
        self.faiss, self.k = faiss, p["neighbors"]
        (self.x, self.y), (self.others, self.other_y) = pictures(p, p["tests"])

    def predict(self):
        index = self.faiss.IndexFlatL2(self.x.shape[1])
        index.add(self.x)
        votes = self.y[index.search(self.others, self.k)[1]]
        return (votes[:, :, None] == np.arange(10)).sum(axis=1).argmax(axis=1)

    def run(self, count):
        for _ in range(count):
            self.predict()

    def quality(self):
        return float((self.predict() == self.other_y).mean())


class Clusters:
    def __init__(self, p):
        (self.x, _), _ = pictures(p, 1)
        k = p["clusters"]
        self.make = lambda: KMeans(k, init=self.x[:k], n_init=1, max_iter=p["iterations"], tol=0.0)

    def run(self, count):
        for _ in range(count):
            self.make().fit(self.x)

    def quality(self):
        return float(self.make().fit(self.x).inertia_ / len(self.x))


class Mixture:
    def __init__(self, p):
        n, d, k = p["rows"], p["columns"], p["components"]
        x = fill(8, (n, d), 1.0, "f64")
        for j in range(1, d):
            x[:, j] += 0.3 * x[:, j - 1]
        x += fill(7, (k, d), 2.0, "f64")[np.arange(n) % k]
        start = x[:k]
        nearest = np.argmin(-2 * x @ start.T + (start**2).sum(axis=1), axis=1)
        weights = np.bincount(nearest, minlength=k) / n
        groups = [x[nearest == i] for i in range(k)]
        precisions = np.linalg.inv(np.array([np.cov(g.T, bias=True) for g in groups]) + 1e-6 * np.eye(d))
        self.x = x.astype(number_type(p))
        kind = number_type(p)
        self.make = lambda: GaussianMixture(k, tol=0.0, max_iter=p["iterations"], means_init=start.astype(kind),
                                            weights_init=weights.astype(kind), precisions_init=precisions.astype(kind))

    def run(self, count):
        for _ in range(count):
            self.make().fit(self.x)

    def quality(self):
        return float(self.make().fit(self.x).lower_bound_)


class Components:
    def __init__(self, p):
        (self.x, _), _ = pictures(p, 1)
        self.make = lambda: PCA(p["components"])

    def run(self, count):
        for _ in range(count):
            self.make().fit(self.x)

    def quality(self):
        return float(self.make().fit(self.x).explained_variance_.sum())


class Regions:
    def __init__(self, p, threads):
        n, d, library = p["rows"], p["columns"], p["library"]
        centers = fill(7, (20, d), 10.0, "f64")
        blob, outlier = np.arange(n) // 10 % 20, np.arange(n) % 10 == 9
        x = centers[blob] + sum(fill(seed, (n, d), 1.0, "f64") for seed in (8, 9, 10))
        self.x = np.where(outlier[:, None], fill(11, (n, d), 12.0, "f64"), x)
        self.truth = np.where(outlier, -1, blob)
        # scikit-learn counts a sample among its own neighbors, the others do not.
        if "eps" in p:
            self.make = lambda: DBSCAN(eps=p["eps"], min_samples=10, n_jobs=threads)
        elif library == "scikit-learn":
            self.make = lambda: HDBSCAN(min_cluster_size=25, min_samples=10, n_jobs=threads, copy=False)
        elif library == "hdbscan":
            from hdbscan import HDBSCAN as Peer

            self.make = lambda: Peer(min_cluster_size=25, min_samples=9, core_dist_n_jobs=threads)
        else:
            os.environ["NUMBA_NUM_THREADS"] = str(threads)
            from fast_hdbscan import HDBSCAN as Peer

            self.make = lambda: Peer(min_cluster_size=25, min_samples=9)

    def run(self, count):
        for _ in range(count):
            self.make().fit(self.x)

    def quality(self):
        return float(adjusted_rand_score(self.truth, self.make().fit(self.x).labels_))


class Points:
    def __init__(self, p):
        self.x = fill(1, (p["rows"], p["columns"]), 1.0, "f64")
        self.queries = fill(2, (p["queries"], p["columns"]), 1.0, "f64")
        self.k = p["neighbors"]
        self.library = p.get("library", "scipy")

    def mean(self):
        if self.library == "scikit-learn":
            return float(KDTree(self.x).query(self.queries, self.k)[0].mean())
        return float(cKDTree(self.x).query(self.queries, self.k, workers=-1)[0].mean())

    def run(self, count):
        for _ in range(count):
            self.mean()

    def quality(self):
        return self.mean()


def make(workload, parameters, threads):
    if workload == "W39":
        return Regions(parameters, threads)
    if parameters.get("library") == "faiss":
        return Flat(parameters, threads)
    return {"W26": Votes, "W27": Clusters, "W28": Mixture, "W29": Components, "W41": Points}[workload](parameters)
