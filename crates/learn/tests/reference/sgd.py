"""SGD and perceptron of scikit-learn with samples in their given order: python sgd.py writes ../fixtures/sgd.json."""

import json
import pathlib
import warnings

import numpy as np
import sklearn
from sklearn import datasets
from sklearn.linear_model import Perceptron, SGDClassifier, SGDRegressor

warnings.filterwarnings("ignore")


def standardised(x):
    return (x - x.mean(0)) / x.std(0)


out = {"versions": {"scikit-learn": sklearn.__version__}, "classifier": [], "regressor": []}
fixed = {"shuffle": False, "tol": None, "max_iter": 5}
plans = [{"loss": loss} for loss in ["hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron"]]
plans += [{"penalty": "l1", "alpha": 0.01}, {"penalty": "elasticnet", "alpha": 0.01, "l1_ratio": 0.3}, {"average": True}]
plans += [{"learning_rate": rate, "eta0": 0.05} for rate in ["constant", "invscaling", "adaptive"]]
plans += [{"fit_intercept": False}, {"class_weight": "balanced"}, {"average": True, "loss": "log_loss", "alpha": 0.1}]
for name in ["iris", "breast_cancer"]:
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    x = standardised(x)
    for plan in plans:
        model = SGDClassifier(**fixed, **plan).fit(x, y)
        row = {"data": name, "plan": {k: str(v).lower() for k, v in plan.items()}, "coef": model.coef_.tolist(), "intercept": model.intercept_.tolist()}
        if plan.get("loss") in ("log_loss", "modified_huber"):
            row["proba"] = model.predict_proba(x)[:20].tolist()
        out["classifier"].append(row)
    model = Perceptron(**fixed).fit(x, y)
    out["perceptron_" + name] = {"coef": model.coef_.tolist(), "intercept": model.intercept_.tolist()}
x, y = datasets.load_diabetes(return_X_y=True)
x, y = standardised(x), (y - y.mean()) / y.std()
for plan in [{}, {"loss": "huber", "epsilon": 0.5}, {"loss": "epsilon_insensitive"}, {"penalty": "l1", "alpha": 0.01}, {"average": True}]:
    model = SGDRegressor(**fixed, **plan).fit(x, y)
    out["regressor"].append({"plan": {k: str(v).lower() for k, v in plan.items()}, "coef": model.coef_.tolist(), "intercept": model.intercept_.tolist()})
(pathlib.Path(__file__).parent.parent / "fixtures" / "sgd.json").write_text(json.dumps(out))
