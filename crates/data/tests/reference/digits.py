"""Writes the bundled digits (crates/data/assets) as packed IDX files from scikit-learn's copy of the set.

The files hold the numbers only; crates/data/assets/LICENCE-digits.md says where they come from.
"""

import gzip
import pathlib
import struct

import numpy as np
from sklearn.datasets import load_digits

ASSETS = pathlib.Path(__file__).resolve().parent.parent.parent / "assets"


def idx(values):
    values = np.ascontiguousarray(values, dtype=np.uint8)
    return struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape) + values.tobytes()


digits = load_digits()
ASSETS.mkdir(exist_ok=True)
(ASSETS / "digits-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(digits.images), 9, mtime=0))
(ASSETS / "digits-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(digits.target), 9, mtime=0))
