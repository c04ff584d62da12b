"""Small calls: norms of a decoding model in CUDA graphs, and what a call costs the host."""

import torch

import candidates
import cells
import report
import timing

# Pairs in a graph: the second norm of a pair takes what the first gave, and the next pair what the second gave.
PAIRS = 16


def _norm(x, weight):
    return torch.nn.functional.rms_norm(x, (x.shape[-1],), weight, candidates.EPS)


def _single(libraries, weight, same, compiled):
    """One RMS norm of each library: y of x."""
    calls = {}
    if libraries.torch_ops:
        norm = libraries.torch_ops.rms_norm
        calls["warpsmith"] = lambda x: norm(x, weight, eps=candidates.EPS)
        # With programmatic dependent launch: a launch begins while the one before it ends.
        calls["warpsmith, PDL"] = lambda x: norm(x, weight, eps=candidates.EPS, constant=True)
    if libraries.quack_norm:
        calls["quack"] = lambda x: libraries.quack_norm.rmsnorm_fwd(x, weight, eps=candidates.EPS)[0]
    if libraries.torch:
        calls["torch"] = lambda x: _norm(x, same)
    if compiled:
        calls["torch.compile"] = lambda x: compiled(x, same)
    return calls


def _pairs(norm, x):
    for _ in range(PAIRS):
        x = norm(norm(x))
    return x


def _captured(norm, x):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            norm(norm(x))
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = _pairs(norm, x)
    return graph, out


def decode(table, libraries, clock, options):
    """Pairs of RMS norms that depend on each other, bf16 with an f32 weight, in a graph; the cache is warm, as there."""
    if clock.device != "cuda":
        print("decode: skipped, graphs need a card")
        return
    for rows, dim in cells.DECODE:
        x = torch.randn(rows, dim, device="cuda", dtype=torch.bfloat16)
        # Near 1, so that a chain of norms stays what it is.
        weight = 1 + torch.randn(dim, device="cuda") / 64
        same = weight.to(x.dtype)
        compiled = None
        if libraries.torch:
            torch._dynamo.reset()
            compiled = torch.compile(_norm, dynamic=False)
        want = _pairs(lambda v: _norm(v.float(), weight).to(v.dtype), x).double()
        names, graphs, notes = [], [], {}
        for name, norm in _single(libraries, weight, same, compiled).items():
            try:
                graph, out = _captured(norm, x)
            except Exception as error:  # A library that can not be captured is a result.
                note = report.said(error)
                table.add(section="decode", op="rms_norm pair", dtype="bf16", rows=rows, dim=dim, candidate=name, note=note)
                continue
            graph.replay()
            torch.cuda.synchronize()
            notes[name] = ((out.double() - want).abs() / (1 + want.abs())).max().item()
            names.append(name)
            graphs.append(graph.replay)
        rounds = timing.rounds_of(clock, graphs, options.seconds_per_cell / 2, options.rounds, cold=False)
        rounds = [[us / PAIRS for us in row] for row in rounds]
        for index, name in enumerate(names):
            low, middle, high = timing.quartiles([row[index] for row in rounds])
            row = {"section": "decode", "op": "rms_norm pair", "dtype": "bf16", "rows": rows, "dim": dim}
            row |= {"candidate": name, "rounds": len(rounds), "us": middle, "us_q1": low, "us_q3": high}
            if "quack" in names and name != "quack":
                q1, ratio, q3 = timing.paired(rounds, index, names.index("quack"))
                row |= {"vs_quack": ratio, "vs_quack_q1": q1, "vs_quack_q3": q3}
            # 32 norms in a row, each rounded to bf16; PyTorch's weight is rounded too.
            row |= {"error": notes[name], "right": "yes" if notes[name] < (0.25 if "torch" in name else 0.1) else "no"}
            table.add(**row)


def host(table, libraries, clock):
    """Host time of a call on 8 rows of 4,096 bf16 elements, outputs allocated, nothing waited for."""
    x = torch.randn(8, 4096, device=clock.device, dtype=torch.bfloat16)
    weight = torch.randn(4096, device=clock.device)
    same = weight.to(x.dtype)
    taught, learned = x.clone().requires_grad_(), weight.clone().requires_grad_()
    out, three = torch.empty_like(x), x.view(2, 4, -1)
    calls = {}
    if clock.device == "cuda":
        # A kernel of one thread that ends at once, called through PyTorch: what a launch costs on this host.
        calls["launch"] = lambda: torch.cuda._sleep(0)
    calls["torch empty_like"] = lambda: torch.empty_like(x)
    if libraries.torch_ops:
        native, ops = libraries.native, torch.ops.warpsmith
        norm, softmax = libraries.torch_ops.rms_norm, libraries.torch_ops.softmax
        calls["warpsmith rms_norm, out given"] = lambda: native.rms_norm_fwd(x, weight, None, None, out, None, None, 1e-6)
        calls["warpsmith rms_norm"] = lambda: norm(x, weight)
        calls["warpsmith rms_norm, torch.ops"] = lambda: ops.rms_norm(x, weight)
        calls["warpsmith rms_norm, autograd"] = lambda: norm(taught, learned)
        calls["warpsmith softmax, out given"] = lambda: native.softmax_fwd(x, out)
        calls["warpsmith softmax"] = lambda: softmax(x)
        calls["warpsmith rms_norm of (2, 4, 4096)"] = lambda: norm(three, weight)
        calls["warpsmith softmax, torch.ops"] = lambda: ops.softmax(x)
    if libraries.quack_norm:
        forward, norm_of = libraries.quack_norm.rmsnorm_fwd, libraries.quack_norm.rmsnorm
        registered = torch.ops.quack._rmsnorm_fwd
        calls["quack rms_norm"] = lambda: forward(x, weight, eps=1e-6)
        # What a compiled graph calls: outside of one QuACK's functions skip the dispatcher.
        calls["quack rms_norm, torch.ops"] = lambda: registered(x, weight, torch.empty_like(x), *[None] * 5)
        calls["quack rms_norm of (2, 4, 4096)"] = lambda: norm_of(three, weight, eps=1e-6)
        calls["quack rms_norm, autograd"] = lambda: norm_of(taught, learned, eps=1e-6)
        calls["quack softmax"] = lambda: libraries.quack_softmax.softmax_fwd(x)
        calls["quack softmax, torch.ops"] = lambda: torch.ops.quack._softmax_fwd(x, torch.empty_like(x))
    if libraries.torch:
        calls["torch rms_norm"] = lambda: _norm(x, same)
        calls["torch softmax"] = lambda: torch.softmax(x, -1)
    rounds = timing.host_rounds(clock, list(calls.values()))
    for index, name in enumerate(calls):
        low, middle, high = timing.quartiles([row[index] for row in rounds])
        table.add(
            section="host", op="call", dtype="bf16", rows=8, dim=4096, candidate=name, rounds=len(rounds),
            us=middle, us_q1=low, us_q3=high,
        )
