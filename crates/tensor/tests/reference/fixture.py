"""Writes reference values as JSON. Run the scripts of this folder again after changing them:

    for script in numpy_*.py jax_*.py torch_*.py; do python $script; done

A fixture is {"versions": {...}, "cases": [case, ...]}, a case {"name", "inputs", "attrs", "outputs", "grads"}; inputs,
outputs and grads are arrays by name, {"shape", "dtype", "data"}, data in row-major order. Gradients are those of
<y, upstream> if the inputs have an `upstream`, of the scalar output `y` otherwise. Floats are written so that reading
gives back the same bits; inf, -inf and nan are strings.
"""

import json
import math
import pathlib
import platform

import numpy as np

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
DTYPES = {"float32": "f32", "float64": "f64", "int64": "i64", "uint8": "u8", "bool": "bool"}


def rng(seed):
    return np.random.default_rng(seed)


def normal(generator, *shape, scale=1.0):
    """Normal values with three decimals: exact in print, short in the file."""
    return np.round(generator.standard_normal(shape) * scale, 3)


def number(value):
    """A number as JSON text; floats by their shortest exact form."""
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if math.isnan(value) or math.isinf(value):
        return f'"{float(value)}"'
    # repr of a numpy scalar keeps the type's own number of digits.
    return str(value) if isinstance(value, np.float32) else repr(float(value))


def array(values):
    values = np.asarray(values)
    data = ",".join(number(value) for value in values.ravel())
    return f'{{"shape": {list(values.shape)}, "dtype": "{DTYPES[values.dtype.name]}", "data": [{data}]}}'


def arrays(by_name):
    return "{" + ", ".join(f'"{name}": {array(values)}' for name, values in by_name.items()) + "}"


def case(name, inputs=None, outputs=None, grads=None, **attrs):
    """One case, as JSON text on one line."""
    return (
        f'{{"name": "{name}", "inputs": {arrays(inputs or {})}, "attrs": {json.dumps(attrs)}, '
        f'"outputs": {arrays(outputs or {})}, "grads": {arrays(grads or {})}}}'
    )


def write(name, cases, *libraries):
    versions = {library.__name__: library.__version__.split("+")[0] for library in (np, *libraries)}
    versions["python"] = platform.python_version()
    text = f'{{"versions": {json.dumps(versions)}, "cases": [\n' + ",\n".join(cases) + "\n]}\n"
    names = [entry["name"] for entry in json.loads(text)["cases"]]
    assert len(names) == len(set(names)), "case names must be unique"
    (FIXTURES / f"{name}.json").write_text(text)
    print(f"{name}.json: {len(cases)} cases, {len(text)} bytes")
