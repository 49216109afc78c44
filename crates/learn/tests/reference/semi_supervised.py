"""Label propagation, label spreading and self-training of scikit-learn: python semi_supervised.py writes ../fixtures/semi_supervised.json."""

import json
import pathlib
import warnings

import numpy as np
import sklearn
from sklearn import datasets, linear_model, semi_supervised

warnings.filterwarnings("ignore")
x, truth = datasets.make_moons(80, noise=0.08, random_state=4)
rng = np.random.default_rng(5)
labeled = np.concatenate([rng.choice(np.flatnonzero(truth == c), 5, replace=False) for c in (0, 1)])
y = np.full(len(x), -1)
y[labeled] = truth[labeled] + 3
new = rng.uniform([-1, -0.5], [2, 1], size=(15, 2))

cases = {
    "propagation": semi_supervised.LabelPropagation(),
    "propagation_soft": semi_supervised.LabelPropagation(gamma=5, tol=1e-6),
    "propagation_knn": semi_supervised.LabelPropagation(kernel="knn", n_neighbors=5),
    "spreading": semi_supervised.LabelSpreading(),
    "spreading_alpha": semi_supervised.LabelSpreading(alpha=0.8, gamma=10, max_iter=200),
}
out = {"versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__},
       "x": x.tolist(), "y": y.tolist(), "truth": (truth + 3).tolist(), "new": new.tolist(), "graphs": {}, "self_training": {}}
for name, model in cases.items():
    model.fit(x, y)
    out["graphs"][name] = {
        "distributions": model.label_distributions_.tolist(), "transduction": model.transduction_.tolist(),
        "proba": model.predict_proba(new).tolist(), "n_iter": int(model.n_iter_),
    }
for name, options in {"threshold": {}, "low": {"threshold": 0.6, "max_iter": 3}, "k_best": {"criterion": "k_best", "k_best": 7}}.items():
    base = linear_model.LogisticRegression(tol=1e-10, max_iter=1000)
    model = semi_supervised.SelfTrainingClassifier(base, **options).fit(x, y)
    out["self_training"][name] = {
        "transduction": model.transduction_.tolist(), "labeled_iter": model.labeled_iter_.tolist(),
        "proba": model.predict_proba(new).tolist(),
    }
path = pathlib.Path(__file__).parent.parent / "fixtures" / "semi_supervised.json"
path.write_text(json.dumps(out) + "\n")
