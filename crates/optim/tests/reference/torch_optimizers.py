"""Trajectories of PyTorch's optimisers, its schedules and its gradient clipping.

    python torch_optimizers.py

writes ../fixtures/torch_optimizers.json: {"versions", "data", "trajectories", "nu_inside", "schedules", "clipping"}. A trajectory is
the run of one optimiser on the mean squared error of a linear model in single precision, on four batches in turn, with
both parameters after some of the steps. On batches the gradients do not vanish; if they did, rules that divide by their
size would be led by rounding errors, and no two programs would agree. Floats are written so that reading gives back the same bits.
"""

import json
import pathlib
import platform
import warnings

import numpy as np
import torch

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
FIXTURE = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "torch_optimizers.json"
rng = np.random.default_rng(7)
X = np.round(rng.standard_normal((24, 5)), 3).astype(np.float32)
Y = np.round(rng.standard_normal((24, 3)), 3).astype(np.float32)
W = np.round(rng.standard_normal((3, 5)), 3).astype(np.float32)
B = np.round(rng.standard_normal(3), 3).astype(np.float32)

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "sgd_momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "sgd_nesterov": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "sgd_decay": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.8, weight_decay=0.1),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
    "adagrad_decay": lambda p: torch.optim.Adagrad(p, lr=0.1, weight_decay=0.1, initial_accumulator_value=0.5, eps=1e-6),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01, alpha=0.95),
    "rmsprop_momentum": lambda p: torch.optim.RMSprop(p, lr=0.002, alpha=0.95, momentum=0.9),
    "rmsprop_centered": lambda p: torch.optim.RMSprop(p, lr=0.002, alpha=0.9, centered=True, eps=1e-3),
    "rmsprop_all": lambda p: torch.optim.RMSprop(
        p, lr=0.002, alpha=0.9, centered=True, momentum=0.5, weight_decay=0.1, eps=1e-3
    ),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adam_decay": lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.8, 0.99), weight_decay=0.1),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1),
}
# A large nu shows where it stands: outside the root, as in sqrt(a) + nu, or inside.
for nu in [0.1, 0.01]:
    OPTIMIZERS |= {
        f"adagrad_nu_{nu}": lambda p, nu=nu: torch.optim.Adagrad(p, lr=0.1, eps=nu),
        f"rmsprop_nu_{nu}": lambda p, nu=nu: torch.optim.RMSprop(p, lr=0.01, alpha=0.95, eps=nu),
        f"rmsprop_momentum_nu_{nu}": lambda p, nu=nu: torch.optim.RMSprop(p, lr=0.002, alpha=0.95, momentum=0.9, eps=nu),
        f"adam_nu_{nu}": lambda p, nu=nu: torch.optim.Adam(p, lr=0.01, eps=nu),
    }
KEPT = {1, 2, 3, 10, 100, 300, 1000}


class Inside:
    """The same rules with nu inside the root, sqrt(a + nu), which tests must tell apart from the right ones."""

    def __init__(self, parameters, rate, nu, step):
        self.parameters, self.rate, self.nu, self.step_of = parameters, rate, nu, step
        self.states = [{"a": torch.zeros_like(p), "v": torch.zeros_like(p), "t": 0} for p in parameters]

    def zero_grad(self):
        for p in self.parameters:
            p.grad = None

    @torch.no_grad()
    def step(self):
        for p, state in zip(self.parameters, self.states):
            state["t"] += 1
            p -= self.step_of(state, p.grad, self.rate, self.nu)


def adagrad(state, g, rate, nu):
    state["a"] += g * g
    return rate * g / torch.sqrt(state["a"] + nu)


def rmsprop(state, g, rate, nu):
    state["a"] = 0.95 * state["a"] + 0.05 * g * g
    return rate * g / torch.sqrt(state["a"] + nu)


def rmsprop_momentum(state, g, rate, nu):
    state["a"] = 0.95 * state["a"] + 0.05 * g * g
    state["v"] = 0.9 * state["v"] + g / torch.sqrt(state["a"] + nu)
    return rate * state["v"]


def adam(state, g, rate, nu):
    state["v"] = 0.9 * state["v"] + 0.1 * g
    state["a"] = 0.999 * state["a"] + 0.001 * g * g
    v, a = state["v"] / (1 - 0.9 ** state["t"]), state["a"] / (1 - 0.999 ** state["t"])
    return rate * v / torch.sqrt(a + nu)


INSIDE = {}
for name, rate, rule in [("adagrad", 0.1, adagrad), ("rmsprop", 0.01, rmsprop),
                         ("rmsprop_momentum", 0.002, rmsprop_momentum), ("adam", 0.01, adam)]:
    for nu in [0.1, 0.01]:
        INSIDE[f"{name}_nu_{nu}"] = lambda p, rate=rate, nu=nu, rule=rule: Inside(p, rate, nu, rule)


def trajectory(make):
    w, b = torch.tensor(W, requires_grad=True), torch.tensor(B, requires_grad=True)
    optimizer = make([w, b])
    points = []
    for step in range(1, 1001):
        optimizer.zero_grad()
        rows = slice(6 * (step % 4), 6 * (step % 4) + 6)
        loss = ((torch.tensor(X[rows]) @ w.T + b - torch.tensor(Y[rows])) ** 2).mean()
        loss.backward()
        optimizer.step()
        if step in KEPT:
            w_now, b_now = w.detach().numpy().ravel(), b.detach().numpy()
            points.append({"step": step, "w": [float(x) for x in w_now], "b": [float(x) for x in b_now]})
    return points


def factors(make, steps):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    schedule = make(optimizer)
    values = []
    for _ in range(steps):
        values.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return values


S = torch.optim.lr_scheduler
SCHEDULES = {
    "step": lambda o: S.StepLR(o, step_size=7, gamma=0.3),
    "exponential": lambda o: S.ExponentialLR(o, gamma=0.93),
    "cosine": lambda o: S.CosineAnnealingLR(o, T_max=39, eta_min=0.1),
    "warm_up_cosine": lambda o: S.SequentialLR(
        o, [S.LinearLR(o, start_factor=0.2, total_iters=8), S.CosineAnnealingLR(o, T_max=32)], milestones=[8]
    ),
    "one_cycle": lambda o: S.OneCycleLR(o, max_lr=1.0, total_steps=40),
}


def plateau():
    losses = [float(x) for x in np.round(np.concatenate([np.linspace(3, 1, 8), np.full(20, 1.0), [0.5], np.full(11, 0.49999)]), 5)]
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    schedule = S.ReduceLROnPlateau(optimizer, factor=0.5, patience=3, cooldown=2, min_lr=0.1)
    values = []
    for loss in losses:
        schedule.step(loss)
        values.append(optimizer.param_groups[0]["lr"])
    return {"losses": losses, "factors": values}


def clipping():
    cases = []
    for limit in [0.5, 2.0, 100.0]:
        gradients = [np.round(rng.standard_normal(n), 3).astype(np.float32) for n in (7, 40)]
        parameters = [torch.zeros(len(g), requires_grad=True) for g in gradients]
        for p, g in zip(parameters, gradients):
            p.grad = torch.tensor(g)
        norm = torch.nn.utils.clip_grad_norm_(parameters, limit)
        clipped = [[float(x) for x in p.grad.numpy()] for p in parameters]
        before = [[float(x) for x in g] for g in gradients]
        cases.append({"limit": limit, "before": before, "norm": float(norm), "after": clipped})
    return cases


def flat(values):
    return [float(x) for x in values.ravel()]


fixture = {
    "versions": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__},
    "data": {"x": flat(X), "y": flat(Y), "w": flat(W), "b": flat(B)},
    "trajectories": {name: trajectory(make) for name, make in OPTIMIZERS.items()},
    "nu_inside": {name: trajectory(make) for name, make in INSIDE.items()},
    "schedules": {name: factors(make, 40) for name, make in SCHEDULES.items()},
    "plateau": plateau(),
    "clipping": clipping(),
}
FIXTURE.write_text(json.dumps(fixture) + "\n")
