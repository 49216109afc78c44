"""Reference values for the program on real tables: kinds of columns as pandas sees them, coefficients, scores and predictions of
scikit-learn on the same rows with the same preprocessing. Writes tests/fixtures/tables.json.

    TOVE_DATA=... python crates/cli/tests/reference/tables.py

Rows: adult has its own test file; of the others every fourth row (number 3, 7, 11 ...) judges. flights is the first 40,000
rows, in the order of their dates, with `delay >= 15` as the target of a classification.

Preprocessing: numbers filled by their mean, with an indicator of what was missing, then scaled to mean 0 and variance 1 (the
indicator is not scaled); categories one-hot, missing ones a category of their own, unknown ones all zero.
"""

import json
import os
import sys
from pathlib import Path

import numpy
import pandas
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, log_loss, mean_absolute_error
from sklearn.metrics import mean_squared_error, r2_score, roc_auc_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

DATA = Path(os.environ.get("TOVE_DATA", Path(__file__).resolve().parents[5] / "shared" / "data"))
OUT = Path(__file__).resolve().parents[1] / "fixtures" / "tables.json"
# Every so many predictions are kept, so that the fixture stays small.
EVERY = 25


def halves(table):
    """Training and test rows: every fourth row judges."""
    last = numpy.arange(len(table)) % 4 == 3
    return table[~last].reset_index(drop=True), table[last].reset_index(drop=True)


def preprocessing(train, features):
    """The transformer, and the names that tove gives to its outputs, in order."""
    numbers = [name for name in features if pandas.api.types.is_numeric_dtype(train[name])]
    names = [name for name in features if name not in numbers]
    gaps = [name for name in numbers if train[name].isna().any()]
    parts = [
        ("numbers", Pipeline([("fill", SimpleImputer()), ("scale", StandardScaler())]), numbers),
        ("gaps", MissingIndicator(features="all"), gaps),
        ("names", OneHotEncoder(handle_unknown="ignore", sparse_output=False), names),
    ]
    transform = ColumnTransformer([part for part in parts if part[2]])
    transform.fit(train)
    labels = list(numbers) + [f"{name} is missing" for name in gaps]
    if names:
        for name, categories in zip(names, transform.named_transformers_["names"].categories_):
            labels += [f"{name} is missing" if value is None or value != value else f"{name}={value}" for value in categories]
    return transform, labels


def kinds(table):
    """Names of the columns' kinds, as tove calls them."""

    def kind(column):
        if pandas.api.types.is_bool_dtype(column):
            return "boolean"
        if pandas.api.types.is_integer_dtype(column):
            return "integer"
        if pandas.api.types.is_float_dtype(column):
            # Whole numbers with gaps are floats only because numpy has no gap among integers.
            known = column.dropna()
            return "integer" if (known % 1 == 0).all() and column.isna().any() else "float"
        if pandas.api.types.is_datetime64_any_dtype(column):
            return "date"
        return "string"

    describe = lambda column: {"kind": kind(column), "missing": int(column.isna().sum()), "distinct": int(column.nunique())}
    return {name: describe(table[name]) for name in table}


def classification(train, test, target, features, C=1.0, class_weight=None):
    transform, labels = preprocessing(train, features)
    model = LogisticRegression(C=C, tol=1e-10, max_iter=1000, solver="newton-cholesky", class_weight=class_weight)
    model.fit(transform.transform(train[features]), train[target])
    inputs = transform.transform(test[features])
    probabilities, predicted = model.predict_proba(inputs), model.predict(inputs)
    truth = test[target]
    positive = model.classes_[1]
    return {
        "rows": [len(train), len(test)],
        "classes": [str(name) for name in model.classes_],
        "coefficients": dict(zip(labels, model.coef_[0].tolist())),
        "scores": {
            "accuracy": accuracy_score(truth, predicted),
            "balanced_accuracy": balanced_accuracy_score(truth, predicted),
            "f1": f1_score(truth, predicted, pos_label=positive),
            "roc_auc": roc_auc_score(truth == positive, probabilities[:, 1]),
            "log_loss": log_loss(truth, probabilities),
        },
        "every": EVERY,
        "probabilities": probabilities[::EVERY, 1].tolist(),
    }


def regression(train, test, target, features, alpha=1.0):
    transform, labels = preprocessing(train, features)
    model = Ridge(alpha=alpha).fit(transform.transform(train[features]), train[target])
    predicted, truth = model.predict(transform.transform(test[features])), test[target]
    return {
        "rows": [len(train), len(test)],
        "coefficients": dict(zip(labels, model.coef_.tolist())),
        "scores": {
            "r2": r2_score(truth, predicted),
            "root_mean_squared_error": mean_squared_error(truth, predicted) ** 0.5,
            "mean_absolute_error": mean_absolute_error(truth, predicted),
        },
        "every": EVERY,
        "predictions": predicted[::EVERY].tolist(),
    }


def main():
    titanic = pandas.read_csv(DATA / "titanic/titanic.csv")
    adult = [pandas.read_csv(DATA / f"adult/{part}.csv") for part in ("train", "test")]
    housing = pandas.read_csv(DATA / "california-housing/california_housing.csv")
    flights = pandas.read_parquet(DATA / "flights-1m/flights-1m.parquet")
    without = lambda table, *names: [name for name in table if name not in names]
    few = flights.head(40_000).copy()
    few["late"] = numpy.where(few["delay"] >= 15, "yes", "no")
    document = {
        "made by": {"pandas": pandas.__version__, "scikit-learn": sklearn.__version__, "python": sys.version.split()[0]},
        "kinds": {"titanic": kinds(titanic), "adult": kinds(adult[0]), "housing": kinds(housing), "flights": kinds(flights)},
        "titanic": classification(*halves(titanic), "survived", without(titanic, "survived", "name", "ticket", "cabin")),
        "adult": classification(*adult, "income", without(adult[0], "income")),
        "adult balanced": classification(*adult, "income", without(adult[0], "income"), class_weight="balanced"),
        "housing": regression(*halves(housing), "MedHouseVal", without(housing, "MedHouseVal")),
        "flights": classification(*halves(few), "late", ["distance", "origin", "destination"]),
    }
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


main()
