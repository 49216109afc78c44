"""Writes tests/fixtures/lists_and_groups.json: scores of ranked lists and of groupings by scikit-learn.

NDCG of binary relevance is ndcg_score; average precision of a whole list is label_ranking_average_precision_score of its row.
"""

import json
import pathlib

import numpy as np
import sklearn
import sklearn.metrics as m

OUT = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "lists_and_groups.json"
rng = np.random.default_rng(20261118)

lists = []
for relevant_count in [1, 2, 5, 12]:
    for _ in range(3):
        order = rng.permutation(12)
        relevant = np.sort(rng.permutation(12)[:relevant_count])
        truth = np.isin(np.arange(12), relevant).astype(int)[None]
        scores = np.empty(12)
        scores[order] = np.arange(12, 0, -1)
        lists.append({
            "list": order.tolist(), "relevant": relevant.tolist(),
            "ndcg": [m.ndcg_score(truth, scores[None], k=k) for k in range(1, 13)],
            "average_precision": m.label_ranking_average_precision_score(truth, scores[None]),
            # Of a classifier that says yes to the first k items.
            "precision": [m.precision_score(truth[0], scores > 12 - k) for k in range(1, 13)],
            "recall": [m.recall_score(truth[0], scores > 12 - k) for k in range(1, 13)],
        })  # fmt: skip

groupings = []
for classes, clusters in [(3, 3), (2, 6), (5, 1), (1, 4), (1, 1), (4, 40)]:
    truth, found = rng.integers(0, classes, 40), rng.integers(0, clusters, 40)
    for beta in [1.0, 0.5, 2.0]:
        scores = m.homogeneity_completeness_v_measure(truth, found, beta=beta)
        groupings.append({"truth": truth.tolist(), "found": found.tolist(), "beta": beta, "scores": list(scores)})

versions = {"scikit-learn": sklearn.__version__, "numpy": np.__version__}
OUT.write_text(json.dumps({"versions": versions, "lists": lists, "groupings": groupings}) + "\n")
