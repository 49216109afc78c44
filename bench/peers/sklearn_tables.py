"""pandas and scikit-learn: W33 (a CSV file to a fitted, evaluated logistic regression), W43 (flight records to cross-validated
scores) and W34 (start of the interpreter with the library that does the same)."""

import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import pandas as pd
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, log_loss, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from data import fill, labels

warnings.filterwarnings("ignore")
NUMBERS = 8


def versions():
    return {"scikit-learn": sklearn.__version__, "pandas": pd.__version__}


def write(path, rows):
    """The table of both sides."""
    x, noise = fill(1, (rows, NUMBERS), dtype="f64"), fill(2, (rows,), dtype="f64")
    colour, shop, city = (labels(stream, rows, count) for stream, count in ((3, 5), (4, 12), (5, 40)))
    score = x[:, 0] - 0.5 * x[:, 2] + 0.2 * (colour - 2.0) + 0.05 * (shop - 6.0) + noise
    with open(path, "w") as file:
        file.write("".join(f"x{column}," for column in range(NUMBERS)) + "gap,colour,shop,city,y\n")
        for row in range(rows):
            numbers = x[row]
            gap = "" if row % 9 == 0 else f"{numbers[0] * numbers[1]:.6f}"
            own = ",".join(f"{value:.6f}" for value in numbers)
            kind = "yes" if score[row] > 0 else "no"
            file.write(f"{own},{gap},colour{colour[row]},shop{shop[row]},city{city[row]},{kind}\n")


class Table:
    def __init__(self, parameters):
        self.task, rows = parameters["task"], parameters["rows"]
        self.path = os.path.join(tempfile.gettempdir(), f"tove-bench-peer-{os.getpid()}-{rows}.csv")
        write(self.path, rows)

    def fit(self):
        """Mean log loss on the last quarter of the rows; all scores that tove gives are computed."""
        if self.task == "read_polars":
            import polars  # the number of its threads was set before

            table = polars.read_csv(self.path)
            return float(table.height * table.width)
        table = pd.read_csv(self.path)
        if self.task == "read":
            return float(table.size)
        rows = len(table) * 3 // 4
        train, test = table[:rows], table[rows:]
        numbers = [f"x{column}" for column in range(NUMBERS)] + ["gap"]
        transform = ColumnTransformer([
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            ("gap", MissingIndicator(features="all"), ["gap"]),
            ("names", OneHotEncoder(handle_unknown="ignore"), ["colour", "shop", "city"]),
        ])
        model = Pipeline([("transform", transform), ("model", LogisticRegression(max_iter=1000))])
        model.fit(train, train["y"])
        for part in (train, test):
            probabilities, truth = model.predict_proba(part), part["y"]
            predicted = np.where(probabilities[:, 1] > 0.5, "yes", "no")
            accuracy_score(truth, predicted), balanced_accuracy_score(truth, predicted)
            f1_score(truth, predicted, pos_label="yes"), roc_auc_score(truth == "yes", probabilities[:, 1])
            loss = log_loss(truth, probabilities)
        return float(loss)

    def run(self, count):
        for _ in range(count):
            self.fit()

    def quality(self):
        return self.fit()

    def __del__(self):
        os.remove(self.path)


class Flights:
    """The shared flight records: the dates as the numbers that tove takes from them, airports sparsely one-hot encoded."""

    def __init__(self, parameters):
        beside = pathlib.Path(__file__).resolve().parents[3] / "shared" / "data"
        folder = pathlib.Path(os.environ.get("TOVE_DATA", beside))
        self.path, self.classifies = folder / "flights-1m" / "flights-1m.parquet", parameters["task"] == "logistic"

    def fit(self):
        """Mean score of five folds of three quarters of the rows; the model is then fitted to them and scored on the rest."""
        table = pd.read_parquet(self.path)
        date = table.pop("date").dt
        seconds = date.hour * 3600 + date.minute * 60 + date.second
        table = table.assign(year=date.year, month=date.month, weekday=date.weekday, seconds=seconds, hour=date.hour)
        y = table.pop("delay")
        y = (y >= 15) if self.classifies else y.astype("float64")
        numbers, names = ["distance", "year", "month", "weekday", "seconds", "hour"], ["origin", "destination"]
        transform = ColumnTransformer([
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            ("names", OneHotEncoder(handle_unknown="ignore"), names),
        ])
        model = LogisticRegression(max_iter=1000) if self.classifies else Ridge()
        model = Pipeline([("transform", transform), ("model", model)])
        stratify = y if self.classifies else None
        x, x_test, y, y_test = train_test_split(table, y, test_size=0.25, random_state=0, stratify=stratify)
        folds = StratifiedKFold(5, shuffle=True, random_state=0) if self.classifies else KFold(5, shuffle=True, random_state=0)
        score = cross_val_score(model, x, y, cv=folds).mean()
        model.fit(x, y).score(x_test, y_test)
        return float(score)

    def run(self, count):
        for _ in range(count):
            self.fit()

    def quality(self):
        return self.fit()


class Start:
    def run(self, count):
        for _ in range(count):
            subprocess.run([sys.executable, "-c", "import sklearn.linear_model"], check=True)

    def quality(self):
        self.run(1)
        return 1.0


def make(workload, parameters, threads):
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    return {"W33": lambda: Table(parameters), "W43": lambda: Flights(parameters), "W34": Start}[workload]()
