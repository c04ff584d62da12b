"""Paired timing: in a round every candidate runs once, so that what the card does to one it does to all."""

import statistics
import time

import torch

# Gone over before each run, as by `triton.testing.do_bench`: several times the level-two cache of any card so far.
FLUSH_BYTES = 256 << 20
# Without a card there is nothing to flush; so much is gone over to try the script.
HOST_FLUSH_BYTES = 1 << 20
FEWEST_ROUNDS = 11
MOST_ROUNDS = 200


class Flush:
    """Fills the level-two cache with what no candidate uses.

    `write` zeroes a buffer, as `do_bench` does: the cache is then full of changed lines, and what runs next waits for their
    way to memory, which a kernel that writes little feels most. `read` sums the buffer instead: its lines were not changed
    and are dropped for nothing, and those that the last candidate changed are written back within the flush.
    """

    KINDS = ("write", "read")

    def __init__(self, kind, size, device):
        self.kind = kind
        self.buffer = torch.ones(size // 4, device=device)
        self.sum = torch.empty((), device=device)

    def __call__(self):
        if self.kind == "write":
            self.buffer.zero_()
        else:
            # A launched kernel reads all that it sums; what it changes is the sum, and one partial sum of each block.
            torch.sum(self.buffer, dim=0, out=self.sum)


class Card:
    """Times calls on the current CUDA device by events, with the level-two cache cold."""

    device = "cuda"

    def __init__(self, flush):
        self.flush = Flush(flush, FLUSH_BYTES, self.device)

    def name(self):
        return torch.cuda.get_device_name()

    def synchronize(self):
        torch.cuda.synchronize()

    def free(self):
        torch.cuda.synchronize()
        torch.cuda.empty_cache()

    def batch(self, calls, orders, cold):
        """Microseconds of each call in each order of `orders`: a list a round, by index of the call."""
        events = []
        for order in orders:
            row = [None] * len(calls)
            for index in order:
                start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                if cold:
                    self.flush()
                start.record()
                calls[index]()
                end.record()
                row[index] = (start, end)
            events.append(row)
        torch.cuda.synchronize()
        return [[start.elapsed_time(end) * 1e3 for start, end in row] for row in events]


class Host:
    """The same by the host's clock, to try the script where there is no card."""

    device = "cpu"

    def __init__(self, flush):
        self.flush = Flush(flush, HOST_FLUSH_BYTES, self.device)

    def name(self):
        return "CPU"

    def synchronize(self):
        pass

    def free(self):
        pass

    def batch(self, calls, orders, cold):
        rounds = []
        for order in orders:
            row = [0.0] * len(calls)
            for index in order:
                if cold:
                    self.flush()
                start = time.perf_counter()
                calls[index]()
                row[index] = (time.perf_counter() - start) * 1e6
            rounds.append(row)
        return rounds


def rotations(count, rounds):
    """Orders of `count` candidates, each one starting with the next; every other one backwards."""
    for i in range(rounds):
        order = [(i + j) % count for j in range(count)]
        yield order[::-1] if i % 2 else order


def rounds_of(clock, calls, seconds, rounds=None, cold=True):
    """Times of calls in microseconds, a list a round. About `seconds` long, or exactly `rounds` rounds."""
    clock.batch(calls, rotations(len(calls), 2), cold)
    start = time.perf_counter()
    clock.batch(calls, rotations(len(calls), 3), cold)
    each = (time.perf_counter() - start) / 3
    if rounds is None:
        rounds = max(FEWEST_ROUNDS, min(MOST_ROUNDS, int(seconds / each)))
    return clock.batch(calls, rotations(len(calls), rounds), cold)


def fastest(clock, calls):
    """The name of the call with the least median of a few rounds, its cache cold."""
    rounds = rounds_of(clock, list(calls.values()), 0, FEWEST_ROUNDS)
    medians = [statistics.median(times) for times in zip(*rounds)]
    return list(calls)[medians.index(min(medians))]


def quartiles(values):
    """First quartile, median, third quartile."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def paired(rounds, one, other):
    """Quartiles of `other`'s time over `one`'s, of the same round each: above 1, `one` is faster."""
    return quartiles([row[other] / row[one] for row in rounds])


def host_rounds(clock, calls, rounds=25, repeat=200):
    """Microseconds of the host for a call, nothing waited for: a list a round, by index of the call."""
    result = []
    for call in calls:
        for _ in range(20):
            call()
    clock.synchronize()
    for order in rotations(len(calls), rounds):
        row = [0.0] * len(calls)
        for index in order:
            call = calls[index]
            start = time.perf_counter()
            for _ in range(repeat):
                call()
            row[index] = (time.perf_counter() - start) / repeat * 1e6
            clock.synchronize()
        result.append(row)
    return result
