#!/usr/bin/env python3
"""Draws the results of `compare.py` as SVG; Python's standard library is enough.

    python3 bench/peers/plot.py bench/peers/results/h200.csv      writes h200-forward-bf16.svg, … beside it
"""

import csv
import html
import os
import sys

COLORS = {"warpsmith": "#2563eb", "quack": "#d9480f", "liger": "#0f766e", "torch": "#7c3aed", "torch.compile": "#be185d"}
NAMES = {"quack": "QuACK", "liger": "Liger", "torch": "PyTorch", "copy": "a copy of as many bytes", "read": "a read of as many bytes", "warpsmith": "Warpsmith"}
# What the memory allows, dashed.
BOUNDS = {"copy": "2 5", "read": "7 5"}
TITLES = {
    "rms_norm": "RMS norm",
    "softmax": "softmax",
    "cross_entropy": "cross-entropy, loss only",
    "rms_norm_backward": "RMS norm, backward",
    "softmax_backward": "softmax, backward",
    "layer_norm": "layer norm, f32 weight and bias",
    "rms_norm_residual": "RMS norm, residual in and out",
    "rms_norm pair": "RMS norm in a CUDA graph",
}
FONT = "ui-sans-serif,system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"
STYLE = (
    ".page{fill:#fff}.ink{fill:#1f2328}.soft{fill:#59636e}.grid{stroke:#d1d9e0}.axis{stroke:#59636e}"
    ".line{fill:none;stroke-width:2.25;stroke-linejoin:round;stroke-linecap:round}"
    "@media(prefers-color-scheme:dark){.page{fill:#0d1117}.ink{fill:#e6edf3}.soft{fill:#9198a1}.grid{stroke:#30363d}"
    ".axis{stroke:#9198a1}}"
)
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 400, 270, 56, 12, 96, 56


def text(x, y, words, size=12, anchor="start", kind="ink", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" font-size="{size}" text-anchor="{anchor}"{more}>{html.escape(words)}</text>'


def label(dim):
    return f"{dim // 1024}K" if dim >= 1024 and dim % 1024 == 0 else str(dim)


def steps(most):
    """Round values from 0 to about `most`, four or five of them."""
    step = next(s * 10**e for e in range(-2, 6) for s in (1, 2, 5) if s * 10**e * 5 >= most)
    return [i * step for i in range(int(most / step) + 2) if i * step < most * 1.1]


def panel(left, title, unit, dims, series):
    """One diagram: `series` maps a candidate to {dim: (value, low, high)}."""
    out = [text(left + LEFT, TOP - 12, title, 13, more=' font-weight="600"')]
    most = max(value for points in series.values() for value, _, _ in points.values())
    marks = steps(most)
    high = max(most, marks[-1])
    x = {dim: left + LEFT + 14 + i * (WIDTH - LEFT - RIGHT - 28) / max(1, len(dims) - 1) for i, dim in enumerate(dims)}
    y = lambda value: TOP + HEIGHT * (1 - value / high)
    for mark in marks:
        out.append(f'<line class="grid" x1="{left + LEFT}" y1="{y(mark):.1f}" x2="{left + WIDTH - RIGHT}" y2="{y(mark):.1f}"/>')
        out.append(text(left + LEFT - 8, y(mark) + 4, f"{mark:g}", 11, "end", "soft"))
    for dim in dims:
        out.append(text(x[dim], TOP + HEIGHT + 18, label(dim), 10 if len(dims) > 8 else 11, "middle", "soft"))
    out.append(text(left + LEFT + (WIDTH - LEFT - RIGHT) / 2, TOP + HEIGHT + 38, "elements in a row", 11, "middle", "soft"))
    middle = TOP + HEIGHT / 2
    turn = f' transform="rotate(-90 {left + 14} {middle})"'
    out.append(text(left + 14, middle, unit, 11, "middle", "soft", turn))
    # Ours last, on top.
    for name in sorted(series, key=lambda name: name == "warpsmith"):
        points = [(x[dim], *map(y, series[name][dim])) for dim in dims if dim in series[name]]
        color = COLORS.get(name, "#6e7781")
        dash = f' stroke-dasharray="{BOUNDS[name]}"' if name in BOUNDS else ""
        path = "M" + "L".join(f"{px:.1f} {py:.1f}" for px, py, _, _ in points)
        out.append(f'<path class="line" stroke="{color}"{dash} d="{path}"/>')
        for px, py, low, top in points:
            if name not in BOUNDS:
                out.append(f'<line stroke="{color}" x1="{px:.1f}" y1="{low:.1f}" x2="{px:.1f}" y2="{top:.1f}"/>')
                out.append(f'<circle fill="{color}" cx="{px:.1f}" cy="{py:.1f}" r="2.6"/>')
    return out


def draw(path, heading, panels, about):
    """A row of diagrams with one legend: `panels` is (title, unit, dims, series) of each."""
    width, height = max(2, len(panels)) * WIDTH, TOP + HEIGHT + BOTTOM
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'font-family="{FONT}">',
        f"<title>{html.escape(heading)}</title><style>{STYLE}</style>",
        f'<rect class="page" width="{width}" height="{height}" rx="6"/>',
        text(16, 26, heading, 16, more=' font-weight="600"'),
        text(16, 44, about, 11, kind="soft"),
    ]
    at = 16
    for name in dict.fromkeys(name for name in (*NAMES, *COLORS) if any(name in series for _, _, _, series in panels)):
        dash = f' stroke-dasharray="{BOUNDS[name]}"' if name in BOUNDS else ""
        out.append(f'<path class="line" stroke="{COLORS.get(name, "#6e7781")}"{dash} d="M{at} 62L{at + 22} 62"/>')
        out.append(text(at + 28, 66, NAMES.get(name, name), 12))
        at += 48 + 7 * len(NAMES.get(name, name))
    for i, (title, unit, dims, series) in enumerate(panels):
        out += panel(i * WIDTH, title, unit, dims, series)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*out, "</svg>"]) + "\n")
    print(path)


def chosen(rows, section, op, dtype, heads=None):
    """{candidate: {dim: (GB/s or µs, low, high)}} of what is right."""
    series = {}
    for row in rows:
        here = row["section"] == section and row["op"] == op and row["dtype"] == dtype
        if here and row["us"] and row["right"] != "no" and heads in (None, row["rows"]):
            us = [float(row[key]) for key in ("us", "us_q3", "us_q1")]
            if row["gbps"]:
                scale = float(row["gbps"]) * us[0]
                us = [scale / value for value in us]
            series.setdefault(row["candidate"], {})[int(row["dim"])] = tuple(us)
    return series


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        sys.exit(f"{sys.argv[1]} has no rows")
    base = os.path.splitext(sys.argv[1])[0]
    about = f"{rows[0]['card']}, {rows[0]['date']}; {rows[0]['versions']}"
    headings = {
        "forward": "Forward: useful bytes a second, cold cache",
        "layer_norm": "Layer norm: useful bytes a second, cold cache",
        "backward": "Backward: useful bytes a second, cold cache",
        "residual": "With a residual: useful bytes a second, cold cache",
    }
    for section, heading in headings.items():
        for dtype in ("bf16", "f32"):
            panels = []
            for op in dict.fromkeys(row["op"] for row in rows if row["section"] == section):
                series = chosen(rows, section, op, dtype)
                dims = sorted({dim for points in series.values() for dim in points})
                if dims:
                    panels.append((f"{TITLES[op]}, {dtype}", "GB/s", dims, series))
            if panels:
                draw(f"{base}-{section}-{dtype}.svg", heading, panels, about)
    counts = sorted({int(row["rows"]) for row in rows if row["section"] == "decode"})
    panels = []
    for count in counts:
        series = chosen(rows, "decode", "rms_norm pair", "bf16", str(count))
        dims = sorted({dim for points in series.values() for dim in points})
        if dims:
            panels.append((f"{count} rows, bf16", "µs a pair", dims, series))
    if panels:
        draw(f"{base}-decode.svg", "Decoding: a pair of RMS norms in a CUDA graph", panels, about)


if __name__ == "__main__":
    main()
