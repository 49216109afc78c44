"""What pandas reads from the tables of the data folder: rows, kinds, missing values, sums.

    TOVE_DATA=... python crates/data/tests/reference/pandas_tables.py
"""
import json, os, pathlib, tempfile
import pandas, pyarrow

DATA = pathlib.Path(os.environ["TOVE_DATA"])
FILES = ["titanic/titanic.csv", "adult/train.csv", "adult/test.csv", "california-housing/california_housing.csv",
         "flights-1m/flights-1m.parquet", "movietweetings-100k/movies.csv", "german-credit/german.csv"]


def column(values):
    about = {"missing": int(values.isna().sum()), "distinct": int(values.nunique())}
    if pandas.api.types.is_datetime64_any_dtype(values):
        seconds = values.astype("datetime64[us]").astype("int64") / 1e6
        return about | {"kind": "date", "mean": float(seconds.mean())}
    if pandas.api.types.is_numeric_dtype(values):
        kind = "integer" if pandas.api.types.is_integer_dtype(values) else "float"
        return about | {"kind": kind, "mean": float(values.mean()), "min": float(values.min()), "max": float(values.max())}
    common = values.value_counts()
    best = sorted(common[common == common.max()].index)[0]
    return about | {"kind": "string", "most_common": [best, int(common.max())]}


tables = {}
for file in FILES:
    path = DATA / file
    table = pandas.read_parquet(path) if path.suffix == ".parquet" else pandas.read_csv(path)
    if file.startswith("movietweetings"):
        # Zero-padded names: pandas would make numbers of them.
        table = pandas.read_csv(path, dtype={"movieId": str})
    tables[file] = {"rows": len(table), "columns": {name: column(table[name]) for name in table.columns}}

out = pathlib.Path(__file__).parent.parent / "fixtures" / "pandas_tables.json"
versions = {"pandas": pandas.__version__, "pyarrow": pyarrow.__version__}
out.write_text(json.dumps({"versions": versions, "tables": tables}, indent=1) + "\n")
