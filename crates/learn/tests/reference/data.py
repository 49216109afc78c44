"""Small real data sets as scikit-learn ships them, for all tests of this crate: python data.py writes ../fixtures/data.npz."""

import pathlib

import numpy as np
import sklearn
from sklearn import datasets

arrays = {}
for name in ["iris", "wine", "breast_cancer", "diabetes"]:
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    arrays[f"{name}_x"] = x.astype(np.float64)
    arrays[f"{name}_y"] = y.astype(np.float64 if name == "diabetes" else np.int64)
arrays["version"] = np.frombuffer(f"scikit-learn {sklearn.__version__}".encode(), dtype=np.uint8)
np.savez_compressed(pathlib.Path(__file__).parent.parent / "fixtures" / "data.npz", **arrays)
