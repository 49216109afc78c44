"""What a run needs: the tove program and a Python with the peers."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent


def build_tove():
    """Builds `tove-bench`, and `tove` beside it, in release mode and returns the path of the former."""
    # With the features of the whole workspace, so that what the check has compiled serves here too.
    command = ["cargo", "build", "--release", "--workspace", "--all-features", "--bin", "tove-bench", "--bin", "tove"]
    if subprocess.run(command, cwd=ROOT).returncode != 0:
        sys.exit("tove-bench does not build")
    target = Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    return ROOT / target / "release" / "tove-bench"


def peer_python():
    """The Python that runs the peers: bench/.venv, made on first use, or the one named by TOVE_BENCH_PYTHON."""
    given = os.environ.get("TOVE_BENCH_PYTHON")
    if given:
        return Path(given)
    folder, requirements = BENCH / ".venv", BENCH / "requirements.txt"
    python, stamp = folder / "bin" / "python", folder / "requirements.sha256"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if python.exists() and stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"making {folder} with the peers (several gigabytes to download)", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--requirement", str(requirements)],
    ):
        if subprocess.run(command).returncode != 0:
            sys.exit(f"failed: {' '.join(command)}")
    # Written last, so that a broken installation is made again.
    stamp.write_text(wanted)
    return python
