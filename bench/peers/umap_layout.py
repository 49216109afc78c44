"""W40: umap-learn with a seed, or openTSNE; quality as in bench/tove/src/manifold.rs.

A seed makes umap-learn's layout run on one thread, whatever the number of threads of the neighbor search. `"seeded": false` leaves the
seed out, so that the layout is parallel and differs from run to run.
"""

import warnings

import numba
import openTSNE
import umap
from sklearn.manifold import trustworthiness

from sklearn_unsupervised import pictures

warnings.filterwarnings("ignore")


def versions():
    return {"umap-learn": umap.__version__, "openTSNE": openTSNE.__version__}


class Layout:
    def __init__(self, p, threads):
        (self.x, _), _ = pictures(p | {"dtype": "f32"}, 1)
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
        if p.get("peer") == "openTSNE":
            self.fit = lambda: openTSNE.TSNE(random_state=1, n_jobs=threads).fit(self.x)
        else:
            seed = 1 if p["seeded"] else None
            self.fit = lambda: umap.UMAP(random_state=seed, n_jobs=1 if p["seeded"] else threads).fit_transform(self.x)

    def run(self, count):
        for _ in range(count):
            self.fit()

    def quality(self):
        return float(trustworthiness(self.x, self.fit(), n_neighbors=15))


def make(workload, parameters, threads):
    return Layout(parameters, threads)
