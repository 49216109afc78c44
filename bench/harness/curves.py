"""Loss curves of tove and its peer from the same weights over the same batches, as JSON and SVG in bench/curves."""

import json
import os
from pathlib import Path

import picture
from measure import Pair

FOLDER = Path(__file__).resolve().parent.parent / "curves"
STEPS = 300
# Workload, title, and how strong the classes' patterns are beside noise of 1 (texts have none).
CURVES = (
    ("W2", "MLP 784-128-10, Adam", 0.1),
    ("W4", "CNN on 28x28, Adam", 0.3),
    ("W5", "GPT, 4 layers of width 128, AdamW with clipping", 0.0),
)


# The curve that is repeated in double precision, because its sides part in single.
DOUBLE = "W4"


def losses(program, python, workload, id, strength, threads, dtype="f32"):
    """The losses of both sides, with this number of threads, and the peer's name with its version."""
    parameters = workload["cases"][0]["parameters"] | {"dtype": dtype}
    message = {"cmd": "curve", "workload": id, "parameters": parameters, "steps": STEPS}
    with Pair(program, python, workload, threads) as pair:
        sides = [child.ask(**message, strength=strength, threads=threads)["losses"] for child in (pair.tove, pair.peer)]
        return (*sides, f"{workload['peer']} {pair.versions[workload['peer']]}")


def differences(one, other):
    """The difference of two curves relative to the second, step by step."""
    return [abs(a - b) / abs(b) for a, b in zip(one, other)]


def largest_difference(one, other):
    return max(differences(one, other))


def first_above(values, limit):
    """The first step, counted from 1, at which a value is above the limit; none if there is no such step."""
    return next((step for step, value in enumerate(values, 1) if value > limit), None)


def rounding(program, python, workload, id, title, strength, single, single_threads):
    """Whether the sides part for rounding's sake: the same run in double precision, where rounding is 2^29 times smaller.

    `single` are both sides' losses in single precision, `single_threads` the peer's with one thread. Writes the file of
    the three differences and prints when each of them exceeds one in a million.
    """
    cores = len(os.sched_getaffinity(0))
    tove, peer, name = losses(program, python, workload, id, strength, cores, "f64")
    _, peer_alone, _ = losses(program, python, workload, id, strength, 1, "f64")
    series = [
        ("f32: tove and torch", differences(*single)),
        ("f32: torch with 1 and 2 threads", differences(single_threads, single[1])),
        ("f64: tove and torch", differences(tove, peer)),
        ("f64: torch with 1 and 2 threads", differences(peer_alone, peer)),
    ]
    for label, values in series:
        print(f"{id} {label}: {values[0]:.1e} at step 1, above 1e-6 from step {first_above(values, 1e-6)}, at most {max(values):.1e}")
    content = {"id": id, "title": title, "steps": STEPS, "threads": cores, "peer": name, "differences": dict(series)}
    content |= {"tove_losses": tove, "peer_losses": peer}
    (FOLDER / f"{id}-rounding.json").write_text(json.dumps(content) + "\n")
    (FOLDER / f"{id}-rounding.svg").write_text(picture.powers(f"{id}: how far losses are apart, by precision", series))


def draw(program, python, workloads):
    """Writes the files of all curves and prints how far the sides are apart."""
    FOLDER.mkdir(exist_ok=True)
    cores = len(os.sched_getaffinity(0))
    for id, title, strength in CURVES:
        tove, peer, name = losses(program, python, workloads[id], id, strength, cores)
        # What a change of the number of threads does to each side alone is the scale for the difference of the two.
        tove_alone, peer_alone, _ = losses(program, python, workloads[id], id, strength, 1)
        figures = {
            "tove_peer": largest_difference(tove, peer),
            "peer_threads": largest_difference(peer_alone, peer),
            "tove_threads": largest_difference(tove_alone, tove),
        }
        print(
            f"{id} {title}: loss {tove[0]:.4f} -> {tove[-1]:.4f}, {name} {peer[-1]:.4f}; largest relative difference "
            f"tove / peer {figures['tove_peer']:.1e}, peer with 1 / {cores} threads {figures['peer_threads']:.1e}, "
            f"tove with 1 / {cores} threads {figures['tove_threads']:.1e}",
            flush=True,
        )
        content = {"id": id, "title": title, "steps": STEPS, "threads": cores, "peer": name, "largest_difference": figures}
        content |= {"tove_losses": tove, "peer_losses": peer}
        (FOLDER / f"{id}.json").write_text(json.dumps(content) + "\n")
        (FOLDER / f"{id}.svg").write_text(picture.curves(f"{id}: {title}", [(name, peer), ("tove", tove)]))
        if id == DOUBLE:
            rounding(program, python, workloads[id], id, title, strength, (tove, peer), peer_alone)
