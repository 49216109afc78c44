"""Writes tests/fixtures/torch_scale.json: pictures scaled by PyTorch's bilinear interpolation with antialias.

    python crates/data/tests/reference/torch_scale.py
"""

import json
import pathlib

import numpy as np
import torch

FIXTURE = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "torch_scale.json"
# Height and width before and after, in the same proportion, so that nothing is cut off.
SIZES = [((9, 12), (3, 4)), ((9, 12), (6, 8)), ((4, 6), (10, 15)), ((16, 16), (7, 7)), ((5, 5), (5, 5))]

random, cases = np.random.default_rng(0), []
for before, after in SIZES:
    pixels = random.integers(0, 256, (2, *before))
    scaled = torch.nn.functional.interpolate(
        torch.tensor(pixels, dtype=torch.float64)[None], size=after, mode="bilinear", antialias=True, align_corners=False
    )
    cases.append({"before": before, "after": after, "pixels": pixels.ravel().tolist(), "scaled": scaled.ravel().tolist()})
versions = {"torch": torch.__version__.split("+")[0], "numpy": np.__version__}
FIXTURE.write_text(json.dumps({"versions": versions, "cases": cases}) + "\n")
