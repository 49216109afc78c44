"""Random expressions with their values, first and second derivatives from sympy, in 40-digit arithmetic.

Run from anywhere: python crates/tensor/tests/reference/symbolic.py; writes symbolic.json beside itself.
Expressions that double precision cannot evaluate well (cancellation, overflow) are left out.
"""

import json
import math
import pathlib
import random

import sympy

X, Y = sympy.symbols("x y", real=True)
FUNCTIONS = {
    "sin": sympy.sin, "cos": sympy.cos, "tan": sympy.tan, "asin": sympy.asin, "acos": sympy.acos, "atan": sympy.atan,
    "sinh": sympy.sinh, "cosh": sympy.cosh, "tanh": sympy.tanh, "exp": sympy.exp, "ln": sympy.log, "log": sympy.log,
    "sqrt": sympy.sqrt, "abs": sympy.Abs, "sigmoid": lambda u: 1 / (1 + sympy.exp(-u)),
    "log2": lambda u: sympy.log(u) / sympy.log(2), "log10": lambda u: sympy.log(u) / sympy.log(10),
}
WANTED = 400
rng = random.Random(20)


def leaf():
    kind = rng.random()
    if kind < 0.45:
        return "x", X, 9
    if kind < 0.65:
        return "y", Y, 9
    if kind < 0.85:
        n = rng.randint(0, 6)
        return str(n), sympy.Integer(n), 9
    if kind < 0.93:
        text = rng.choice(["0.5", "2.75", "1e-2", "1.5e1", ".25"])
        return text, sympy.Rational(text), 9
    return rng.choice([("pi", sympy.pi, 9), ("e", sympy.E, 9)])


def grouped(text, binding, needed):
    # now and then parentheses that are not needed
    return f"({text})" if binding < needed or rng.random() < 0.1 else text


def tree(depth):
    """Text, sympy expression and how tightly the text binds: sum 1, product 2, minus 3, power 4, atom 9."""
    if depth == 0 or rng.random() < 0.1:
        return leaf()
    kind = rng.random()
    if kind < 0.35:
        name = rng.choice(list(FUNCTIONS))
        text, value, _ = tree(depth - 1)
        return f"{name}({text})", FUNCTIONS[name](value), 9
    if kind < 0.43:
        text, value, binding = tree(depth - 1)
        return "-" + grouped(text, binding, 3), -value, 3
    if kind < 0.55:
        (a, u, p), n = tree(depth - 1), rng.choice([2, 3, -1, -2, "1/2", "(x)", "y"])
        exponent = {"1/2": sympy.Rational(1, 2), "(x)": X, "y": Y}.get(n, n)
        text = f"({n})" if n == "1/2" else str(n)
        return grouped(a, p, 9) + rng.choice(["^", "**", " ^ "]) + text, u**exponent, 4
    (a, u, p), (b, v, q) = tree(depth - 1), tree(depth - 1)
    operator = rng.choice("+-**/")
    if operator in "+-":
        value = u + v if operator == "+" else u - v
        return f"{grouped(a, p, 1)} {operator} {grouped(b, q, 2)}", value, 1
    value = u * v if operator == "*" else u / v
    return f"{grouped(a, p, 2)}{operator}{grouped(b, q, 3)}", value, 2


def number(expression, point):
    value = expression.xreplace(point).evalf(40)
    if not value.is_Float and not value.is_Integer and not value.is_Rational:
        return None
    value = float(value)
    return value if math.isfinite(value) and 1e-6 < abs(value) < 1e6 or value == 0.0 else None


def well_conditioned(expression, point, exact):
    """Double precision, on sympy's own form, must reproduce the exact value."""
    try:
        function = sympy.lambdify((X, Y), expression, "math")
        value = function(float(point[X]), float(point[Y]))
        return isinstance(value, float | int) and abs(value - exact) <= 1e-11 * max(1.0, abs(exact))
    except (ValueError, ZeroDivisionError, OverflowError, NameError, TypeError):
        return False


def as_written(text, point):
    """The value of the text itself, by Python: real at every step, or None. sympy alone would turn sin(asin(x)) into x."""
    names = {name: getattr(math, name, None) for name in FUNCTIONS}
    names |= {"ln": math.log, "abs": math.fabs, "sigmoid": lambda u: 1 / (1 + math.exp(-u)), "pi": math.pi, "e": math.e}
    try:
        value = eval(text.replace("^", "**"), {"__builtins__": {}}, names | {"x": float(point[X]), "y": float(point[Y])})
    except (ValueError, ZeroDivisionError, OverflowError, TypeError):
        return None
    return None if isinstance(value, complex) else value


def case(depth):
    text, expression, _ = tree(depth)
    if not {X, Y} & expression.free_symbols or expression.has(sympy.zoo, sympy.nan, sympy.oo, sympy.I):
        return None
    point = {X: sympy.Rational(rng.randint(-30, 50), 16), Y: sympy.Rational(rng.randint(3, 40), 16)}
    written = as_written(text, point)
    if written is None:
        return None
    wanted = {"f": expression, "fx": sympy.diff(expression, X), "fy": sympy.diff(expression, Y)}
    wanted["fxx"] = sympy.diff(wanted["fx"], X)
    wanted["fxy"] = sympy.diff(wanted["fx"], Y)
    values = {}
    for key, derivative in wanted.items():
        if derivative.has(sympy.Derivative, sympy.Subs, sympy.DiracDelta, sympy.zoo, sympy.nan):
            return None
        values[key] = number(derivative, point)
        if values[key] is None or not well_conditioned(derivative, point, values[key]):
            return None
    if abs(values["f"] - written) > 1e-10 * max(1.0, abs(written)):
        raise SystemExit(f"{text} is not {expression}")
    return {"text": text, "x": float(point[X]), "y": float(point[Y]), **values}


cases, seen = [], set()
while len(cases) < WANTED:
    found = case(rng.randint(1, 4))
    if found and found["text"] not in seen:
        seen.add(found["text"])
        cases.append(found)
path = pathlib.Path(__file__).resolve().parent / "symbolic.json"
lines = ",\n".join(json.dumps(found) for found in cases)
path.write_text('{"sympy": "%s", "cases": [\n%s\n]}\n' % (sympy.__version__, lines))
