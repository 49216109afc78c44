"""JAX in f64: B1 and B2 (gradients, directional derivatives), B3 (Jacobians), B13 and B17 (a net), B36 (Hessians)."""

import jax
import jax.numpy as jnp
from fixture import case, normal, rng, write

jax.config.update("jax_enable_x64", True)

SIZES = [5, 7, 6, 4, 3]
BATCH = 4


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def ten_functions():
    """Name, formula, function of (x, *constants), x, constants by name."""
    g = rng(101)
    a, w, b = normal(g, 4, 4), normal(g, 3, 4), normal(g, 3)
    x = lambda *shape: normal(g, *shape)
    positive = jnp.abs(jnp.asarray(x(4))) + 0.5
    return [
        ("rosenbrock", "sum 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2", rosenbrock, x(4), {}),
        ("logsumexp", "log sum exp x", jax.scipy.special.logsumexp, x(5), {}),
        ("wave", "sum sin(x) exp(-x^2)", lambda x: jnp.sum(jnp.sin(x) * jnp.exp(-(x**2))), x(4), {}),
        ("product", "product of all x", jnp.prod, x(4), {}),
        ("quadratic", "x^T a x", lambda x, a: x @ a @ x, x(4), {"a": a}),
        ("norm", "sqrt sum x^2", lambda x: jnp.sqrt(jnp.sum(x * x)), x(5), {}),
        ("softplus", "mean log(1 + exp x)", lambda x: jnp.mean(jnp.logaddexp(x, 0.0)), x(5), {}),
        ("layer", "sum tanh(w x + b)^2", lambda x, w, b: jnp.sum(jnp.tanh(w @ x + b) ** 2), x(4), {"w": w, "b": b}),
        (
            "mixed",
            "x0 x1 / x2 + sqrt(x3) + x0^x1",
            lambda x: x[0] * x[1] / x[2] + jnp.sqrt(x[3]) + x[0] ** x[1],
            jnp.round(positive, 3),
            {},
        ),
        ("logdet", "log det(x x^T + I)", lambda x: jnp.linalg.slogdet(x @ x.T + jnp.eye(3))[1], x(3, 3), {}),
    ]


def b1_b2_gradients():
    g = rng(102)
    for name, formula, function, x, constants in ten_functions():
        x, values = jnp.asarray(x), [jnp.asarray(value) for value in constants.values()]
        v = normal(g, *x.shape)
        y, directional = jax.jvp(lambda x: function(x, *values), (x,), (jnp.asarray(v),))
        gradient = jax.grad(function)(x, *values)
        inputs = {"x": x, "v": v, **constants}
        yield case(f"b1 {name}", inputs, {"y": y, "directional": directional}, {"x": gradient}, formula=formula)


def b3_jacobians():
    g = rng(103)
    w = jnp.asarray(normal(g, 4, 3))
    many = lambda x: jnp.concatenate([jnp.tanh(w @ x), jnp.array([x[0] * x[1]])])
    functions = {
        "b3 five of three": (many, normal(g, 3), {"w": w}, "tanh(w x), then x0 x1"),
        "b3 one of three": (lambda x: jnp.sum(x**2)[None], normal(g, 3), {}, "[sum x^2]"),
        "b3 one of one": (lambda x: jnp.sin(x) * x, normal(g, 1), {}, "x sin x"),
    }
    for name, (function, x, constants, formula) in functions.items():
        x = jnp.asarray(x)
        forward, reverse = jax.jacfwd(function)(x), jax.jacrev(function)(x)
        outputs = {"y": function(x), "jacfwd": forward, "jacrev": reverse}
        yield case(name, {"x": x, **constants}, outputs, formula=formula)


def net():
    """Weights (out, in), biases, inputs (batch, 5) and labels of a tanh net 5-7-6-4-3."""
    g = rng(113)
    parameters = {}
    for layer, (fan_in, fan_out) in enumerate(zip(SIZES[:-1], SIZES[1:]), 1):
        parameters[f"w{layer}"] = jnp.asarray(normal(g, fan_out, fan_in, scale=fan_in**-0.5))
        parameters[f"b{layer}"] = jnp.asarray(normal(g, fan_out, scale=0.2))
    x, labels = jnp.asarray(normal(g, BATCH, SIZES[0])), jnp.asarray(g.integers(0, SIZES[-1], BATCH))
    return parameters, x, labels


def layer(parameters, index, h):
    return h @ parameters[f"w{index}"].T + parameters[f"b{index}"]


def b13_net():
    parameters, x, labels = net()

    def loss(parameters):
        h = x
        for index in range(1, 4):
            h = jnp.tanh(layer(parameters, index, h))
        log_probabilities = jax.nn.log_softmax(layer(parameters, 4, h))
        return -jnp.mean(log_probabilities[jnp.arange(BATCH), labels])

    y, gradients = jax.value_and_grad(loss)(parameters)
    formula = "mean cross-entropy of w4 tanh(w3 tanh(w2 tanh(w1 x + b1) + b2) + b3) + b4"
    yield case("b13 net", {"x": x, "labels": labels, **parameters}, {"y": y}, gradients, formula=formula)


def b17_adjoints():
    parameters, x, _ = net()

    def states(parameters, start, h):
        """h_start, ..., h_4 from the state before layer start + 1."""
        found = [h]
        for index in range(start + 1, 5):
            found.append(jnp.tanh(layer(parameters, index, found[-1])))
        return found

    h = states(parameters, 0, x)
    gradients = jax.grad(lambda parameters: jnp.sum(states(parameters, 0, x)[-1]))(parameters)
    outputs = {"y": jnp.sum(h[-1])}
    for index in range(5):
        outputs[f"h{index}"] = h[index]
        adjoint = jax.grad(lambda value: jnp.sum(states(parameters, index, value)[-1]))(h[index])
        outputs[f"adjoint h{index}"] = adjoint
    formula = "h_i = tanh(w_i h_(i-1) + b_i), y = sum h_4"
    yield case("b17 adjoints", {"x": x, **parameters}, outputs, gradients, formula=formula)


def b36_hessians():
    g = rng(136)
    chosen = {"rosenbrock", "logsumexp", "wave", "product", "quadratic", "norm", "layer", "mixed"}
    problems = [problem for problem in ten_functions() if problem[0] in chosen]
    data, target, sign = normal(g, 6, 3), normal(g, 6), jnp.where(jnp.asarray(normal(g, 6)) > 0, 1.0, -1.0)
    squares = lambda w, data, target: jnp.sum((target - data @ w) ** 2) / (2 * len(target))
    logistic = lambda w, data, sign: jnp.mean(jnp.logaddexp(0.0, -sign * (data @ w)))
    problems.append(("least squares", "|target - data x|^2 / (2 N)", squares, normal(g, 3), {"data": data, "target": target}))
    problems.append(("logistic", "mean log(1 + exp(-sign (data x)))", logistic, normal(g, 3), {"data": data, "sign": sign}))
    for name, formula, function, x, constants in problems:
        x, values = jnp.asarray(x), [jnp.asarray(value) for value in constants.values()]
        v = normal(g, *x.shape)
        hessian = jax.hessian(function)(x, *values)
        outputs = {"y": function(x, *values), "hessian": hessian, "hv": hessian @ v}
        gradient = jax.grad(function)(x, *values)
        yield case(f"b36 {name}", {"x": x, "v": v, **constants}, outputs, {"x": gradient}, formula=formula)


if __name__ == "__main__":
    groups = [b1_b2_gradients, b3_jacobians, b13_net, b17_adjoints, b36_hessians]
    write("jax_derivatives", [entry for group in groups for entry in group()], jax)
