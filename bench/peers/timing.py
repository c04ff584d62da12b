"""Paired timing: in a round every candidate runs once, so that what the card does to one it does to all."""

import statistics
import time

import torch

# Zeroed before each run, as `triton.testing.do_bench` does: several times the level-two cache of any card so far.
FLUSH_BYTES = 256 << 20
FEWEST_ROUNDS = 11
MOST_ROUNDS = 200


class Card:
    """Times calls on the current CUDA device by events, with the level-two cache cold."""

    device = "cuda"

    def __init__(self):
        self.flush = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")

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
                    self.flush.zero_()
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
