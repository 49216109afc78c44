"""Statistics of scipy and statsmodels: python diagnostics.py writes ../fixtures/diagnostics.json."""

import json
import pathlib

import numpy as np
import scipy
import sklearn
import statsmodels
from scipy import special, stats
from statsmodels.stats.diagnostic import acorr_ljungbox

rng = np.random.default_rng(11)
out = {"versions": {"scipy": scipy.__version__, "numpy": np.__version__, "statsmodels": statsmodels.__version__, "scikit-learn": sklearn.__version__}}

out["ks"] = []
for n, m, shift, digits in [(30, 40, 0.0, 9), (100, 60, 0.5, 9), (50, 50, 0.2, 1), (400, 300, 0.1, 9)]:
    a, b = np.round(rng.normal(size=n), digits), np.round(rng.normal(size=m) + shift, digits)
    result = stats.ks_2samp(a, b, method="asymp")
    out["ks"].append({"a": a.tolist(), "b": b.tolist(), "d": result.statistic, "p": result.pvalue})
lambdas = [0.2, 0.5, 0.8, 1.0, 1.17, 1.19, 1.5, 2.0, 3.0]
out["kolmogorov"] = {"lambda": lambdas, "tail": special.kolmogorov(lambdas).tolist()}
points = [(0.01, 1), (3.84, 1), (0.5, 3), (12.0, 3), (9.3, 10), (40.0, 10), (200.0, 150), (700.0, 500)]
out["chi2"] = [{"x": x, "k": k, "tail": float(stats.chi2.sf(x, k))} for x, k in points]
out["ljung_box"] = []
for memory in [0.0, 0.2, 0.7]:
    series = [0.0]
    for step in rng.normal(size=120):
        series.append(memory * series[-1] + step)
    table = acorr_ljungbox(series, lags=[1, 5, 10])
    out["ljung_box"].append({"series": series, "q": table["lb_stat"].tolist(), "p": table["lb_pvalue"].tolist()})
a, b = np.array([20, 30, 50]), np.array([35, 25, 60])
test = stats.chi2_contingency(np.array([a, b]), correction=False)
out["shares"] = {"a": a.tolist(), "b": b.tolist(), "statistic": test.statistic, "p": test.pvalue}

path = pathlib.Path(__file__).parent.parent / "fixtures" / "diagnostics.json"
path.write_text(json.dumps(out))
