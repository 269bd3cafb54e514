"""What every contestant measures with: the same clocks, files and answers. Standard library only."""

import json
import sys
import time
from pathlib import Path


def serve(**actions):
    """Answer each line of JSON on standard input with the result of the action that it names."""
    answers, sys.stdout = sys.stdout, sys.stderr  # what a library prints must not mix with the answers
    for line in sys.stdin:
        task = json.loads(line)
        print(json.dumps(actions[task.pop("do")](**task)), file=answers, flush=True)


def read_lines(file):
    return Path(file).read_text(encoding="utf-8").splitlines()


def peak_bytes():
    """The most memory that this process has ever held. (`ru_maxrss` would count the parent's, too.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def cpu_seconds(work):
    """Do the work; return its result and the CPU seconds that all threads spent."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def p50_ms(search, queries):
    """Ask one query after another, each timed by itself; return the median in milliseconds."""
    times = []
    for query in queries:
        start = time.perf_counter()
        search(query)
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2] * 1e3
