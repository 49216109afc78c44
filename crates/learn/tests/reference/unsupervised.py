"""k-means, principal components and naive Bayes of scikit-learn: python unsupervised.py writes ../fixtures/unsupervised.json."""

import json
import pathlib

import numpy as np
import sklearn
from sklearn import cluster, datasets, decomposition, naive_bayes

iris = datasets.load_iris()
x, y = iris.data, iris.target
rng = np.random.default_rng(3)
weights = rng.integers(0, 4, size=len(x)).astype(float)
wide = rng.normal(size=(6, 9))

out = {"versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__},
       "x": x.tolist(), "y": y.tolist(), "weights": weights.tolist(), "wide": wide.tolist()}


def pca(data, **options):
    model = decomposition.PCA(svd_solver="full", **options).fit(data)
    projected = model.transform(data)
    return {
        "components": model.components_.tolist(),
        "explained_variance": model.explained_variance_.tolist(),
        "explained_variance_ratio": model.explained_variance_ratio_.tolist(),
        "singular_values": model.singular_values_.tolist(),
        "noise_variance": float(model.noise_variance_),
        "transform": projected.tolist(),
        "inverse": model.inverse_transform(projected).tolist(),
    }


out["pca"] = {
    "all": pca(x), "two": pca(x, n_components=2), "share": pca(x, n_components=0.97),
    "whiten": pca(x, n_components=3, whiten=True), "wide": pca(wide),
}


def bayes(w=None, **options):
    model = naive_bayes.GaussianNB(**options).fit(x, y, sample_weight=w)
    return {
        "theta": model.theta_.tolist(), "var": model.var_.tolist(), "class_prior": model.class_prior_.tolist(),
        "class_count": model.class_count_.tolist(), "proba": model.predict_proba(x).tolist(),
        "predict": model.predict(x).tolist(), "epsilon": float(model.epsilon_),
    }


out["bayes"] = {"plain": bayes(), "weighted": bayes(weights), "smooth": bayes(var_smoothing=0.1)}


def kmeans(k, w=None):
    start = x[:: len(x) // k][:k]
    model = cluster.KMeans(k, init=start, n_init=1, tol=0.0, max_iter=300, algorithm="lloyd").fit(x, sample_weight=w)
    best = cluster.KMeans(k, n_init=50, tol=0.0, random_state=0).fit(x, sample_weight=w)
    return {"k": k, "weighted": w is not None, "best_inertia": float(best.inertia_),
            "one_start_inertia": float(model.inertia_), "best_centers": sorted(best.cluster_centers_.tolist())}


out["kmeans"] = [kmeans(k, w) for k in (1, 2, 3, 5) for w in (None, weights)]
path = pathlib.Path(__file__).parent.parent / "fixtures" / "unsupervised.json"
path.write_text(json.dumps(out) + "\n")
