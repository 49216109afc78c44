"""Scalers, imputers, encoders and selection of features of scikit-learn: python features.py writes ../fixtures/features.json."""

import json
import pathlib

import numpy as np
import scipy
import sklearn
from scipy import sparse
from sklearn import compose, datasets, feature_selection, impute, pipeline, preprocessing

rng = np.random.default_rng(5)
x = rng.normal(size=(12, 4)) * [1.0, 50.0, 0.01, 3.0] + [0.0, 7.0, 1.0, -2.0]
x[:, 3] = 4.25  # constant
gaps = x.copy()
gaps[2, 0] = gaps[5, 0] = gaps[7, 1] = np.nan
holes = np.where(rng.uniform(size=x.shape) < 0.5, 0.0, np.round(x, 1))
weights = rng.integers(0, 4, size=12).astype(float)
codes = rng.integers(0, 4, size=(12, 3)).astype(float) * [1.0, 2.0, -1.0]
codes[:, 1] = np.where(codes[:, 1] > 2, 6.0, 2.0)
repeated = np.round(gaps / [1, 25, 1, 1])


def plain(a):
    return [[None if np.isnan(v) else v for v in row] for row in np.asarray(a, dtype=float)]


out = {
    "versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__, "scipy": scipy.__version__},
    "x": plain(x), "gaps": plain(gaps), "holes": plain(holes), "weights": weights.tolist(), "codes": plain(codes),
    "repeated": plain(repeated),
}

scalers = {
    "StandardScaler": preprocessing.StandardScaler(),
    "MinMaxScaler": preprocessing.MinMaxScaler(),
    "RobustScaler": preprocessing.RobustScaler(),
    "MaxAbsScaler": preprocessing.MaxAbsScaler(),
}
out["dense"] = {name: plain(s.fit_transform(x)) for name, s in scalers.items()}
out["with_gaps"] = {name: plain(s.fit_transform(gaps)) for name, s in scalers.items()}
weighted = preprocessing.StandardScaler().fit(x, sample_weight=weights)
out["weighted"] = {"mean": weighted.mean_.tolist(), "var": weighted.var_.tolist(), "scale": weighted.scale_.tolist()}
flat = {
    "StandardScaler": preprocessing.StandardScaler(with_mean=False),
    "RobustScaler": preprocessing.RobustScaler(with_centering=False),
    "MaxAbsScaler": preprocessing.MaxAbsScaler(),
}
out["sparse"] = {name: plain(s.fit_transform(sparse.csr_array(holes)).toarray()) for name, s in flat.items()}
out["range"] = plain(preprocessing.MinMaxScaler(feature_range=(-1, 2), clip=True).fit(x[:6]).transform(x))

out["impute"] = {}
for strategy in ["mean", "median", "most_frequent", "constant"]:
    fill = impute.SimpleImputer(strategy=strategy, fill_value=-9.0 if strategy == "constant" else None, add_indicator=True)
    out["impute"][strategy] = {"statistics": fill.fit(repeated).statistics_.tolist(), "rows": plain(fill.transform(repeated))}

out["one_hot"] = {}
for name, drop in [("none", None), ("first", "first"), ("if_binary", "if_binary")]:
    encoder = preprocessing.OneHotEncoder(drop=drop).fit(codes)
    out["one_hot"][name] = {
        "rows": plain(encoder.transform(codes).toarray()),
        "names": encoder.get_feature_names_out(["a", "b", "c"]).tolist(),
    }

iris_x, iris_y = datasets.load_iris(return_X_y=True)
diabetes_x, diabetes_y = datasets.load_diabetes(return_X_y=True)
best = feature_selection.SelectKBest(feature_selection.f_classif, k=2).fit(iris_x, iris_y)
line = feature_selection.SelectKBest(feature_selection.f_regression, k=4).fit(diabetes_x, diabetes_y)
out["select"] = {
    "classif": {"scores": best.scores_.tolist(), "columns": np.flatnonzero(best.get_support()).tolist()},
    "regression": {"scores": line.scores_.tolist(), "columns": np.flatnonzero(line.get_support()).tolist()},
}

table = np.column_stack([gaps[:, :2], codes[:, :1], x[:, 2]])
both = compose.ColumnTransformer(
    [
        ("numbers", pipeline.Pipeline([("fill", impute.SimpleImputer()), ("scale", preprocessing.StandardScaler())]), [0, 1]),
        ("codes", preprocessing.OneHotEncoder(drop="first"), [2]),
    ],
    remainder="passthrough",
)
out["columns"] = {"table": plain(table), "rows": plain(np.asarray(both.fit_transform(table)))}

path = pathlib.Path(__file__).parent.parent / "fixtures" / "features.json"
path.write_text(json.dumps(out))
