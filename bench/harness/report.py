"""Results on the screen, as JSON, and in the table of bench/README.md."""

import datetime
import json
import math
import os
import platform

KEYS = (
    "id name threads tove_s peer peer_s ratio tove_quality peer_quality tove_rss_mb peer_rss_mb".split()
)
BEGIN, END = "<!-- results begin -->", "<!-- results end -->"
HEADER = "| id | case | threads | tove | peer | | ratio | quality tove / peer | peak MB tove / peer | date |"
# Qualities further apart than this are marked: the two sides did not do the same work.
QUALITY_TOLERANCE = 1e-3


def duration(seconds):
    if seconds is None:
        return "-"
    for factor, unit in ((1e9, "ns"), (1e6, "us"), (1e3, "ms")):
        if seconds * factor < 1000:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def number(value, form):
    return "-" if value is None else format(value, form)


def quality(row):
    text = f"{number(row['tove_quality'], '.6g')} / {number(row['peer_quality'], '.6g')}"
    return text + (" DIFFERS" if qualities_differ(row) else "")


def qualities_differ(row):
    ours, theirs = row["tove_quality"], row["peer_quality"]
    if ours is None or theirs is None:
        return False
    # Written so that NaN differs too.
    return not abs(ours - theirs) <= QUALITY_TOLERANCE * abs(theirs)


def heading():
    return (
        f"{'case':<50} {'thr':>3} {'tove best':>10} {'median':>8} {'peer best':>10} {'median':>8} {'ratio':>6}"
        "  MB tove/peer  quality tove / peer"
    )


def line(row):
    return (
        f"{row['name']:<50} {row['threads']:>3} {duration(row['tove_s']):>10} {duration(row['tove_median_s']):>8} "
        f"{duration(row['peer_s']):>10} {duration(row['peer_median_s']):>8} {number(row['ratio'], '.2f'):>6}  "
        f"{number(row['tove_rss_mb'], '.0f'):>5} / {number(row['peer_rss_mb'], '.0f'):<5} {quality(row)}"
    )


def print_geometric_means(rows):
    """The geometric mean and the worst case, for each number of threads."""
    for threads in sorted({row["threads"] for row in rows}):
        compared = [row for row in rows if row["threads"] == threads and row["ratio"]]
        if compared:
            mean = math.exp(sum(math.log(row["ratio"]) for row in compared) / len(compared))
            worst = min(compared, key=lambda row: row["ratio"])
            print(f"{threads} threads: geometric mean {mean:.3f}, worst {worst['ratio']:.3f} ({worst['name']})")


def write_json(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([{key: row[key] for key in KEYS} for row in rows], indent=1) + "\n")


def machine():
    """The processor's name and the number of cores in use."""
    try:
        with open("/proc/cpuinfo") as file:
            name = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.machine()
    return f"{name}, {len(os.sched_getaffinity(0))} cores, {platform.system()}"


def table_row(row, date):
    cells = [
        row["id"],
        row["name"],
        str(row["threads"]),
        duration(row["tove_s"]),
        duration(row["peer_s"]),
        row["peer"],
        number(row["ratio"], ".2f"),
        quality(row),
        f"{number(row['tove_rss_mb'], '.0f')} / {number(row['peer_rss_mb'], '.0f')}",
        date,
    ]
    return "| " + " | ".join(cells) + " |"


def row_key(text):
    return tuple(cell.strip() for cell in text.split("|")[1:4])


def merged(old_lines, new_lines):
    """Old rows, replaced where the same case was measured anew, then rows for new cases."""
    new = {row_key(text): text for text in new_lines}
    kept = [new.pop(row_key(text), text) for text in old_lines]
    return kept + list(new.values())


def write_table(path, rows, versions):
    """Puts measured rows into the table between the two markers; rows of other cases stay."""
    before, rest = path.read_text().split(BEGIN)
    old, after = rest.split(END)
    date = datetime.date.today().isoformat()
    old_rows = [text for text in old.splitlines() if text.startswith("| ") and text != HEADER]
    new_rows = [table_row(row, date) for row in rows if row["tove_s"] is not None]
    names = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    lines = ["", f"Last run: {date}, {machine()}; {names}.", "", HEADER, "|" + "---|" * 10]
    path.write_text(before + BEGIN + "\n".join(lines + merged(old_rows, new_rows)) + "\n" + END + after)
