"""The results: a CSV with a row for each candidate of each cell, and geometric means of them."""

import csv
import math
import re

COLUMNS = [
    *("section", "op", "dtype", "rows", "dim", "candidate", "rounds"),
    *("us", "us_q1", "us_q3", "gbps"),
    *("vs_copy", "vs_copy_q1", "vs_copy_q3", "vs_quack", "vs_quack_q1", "vs_quack_q3"),
    *("error", "right", "note", "card", "versions", "date"),
    *("vs_read", "vs_read_q1", "vs_read_q3", "flush"),
]
# Whose times the others' are compared with.
AGAINST = ("copy", "read", "quack")


def said(error):
    """One line of what a library said of a call that it does not take, without the colours of a terminal."""
    words = re.sub(r"\x1b\[[0-9;]*m", "", f"{type(error).__name__}: {error}")
    return " ".join(words.split())[:160]


class Table:
    """Rows of the CSV, written as they come."""

    def __init__(self, path, common):
        self.common = common
        self.rows = []
        self.file = open(path, "w", newline="", encoding="utf-8")
        self.csv = csv.DictWriter(self.file, COLUMNS)
        self.csv.writeheader()

    def add(self, **row):
        row = {key: _short(value) for key, value in row.items()}
        self.rows.append(row)
        self.csv.writerow({**row, **self.common})
        self.file.flush()
        print(_line(row), flush=True)


def _short(value):
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _line(row):
    text = f"{row['section']:10} {row['op']:18} {row.get('dtype', ''):5} {row.get('rows', ''):>6} x {row.get('dim', ''):<7}"
    text += f" {row['candidate']:14}"
    if "us" in row:
        text += f" {row['us']:>10.2f} us"
    if "gbps" in row:
        text += f" {row['gbps']:>6.0f} GB/s"
    for name in AGAINST:
        if f"vs_{name}" in row:
            low, high = row[f"vs_{name}_q1"], row[f"vs_{name}_q3"]
            text += f"  {name}/this {row[f'vs_{name}']:.3f} [{low:.3f}, {high:.3f}]"
    if row.get("right") == "no" and "error" in row:
        text += f"  WRONG by {row['error']}"
    return text + (f"  {row['note']}" if row.get("note") else "")


def geometric_means(rows):
    """Lines of geometric means of what is right, by section, operator, dtype and candidate: how many cells, against what."""
    groups = {}
    for row in rows:
        for against in AGAINST:
            ratio = row.get(f"vs_{against}")
            if ratio and row.get("right") != "no" and row["candidate"] != against:
                key = (row["section"], row["op"], row.get("dtype", ""), row["candidate"], against)
                groups.setdefault(key, []).append(ratio)
    lines = [f"{'':10} {'operator':18} {'dtype':5} {'candidate':14} {'times as fast as':16} cells  least  most"]
    for (section, op, dtype, candidate, against), ratios in groups.items():
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines.append(
            f"{section:10} {op:18} {dtype:5} {candidate:14} {against:>9} {mean:.3f}"
            f"  {len(ratios):>5}  {min(ratios):.3f}  {max(ratios):.3f}"
        )
    return lines


def cliffs(rows):
    """Lines: what of its bandwidth an operator keeps at the row lengths around each power of two, the worst of each."""
    edges = [row for row in rows if row["section"] == "edges" and row["candidate"] == "warpsmith" and "gbps" in row]
    level = {(row["op"], row["dtype"], row["dim"]): row["gbps"] for row in edges if row["dim"] & (row["dim"] - 1) == 0}
    worst = {}
    for row in edges:
        dim = row["dim"]
        near = min((key for key in level if key[:2] == (row["op"], row["dtype"])), key=lambda key: abs(key[2] - dim))
        share = row["gbps"] / level[near]
        worst.setdefault(near, []).append((share, dim))
    return [
        f"edges      {op:18} {dtype:5} {dim:>7}: at least {share:.3f} of its bandwidth, at {at}"
        for (op, dtype, dim), (share, at) in ((key, min(shares)) for key, shares in worst.items())
    ]
