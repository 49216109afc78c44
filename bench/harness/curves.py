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


def losses(program, python, workload, id, strength, threads):
    """The losses of both sides, with this number of threads, and the peer's name with its version."""
    parameters = workload["cases"][0]["parameters"]
    message = {"cmd": "curve", "workload": id, "parameters": parameters, "steps": STEPS}
    with Pair(program, python, workload, threads) as pair:
        sides = [child.ask(**message, strength=strength, threads=threads)["losses"] for child in (pair.tove, pair.peer)]
        return (*sides, f"{workload['peer']} {pair.versions[workload['peer']]}")


def largest_difference(one, other):
    """The largest difference of two curves relative to the second, and its step, counted from 1."""
    differences = [abs(a - b) / abs(b) for a, b in zip(one, other)]
    return max(differences), differences.index(max(differences)) + 1


def draw(program, python, workloads):
    """Writes the files of all curves and prints how far the sides are apart."""
    FOLDER.mkdir(exist_ok=True)
    cores = len(os.sched_getaffinity(0))
    for id, title, strength in CURVES:
        tove, peer, name = losses(program, python, workloads[id], id, strength, cores)
        # What a change of the number of threads does to each side alone is the scale for the difference of the two.
        tove_alone, peer_alone, _ = losses(program, python, workloads[id], id, strength, 1)
        figures = {
            "tove_peer": largest_difference(tove, peer)[0],
            "peer_threads": largest_difference(peer_alone, peer)[0],
            "tove_threads": largest_difference(tove_alone, tove)[0],
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
