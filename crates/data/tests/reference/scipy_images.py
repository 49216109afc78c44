"""Writes tests/fixtures/scipy_images.json: images, blurred and turned by scipy.ndimage."""

import json
import pathlib
import platform

import numpy as np
import scipy
from scipy import ndimage

OUT = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "scipy_images.json"
rng = np.random.default_rng(20261115)
cases = []
for height, width in [(8, 8), (5, 9), (1, 6), (2, 3)]:
    image = np.round(rng.uniform(size=(height, width)), 4)
    for sigma in [0.3, 1.0, 2.5]:
        expected = ndimage.gaussian_filter(image, sigma, mode="reflect", truncate=4.0)
        cases.append({"kind": "blur", "amount": sigma, "image": image.tolist(), "expected": expected.tolist()})
    for degrees in [-20.0, 7.5, 30.0]:
        expected = ndimage.rotate(image, degrees, reshape=False, order=1, mode="grid-constant", cval=0.0)
        cases.append({"kind": "rotate", "amount": degrees, "image": image.tolist(), "expected": expected.tolist()})
versions = {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__}
OUT.parent.mkdir(exist_ok=True)
lines = ",\n".join(json.dumps(case) for case in cases)
OUT.write_text(f'{{"versions": {json.dumps(versions)},\n"cases": [\n{lines}\n]}}\n')
