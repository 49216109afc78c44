"""JAX under jit: W7 (full Hessian, Hessian-vector product, per-sample gradients).

The loss is the mean softmax cross-entropy of an MLP. All parameters of the Hessian and of the product are one flat
vector, layer by layer, weight (out, in) before bias.
"""

import jax
import jax.numpy as jnp
import numpy as np

from data import fill, labels, mlp_parameters


def versions():
    return {"jax": jax.__version__}


def unflatten(theta, sizes):
    parameters, start = [], 0
    for fan_in, fan_out in zip(sizes[:-1], sizes[1:]):
        parameters.append(theta[start : start + fan_out * fan_in].reshape(fan_out, fan_in))
        start += fan_out * fan_in
        parameters.append(theta[start : start + fan_out])
        start += fan_out
    return parameters


def loss(parameters, x, y, activation):
    hidden = x
    for layer in range(0, len(parameters), 2):
        hidden = hidden @ parameters[layer].T + parameters[layer + 1]
        if layer + 2 < len(parameters):
            hidden = jnp.tanh(hidden) if activation == "tanh" else jax.nn.relu(hidden)
    log_probabilities = jax.nn.log_softmax(hidden)
    return -jnp.take_along_axis(log_probabilities, y[..., None], -1).mean()


class Compiled:
    def __init__(self, function, *arguments):
        self.function, self.arguments = jax.jit(function), arguments

    def run(self, count):
        function, arguments = self.function, self.arguments
        for _ in range(count):
            jax.block_until_ready(function(*arguments))

    def quality(self):
        results = jax.tree.leaves(self.function(*self.arguments))
        return sum(float(np.sqrt(np.square(np.asarray(result, np.float64)).mean())) for result in results)


def make(workload, p, threads):
    sizes, batch, activation = p["sizes"], p["batch"], p["activation"]
    x, y = jnp.asarray(fill(1, (batch, sizes[0]))), jnp.asarray(labels(2, batch, sizes[-1]))
    parameters = [jnp.asarray(values) for values in mlp_parameters(sizes)]
    if p["task"] == "per_sample":
        one = jax.grad(lambda parameters, x, y: loss(parameters, x[None], y[None], activation))
        return Compiled(jax.vmap(one, in_axes=(None, 0, 0)), parameters, x, y)

    def flat_loss(theta, x, y):
        return loss(unflatten(theta, sizes), x, y, activation)

    theta = jnp.concatenate([parameter.ravel() for parameter in parameters])
    if p["task"] == "hessian":
        return Compiled(jax.hessian(flat_loss), theta, x, y)
    direction = jnp.asarray(fill(3, theta.shape))
    hvp = lambda theta, v, x, y: jax.jvp(lambda t: jax.grad(flat_loss)(t, x, y), (theta,), (v,))[1]
    return Compiled(hvp, theta, direction, x, y)
