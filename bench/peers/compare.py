#!/usr/bin/env python3
"""Times our operators beside QuACK's, Liger's and PyTorch's, in one process, on one card that nothing else uses.

    python3 bench/peers/compare.py --out DIR [--only SECTION,…] [--dtype bf16,f32] [--op NAME,…]

Sections: forward, layer_norm, backward, residual, decode, edges, host, first. Takes packages that are installed: `warpsmith`, `torch`,
and if they are there `quack-kernels` and `liger-kernel`. In each cell the results are first compared with float64; then
the candidates take turns, round by round, each with the level-two cache cold. What is kept is the median of each one's
times and the median and quartiles of the ratios within a round: to a copy of as many bytes (for cross-entropy, which
writes next to nothing, a read), and to QuACK.

Writes DIR/NAME.csv, and DIR/NAME.txt with geometric means; `plot.py` draws the CSV. Ends with 1 where one of our results
was wrong.
"""

import argparse
import datetime
import gc
import itertools
import os
import sys
import time

# QuACK's kernels are compiled here, not taken from an earlier run's disk.
os.environ.setdefault("QUACK_CACHE_ENABLED", "0")

import torch

import calls
import candidates
import cells
import first
import reference
import report
import timing

SECTIONS = {
    "forward": (("rms_norm", "softmax", "cross_entropy"), cells.GRID),
    "layer_norm": (("layer_norm",), cells.GRID),
    "backward": (("rms_norm_backward", "softmax_backward"), cells.BACKWARD),
    "residual": (("rms_norm_residual",), cells.RESIDUAL),
    "edges": (("rms_norm", "softmax", "cross_entropy"), list(cells.edges())),
}


def cell(table, section, op, dtype, rows, dim, libraries, clock, options):
    """Checks and times the candidates of one shape."""
    size = torch.finfo(cells.DTYPES[dtype]).bits // 8
    total = cells.moved_bytes(op, rows, dim, size)
    common = {"section": section, "op": op, "dtype": dtype, "rows": rows, "dim": dim, "flush": options.flush}
    made, check = candidates.make(op, libraries, cells.DTYPES[dtype], rows, dim, clock.device)
    tolerance = reference.TOLERANCE[cells.DTYPES[dtype]]
    runs, errors = {}, {}
    for name, call in made.items():
        try:
            result = call()
            errors[name] = check(name, result if isinstance(result, (tuple, list)) else (result,))
            runs[name] = call
        except Exception as error:  # Whatever a library says of a shape it does not take is a result.
            note = report.said(error)
            table.add(**common, candidate=name, right="no", note=note)
        result = None
    notes = {}
    if op == "cross_entropy":
        reads = candidates.reads_of(total, clock.device)
        notes["read"] = timing.fastest(clock, reads)
        runs = {"read": reads[notes["read"]], **runs}
    else:
        runs = {"copy": candidates.copy_of(total, clock.device), **runs}
    clock.free()
    names, seconds = list(runs), options.seconds_per_cell / options.placements
    rounds, kept = timing.rounds_of(clock, list(runs.values()), seconds, options.rounds), []
    for _ in range(1, options.placements):
        # Those that were timed are kept, so that the next tensors lie elsewhere.
        kept.append(runs)
        made, _ = candidates.make(op, libraries, cells.DTYPES[dtype], rows, dim, clock.device)
        runs = {name: made.get(name, runs[name]) for name in names}
        rounds += timing.rounds_of(clock, list(runs.values()), seconds, options.rounds)
    for index, name in enumerate(names):
        low, middle, high = timing.quartiles([row[index] for row in rounds])
        row = {**common, "candidate": name, "rounds": len(rounds), "us": middle, "us_q1": low, "us_q3": high}
        row["gbps"] = total / middle / 1e3
        for other in report.AGAINST:
            if other in names and other != name:
                q1, ratio, q3 = timing.paired(rounds, index, names.index(other))
                row |= {f"vs_{other}": ratio, f"vs_{other}_q1": q1, f"vs_{other}_q3": q3}
        if name in notes:
            row["note"] = notes[name]
        if name in errors:
            row |= {"error": errors[name], "right": "yes" if errors[name] <= tolerance else "no"}
        table.add(**row)


def grid(table, section, libraries, clock, options):
    """All cells of a section."""
    ops, shapes = SECTIONS[section]
    for dtype, op, (rows, dim) in itertools.product(options.dtype, ops, shapes):
        if options.op and op not in options.op:
            continue
        if options.shrink:
            rows = max(2, rows // options.shrink)
        cell(table, section, op, dtype, rows, dim, libraries, clock, options)
        gc.collect()
        clock.free()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    listed = lambda text: text.split(",")
    every = [*SECTIONS, "decode", "host", "first"]
    parser.add_argument("--out", default="bench/peers/results", help="the folder for the results")
    parser.add_argument("--name", default="h200", help="the results' file name, without an ending")
    parser.add_argument("--only", type=listed, default=every, help=f"sections: {', '.join(every)}")
    parser.add_argument("--dtype", type=listed, default=list(cells.DTYPES), help="bf16,f32")
    parser.add_argument("--op", type=listed, default=None, help="operators of the grids, all unless given")
    parser.add_argument("--candidates", type=listed, default=["warpsmith", "quack", "liger", "torch"])
    parser.add_argument("--edge-candidates", type=listed, default=["warpsmith"], help="the same for the section edges")
    parser.add_argument("--rounds", type=int, help="of each cell; else as many as --seconds-per-cell allow")
    parser.add_argument("--seconds-per-cell", type=float, default=0.6)
    placed = "places in memory that a cell's tensors are given in turn: short kernels depend on it by up to a tenth"
    parser.add_argument("--placements", type=int, default=1, help=placed)
    flushed = "what a flush of the cache before each run does to 256 MiB: `read` leaves no changed lines to be written back"
    parser.add_argument("--flush", choices=timing.Flush.KINDS, default="write", help=flushed)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu tries the script, slowly")
    parser.add_argument("--shrink", type=int, help="divides the rows of every grid's shapes: to try the script")
    options = parser.parse_args()
    unknown = set(options.only) - set(every)
    if unknown or set(options.dtype) - set(cells.DTYPES):
        parser.error(f"no such section or dtype: {', '.join(unknown or options.dtype)}")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("there is no CUDA card")
    clock = timing.Card(options.flush) if options.device == "cuda" else timing.Host(options.flush)
    os.makedirs(options.out, exist_ok=True)
    path = os.path.join(options.out, options.name)
    versions = candidates.versions() + ([f"driver {candidates.driver()}"] if candidates.driver() else [])
    common = {"card": clock.name(), "versions": "; ".join(versions), "date": datetime.date.today().isoformat()}
    print(f"{common['card']}, {common['date']}; {common['versions']}")
    table = report.Table(f"{path}.csv", common)
    libraries = candidates.Libraries(options.candidates)
    torch.manual_seed(0)
    for section in options.only:
        start = time.perf_counter()
        if section in SECTIONS:
            here = candidates.Libraries(options.edge_candidates) if section == "edges" else libraries
            grid(table, section, here, clock, options)
        elif section == "decode":
            calls.decode(table, libraries, clock, options)
        elif section == "host":
            calls.host(table, libraries, clock)
        else:
            first.first_calls(table, options)
        print(f"-- {section}: {time.perf_counter() - start:.0f} s", flush=True)
    summary = [f"{common['card']}, {common['date']}; {common['versions']}", *report.geometric_means(table.rows), *report.cliffs(table.rows)]
    with open(f"{path}.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(summary) + "\n")
    print("\n".join(summary))
    ours_wrong = [row for row in table.rows if row["candidate"].startswith("warpsmith") and row.get("right") == "no"]
    if ours_wrong:
        print(f"{len(ours_wrong)} of our results are wrong")
    sys.exit(bool(ours_wrong))


if __name__ == "__main__":
    main()
