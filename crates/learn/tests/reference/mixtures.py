"""Gaussian mixtures and decompositions of scikit-learn: python mixtures.py writes ../fixtures/mixtures.json."""

import json
import pathlib
import warnings

import numpy as np
import sklearn
from sklearn import datasets, decomposition, mixture

warnings.filterwarnings("ignore")
rng = np.random.default_rng(17)
x = datasets.load_iris().data
start = x[[3, 70, 120]]
out = {"versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__},
       "x": x.tolist(), "start": start.tolist(), "mixtures": []}


def first(kind, floor):
    """Weights and precisions of the samples nearest to each mean that the iterations begin with."""
    nearest = np.argmin(((x[:, None] - start[None]) ** 2).sum(axis=2), axis=1)
    weights = np.bincount(nearest, minlength=3) / len(x)
    groups = [x[nearest == k] for k in range(3)]
    eye = np.eye(x.shape[1])
    full = np.array([np.cov(g.T, bias=True) for g in groups])
    if kind == "full":
        covariances = full + floor * eye
        return weights, np.linalg.inv(covariances)
    if kind == "tied":
        return weights, np.linalg.inv(np.einsum("k,kij->ij", weights, full) + floor * eye)
    diagonals = np.array([np.diag(c) for c in full]) + floor
    return weights, 1.0 / diagonals if kind == "diag" else 1.0 / diagonals.mean(axis=1)


for kind in ("full", "tied", "diag", "spherical"):
    weights, precisions = first(kind, 1e-6)
    model = mixture.GaussianMixture(3, covariance_type=kind, tol=1e-10, max_iter=2000, means_init=start,
                                    weights_init=weights, precisions_init=precisions).fit(x)
    out["mixtures"].append({
        "kind": kind, "weights": model.weights_.tolist(), "means": model.means_.tolist(),
        "covariances": model.covariances_.tolist(), "score_samples": model.score_samples(x).tolist(),
        "proba": model.predict_proba(x).tolist(), "bic": float(model.bic(x)), "aic": float(model.aic(x)),
        "n_iter": int(model.n_iter_), "lower_bound": float(model.lower_bound_)})

counts = rng.poisson(0.4, size=(60, 40)).astype(float)
svd = decomposition.TruncatedSVD(5, algorithm="arpack").fit(counts)
out["svd"] = {"x": counts.tolist(), "singular_values": svd.singular_values_.tolist(),
              "components": svd.components_.tolist(), "explained_variance": svd.explained_variance_.tolist(),
              "explained_variance_ratio": svd.explained_variance_ratio_.tolist()}

nmf = decomposition.NMF(5, init="nndsvda", tol=1e-6, max_iter=5000).fit(counts)
out["nmf"] = {"reconstruction_err": float(nmf.reconstruction_err_)}

incremental = decomposition.IncrementalPCA(3, batch_size=50).fit(x)
out["incremental"] = {"components": incremental.components_.tolist(), "mean": incremental.mean_.tolist(),
                      "var": incremental.var_.tolist(), "explained_variance": incremental.explained_variance_.tolist(),
                      "explained_variance_ratio": incremental.explained_variance_ratio_.tolist(),
                      "singular_values": incremental.singular_values_.tolist(),
                      "noise_variance": float(incremental.noise_variance_)}

path = pathlib.Path(__file__).parent.parent / "fixtures" / "mixtures.json"
path.write_text(json.dumps(out) + "\n")
