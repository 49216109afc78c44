"""One small table packed in every way that writers of Parquet use, and one with columns that a flat table cannot hold.

    python crates/data/tests/reference/parquet_codecs.py

Writes `tests/fixtures/parquet/*.parquet` and `tests/fixtures/parquet_codecs.json` with the values and the versions.
"""
import json, pathlib
import polars, pyarrow, pyarrow.parquet

HERE = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
FOLDER = HERE / "parquet"
FOLDER.mkdir(parents=True, exist_ok=True)
ROWS = 200
x = [None if i % 17 == 3 else i / 8 for i in range(ROWS)]
n = [i * i - 50 for i in range(ROWS)]
city = [["Oslo", "Bergen", "Tromsø"][i % 3] for i in range(ROWS)]
columns = {"x": x, "n": n, "city": city}

names = []
table = pyarrow.table(columns)
for codec in ["none", "snappy", "gzip", "brotli", "lz4", "zstd"]:
    name = f"pyarrow-{codec}.parquet"
    pyarrow.parquet.write_table(table, FOLDER / name, compression=codec)
    names.append(name)
for codec in ["uncompressed", "snappy", "gzip", "brotli", "lz4", "zstd"]:
    name = f"polars-{codec}.parquet"
    polars.DataFrame(columns).write_parquet(FOLDER / name, compression=codec)
    names.append(name)

nested = polars.DataFrame({
    "x": [float(i) for i in range(40)],
    "tags": [[i, i + 1] for i in range(40)],
    "place": [{"lat": i / 2, "lon": -i / 2} for i in range(40)],
    "hash": polars.Series([2**64 - 1 - i for i in range(40)], dtype=polars.UInt64),
    "small": polars.Series(list(range(40)), dtype=polars.UInt64),
    "y": [2.0 * i + 1 for i in range(40)],
})
nested.write_parquet(FOLDER / "polars-nested.parquet")
about = {"versions": {"pyarrow": pyarrow.__version__, "polars": polars.__version__}, "files": names, "columns": columns}
(HERE / "parquet_codecs.json").write_text(json.dumps(about) + "\n")
