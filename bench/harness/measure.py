"""The two child processes and the alternating rounds."""

import json
import os
import statistics
import subprocess
import time
from pathlib import Path

PEERS = Path(__file__).resolve().parent.parent / "peers"
# Idle threads of the side that has just run may spin for a moment.
PAUSE_SECONDS = 0.01


class ChildError(Exception):
    pass


class Child:
    """A process that answers each JSON line with one."""

    def __init__(self, name, command, threads):
        self.name = name
        cores = sorted(os.sched_getaffinity(0))[-threads:]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **thread_settings(threads)},
            # Both sides see as many cores as they may use, whatever a library makes of the settings.
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )

    def ask(self, **message):
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise ChildError(f"{self.name} ended with status {self.process.wait()}")
        answer = json.loads(line)
        if not answer["ok"]:
            raise ChildError(f"{self.name}: {answer['error']}")
        return answer

    def close(self):
        try:
            self.process.stdin.close()
            self.process.wait(timeout=10)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


def thread_settings(threads):
    count = str(threads)
    names = ("TOVE_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC")
    flags = f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}"
    return {**dict.fromkeys(names, count), "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}


class Pair:
    """tove and its peer, for one workload and one number of threads."""

    def __init__(self, program, python, workload, threads):
        self.threads, self.peer_name = threads, workload["peer"]
        self.tove = Child("tove", [str(program)], threads)
        self.peer = Child(self.peer_name, [str(python), str(PEERS / "serve.py"), workload["module"]], threads)
        self.versions = {}

    def __enter__(self):
        try:
            for child in (self.tove, self.peer):
                self.versions.update(child.ask(cmd="hello")["versions"])
        except ChildError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.tove.close()
        self.peer.close()

    def measure(self, id, case, rounds, seconds):
        """One row. A side that fails leaves its figures empty and says why."""
        row = {
            "id": id,
            "name": case["name"],
            "threads": self.threads,
            "tove_s": None,
            "peer": f"{self.peer_name} {self.versions.get(self.peer_name, '')}".strip(),
            "peer_s": None,
            "ratio": None,
            "tove_quality": None,
            "peer_quality": None,
            "tove_rss_mb": None,
            "peer_rss_mb": None,
            "tove_median_s": None,
            "peer_median_s": None,
            "failed": False,
        }
        sides = {}
        for side, child in (("tove", self.tove), ("peer", self.peer)):
            try:
                answer = child.ask(cmd="setup", workload=id, case=case["name"], parameters=case["parameters"], threads=self.threads)
                if not answer.get("absent"):
                    sides[side] = child
            except ChildError as error:
                print(f"{id} {case['name']}: {error}", flush=True)
                row["failed"] = True
        try:
            fill_row(row, alternate(sides, rounds, seconds))
        except ChildError as error:
            print(f"{id} {case['name']}: {error}", flush=True)
            row["failed"] = True
        return row


def alternate(sides, rounds, seconds):
    """The answers of each side; who begins changes from round to round."""
    answers = {side: [] for side in sides}
    for round in range(rounds):
        order = list(sides) if round % 2 == 0 else list(sides)[::-1]
        for side in order:
            time.sleep(PAUSE_SECONDS)
            answers[side].append(sides[side].ask(cmd="measure", seconds=seconds))
    return answers


def fill_row(row, answers):
    for side, results in answers.items():
        row[f"{side}_s"] = min(result["best_s"] for result in results)
        row[f"{side}_median_s"] = statistics.median(result["median_s"] for result in results)
        row[f"{side}_quality"] = results[-1]["quality"]
        row[f"{side}_rss_mb"] = results[-1]["rss_mb"]
    if row["tove_s"] and row["peer_s"]:
        row["ratio"] = row["peer_s"] / row["tove_s"]
