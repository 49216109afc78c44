"""Attacks of the Adversarial Robustness Toolbox on a logistic regression: writes fixtures/attacks_art.json.

Run: python attacks_art.py (needs numpy, scikit-learn and adversarial-robustness-toolbox).
"""

import importlib.metadata
import json
import pathlib

import numpy as np
from art.attacks.evasion import FastGradientMethod, ProjectedGradientDescentNumpy
from art.estimators.classification import SklearnClassifier
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import minmax_scale

x, y = load_wine(return_X_y=True)
x = minmax_scale(x).round(3)
model = LogisticRegression(C=5.0).fit(x, y)
art = SklearnClassifier(model, clip_values=(0.0, 1.0))
free = SklearnClassifier(model)  # PGD in l2 cuts off at the range before it projects; foolbox and tove project first
some = np.arange(0, len(x), 9)
x, y = x[some], y[some]


def fgm(norm, eps):
    return {"eps": eps, "x": FastGradientMethod(art, norm=norm, eps=eps).generate(x, y).astype(float).tolist()}


def pgd(classifier, norm, eps, step):
    attack = ProjectedGradientDescentNumpy(classifier, norm=norm, eps=eps, eps_step=step, max_iter=12,
                                           num_random_init=0, verbose=False)
    return {"eps": eps, "step": step, "steps": 12, "x": attack.generate(x, y).astype(float).tolist()}


out = {
    "versions": {name: importlib.metadata.version(name)
                 for name in ["adversarial-robustness-toolbox", "scikit-learn", "numpy"]},
    "coef": model.coef_.tolist(), "intercept": model.intercept_.tolist(), "x": x.tolist(), "y": y.tolist(),
    "fgm_inf": fgm(np.inf, 0.15), "fgm_2": fgm(2, 0.4), "pgd_inf": pgd(art, np.inf, 0.15, 0.03), "pgd_2": pgd(free, 2, 0.4, 0.1),
}
path = pathlib.Path(__file__).parent.parent / "fixtures" / "attacks_art.json"
path.write_text(json.dumps(out))
print(path, path.stat().st_size)
