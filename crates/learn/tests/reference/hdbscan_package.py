"""Clusters of the package hdbscan: python hdbscan_package.py writes ../fixtures/hdbscan.json.

The data are those of clusters.json. A sample counts among its own `min_samples` neighbors in scikit-learn and tove, and not here.
"""

import importlib.metadata
import json
import pathlib

import hdbscan
import numpy as np

folder = pathlib.Path(__file__).parent.parent / "fixtures"
data = json.loads((folder / "clusters.json").read_text())
cases = []
for name, size, least in (("blobs", 5, 5), ("blobs", 15, 4), ("x", 10, 9), ("blobs", 8, 2)):
    model = hdbscan.HDBSCAN(min_cluster_size=size, min_samples=least, approx_min_span_tree=False).fit(np.array(data[name]))
    cases.append({"data": name, "min_cluster_size": size, "min_samples": least + 1, "labels": model.labels_.tolist(),
                  "probabilities": model.probabilities_.tolist()})
out = {"versions": {"hdbscan": importlib.metadata.version("hdbscan"), "numpy": np.__version__}, "cases": cases}
(folder / "hdbscan.json").write_text(json.dumps(out) + "\n")
