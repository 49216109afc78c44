"""One-step attacks and PGD of foolbox on a small net: writes fixtures/attacks_foolbox.json.

Run: python attacks_foolbox.py (needs numpy, jax and foolbox).
"""

import importlib.metadata
import json
import pathlib

import eagerpy as ep
import foolbox
import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(7)
D, H, M, N = 6, 8, 3, 12
w1 = rng.normal(size=(H, D)).astype(np.float32)
b1 = (0.3 * rng.normal(size=H)).astype(np.float32)
w2 = rng.normal(size=(M, H)).astype(np.float32)
b2 = (0.3 * rng.normal(size=M)).astype(np.float32)
x = rng.uniform(0.1, 0.9, size=(N, D)).astype(np.float32)
x[0] = [0.0, 1.0, 0.0, 1.0, 0.5, 0.02]  # at the ends of the range
noise = rng.uniform(-1.0, 1.0, size=(N, D)).astype(np.float32)


def net(inputs):
    return jnp.tanh(inputs @ w1.T + b1) @ w2.T + b2


labels = np.argmax(np.asarray(net(x)), axis=1)
model = foolbox.JAXModel(net, bounds=(0, 1))
criterion = foolbox.criteria.Misclassification(jnp.asarray(labels))


def attacked(attack, eps):
    _, clipped, success = attack(model, jnp.asarray(x), criterion, epsilons=eps)
    return {"eps": eps, "x": np.asarray(clipped).tolist(), "success": np.asarray(success).tolist()}


def started(attack, start):
    """The same attack from a given start instead of a random one."""
    attack.random_start = True
    attack.get_random_start = lambda x0, epsilon: ep.astensor(jnp.asarray(start))
    return attack


starts = {
    "l-inf": np.clip(x + 0.1 * noise, 0, 1).astype(np.float32),
    "l2": np.clip(x + 0.3 * noise / np.linalg.norm(noise, axis=1, keepdims=True) * 0.9, 0, 1).astype(np.float32),
}
fa = foolbox.attacks
out = {
    "versions": {name: importlib.metadata.version(name) for name in ["foolbox", "eagerpy", "jax", "numpy"]},
    "w1": w1.tolist(), "b1": b1.tolist(), "w2": w2.tolist(), "b2": b2.tolist(),
    "x": x.tolist(), "labels": labels.tolist(),
    "scores": np.asarray(net(x)).tolist(),
    "starts": {name: value.tolist() for name, value in starts.items()},
    "fgsm": attacked(fa.LinfFastGradientAttack(), 0.1),
    "fgm": attacked(fa.L2FastGradientAttack(), 0.3),
    "linf_pgd": attacked(fa.LinfPGD(rel_stepsize=0.15, steps=20, random_start=False), 0.1),
    "l2_pgd": attacked(fa.L2PGD(rel_stepsize=0.15, steps=20, random_start=False), 0.3),
    "linf_pgd_started": attacked(started(fa.LinfPGD(rel_stepsize=0.15, steps=20), starts["l-inf"]), 0.1),
    "l2_pgd_started": attacked(started(fa.L2PGD(rel_stepsize=0.15, steps=20), starts["l2"]), 0.3),
}
path = pathlib.Path(__file__).parent.parent / "fixtures" / "attacks_foolbox.json"
path.write_text(json.dumps(out))
print(path, path.stat().st_size, {name: sum(value["success"]) for name, value in out.items() if "eps" in value})
