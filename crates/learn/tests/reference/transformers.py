"""Further transformers of scikit-learn: python transformers.py writes ../fixtures/transformers.json."""

import json
import pathlib
import warnings

import numpy as np
import scipy
import sklearn
from scipy import sparse
from sklearn import datasets, feature_selection, preprocessing

warnings.simplefilter("ignore")
rng = np.random.default_rng(7)
x = np.column_stack([rng.normal(size=43), rng.exponential(size=43) ** 2, rng.integers(0, 5, size=43), 4 + 2 * rng.gamma(2.0, size=43)])
positive = np.abs(x) + 0.1
gaps = x.copy()
gaps[3, 0] = gaps[11, 0] = gaps[20, 2] = np.nan
codes = np.column_stack([rng.choice([1.0, 2.0, 5.0, 7.0, 9.0], p=[0.5, 0.2, 0.15, 0.1, 0.05], size=43), rng.integers(-1, 3, size=43)])
coded_gaps = codes.copy()
coded_gaps[4, 0] = coded_gaps[9, 0] = np.nan
new = np.vstack([x[:5] * 1.3 - 0.2, x[5:8] * -2])
holes = np.where(rng.uniform(size=x.shape) < 0.5, 0.0, np.round(x, 2))
weights = rng.integers(0, 4, size=43).astype(float)


def plain(a):
    a = a.toarray() if sparse.issparse(a) else np.asarray(a, dtype=float)
    return [[None if np.isnan(v) else float(v) for v in row] for row in a]


out = {"versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__, "scipy": scipy.__version__}}
for name, value in {"x": x, "positive": positive, "gaps": gaps, "codes": codes, "coded_gaps": coded_gaps, "new": new, "holes": holes}.items():
    out[name] = plain(value)
out["weights"] = weights.tolist()

out["normalizer"] = {norm: plain(preprocessing.Normalizer(norm=norm).fit_transform(holes)) for norm in ["l1", "l2", "max"]}
out["binarizer"] = plain(preprocessing.Binarizer(threshold=0.7).fit_transform(x))

variance = feature_selection.VarianceThreshold(1.5).fit(gaps)
out["variance"] = {"variances": variance.variances_.tolist(), "columns": np.flatnonzero(variance.get_support()).tolist()}

out["bins"] = {}
for strategy in ["uniform", "quantile", "kmeans"]:
    for method in ["averaged_inverted_cdf", "inverted_cdf", "linear"]:
        bins = preprocessing.KBinsDiscretizer(4 if strategy == "kmeans" else 6, strategy=strategy, quantile_method=method, subsample=None).fit(x)
        key = f"{strategy} {method}"
        out["bins"][key] = {"edges": [e.tolist() for e in bins.bin_edges_], "rows": plain(bins.transform(new))}
        bins.set_params(encode="ordinal")
        out["bins"][key]["ordinal"] = plain(bins.transform(new))
        out["bins"][key]["inverse"] = plain(bins.inverse_transform(bins.transform(new)))
heavy = preprocessing.KBinsDiscretizer(6, quantile_method="averaged_inverted_cdf", subsample=None).fit(x, sample_weight=weights)
out["bins"]["weighted"] = {"edges": [e.tolist() for e in heavy.bin_edges_]}

out["quantile"] = {}
for distribution in ["uniform", "normal"]:
    for count in [43, 10]:
        q = preprocessing.QuantileTransformer(n_quantiles=count, output_distribution=distribution).fit(gaps)
        there = q.transform(gaps)
        out["quantile"][f"{distribution} {count}"] = {
            "quantiles": q.quantiles_.tolist(),
            "rows": plain(there),
            "new": plain(q.transform(new)),
            "inverse": plain(q.inverse_transform(there)),
        }

out["power"] = {}
for method, data in {"yeo-johnson": gaps, "box-cox": positive}.items():
    for standardize in [True, False]:
        p = preprocessing.PowerTransformer(method=method, standardize=standardize).fit(data)
        out["power"][f"{method} {str(standardize).lower()}"] = {"lambdas": p.lambdas_.tolist(), "rows": plain(p.transform(data))}

out["spline"] = {}
for degree in [1, 2, 3]:
    for knots in ["uniform", "quantile"]:
        for extrapolation in ["constant", "linear", "continue"]:
            # Feature by feature: scikit-learn 1.9.1 raises the degree for good when it continues lines of degree 1.
            s = preprocessing.SplineTransformer(n_knots=5, degree=degree, knots=knots, extrapolation=extrapolation)
            rows = [s.fit(x[:, [c]]).transform(new[:, [c]]) for c in [0, 1, 3]]
            out["spline"][f"{degree} {knots} {extrapolation}"] = plain(np.hstack(rows))
s = preprocessing.SplineTransformer(include_bias=False).fit(x)
out["spline"]["names"] = s.get_feature_names_out(["a", "b", "c", "d"]).tolist()
out["spline"]["no bias"] = plain(s.transform(new))

unknown = np.array([[3.0, 0.0], [9.0, 8.0], [np.nan, 1.0]])
out["unknown"] = plain(unknown)
out["one_hot"] = {}
for name, options in {
    "missing": {},
    "count": {"min_frequency": 5},
    "share": {"min_frequency": 0.2},
    "most": {"max_categories": 3},
    "both": {"max_categories": 3, "min_frequency": 4, "drop": "first"},
    "one": {"max_categories": 1},
}.items():
    h = preprocessing.OneHotEncoder(handle_unknown="infrequent_if_exist", **options).fit(coded_gaps)
    ordinal = {k: v for k, v in options.items() if k != "drop"}
    o = preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2, **ordinal).fit(coded_gaps)
    out["one_hot"][name] = {
        "rows": plain(h.transform(coded_gaps)),
        "unknown": plain(h.transform(unknown)),
        "ordinal": plain(o.transform(coded_gaps)),
        "ordinal_unknown": plain(o.transform(unknown)),
    }

iris_x, iris_y = datasets.load_iris(return_X_y=True)
cancer_x, cancer_y = datasets.load_breast_cancer(return_X_y=True)
diabetes_x, diabetes_y = datasets.load_diabetes(return_X_y=True)
# Numbers without ties, so that the noise that separates ties plays no part.
smooth_x = rng.normal(size=(200, 4))
smooth_y = smooth_x[:, 0] + 0.3 * smooth_x[:, 1] ** 2 + 0.2 * rng.normal(size=200)
smooth_c = np.digitize(smooth_y, [-0.5, 0.8])
out["smooth"] = {"x": plain(smooth_x), "y": smooth_y.tolist(), "c": smooth_c.tolist()}
out["scores"] = {
    "chi2 iris": feature_selection.chi2(iris_x, iris_y)[0].tolist(),
    "chi2 cancer": feature_selection.chi2(sparse.csr_array(cancer_x), cancer_y)[0].tolist(),
    "mutual_info_classif": feature_selection.mutual_info_classif(smooth_x, smooth_c, random_state=0).tolist(),
    "mutual_info_regression": feature_selection.mutual_info_regression(smooth_x, smooth_y, random_state=0).tolist(),
}

out["polynomial"] = {}
for degree in [0, 1, 2, 3, 4]:
    for interaction in [False, True]:
        for bias in [False, True]:
            if degree == 0 and not bias:
                continue
            p = preprocessing.PolynomialFeatures(degree, interaction_only=interaction, include_bias=bias)
            out["polynomial"][f"{degree} {str(interaction).lower()} {str(bias).lower()}"] = plain(p.fit_transform(sparse.csr_array(holes[:9])))

scaler, low_high, largest = preprocessing.StandardScaler(), preprocessing.MinMaxScaler(feature_range=(-2, 3)), preprocessing.MaxAbsScaler()
for start in range(0, 43, 10):
    scaler.partial_fit(gaps[start:start + 10])
    low_high.partial_fit(gaps[start:start + 10])
    largest.partial_fit(gaps[start:start + 10])
out["pieces"] = {
    "mean": scaler.mean_.tolist(), "var": scaler.var_.tolist(), "scale": scaler.scale_.tolist(),
    "min": low_high.min_.tolist(), "data_max": low_high.data_max_.tolist(), "max_abs": largest.max_abs_.tolist(),
}

path = pathlib.Path(__file__).parent.parent / "fixtures" / "transformers.json"
path.write_text(json.dumps(out))
