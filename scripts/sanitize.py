"""Run the tests that reach native code on a sanitizer build of it, in that build's own virtual environment.

    python scripts/sanitize.py address      # memory errors and undefined behavior
    python scripts/sanitize.py thread       # data races
    python scripts/sanitize.py address --quick

Called by `make sanitize` with the Python of the environment that scripts/prepare.py made.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import toolchain

ROOT = Path(__file__).resolve().parent.parent
# A new folder of tests takes part unless it is named here: these reach no native code that the others do not.
LEFT_OUT = {"packaging", "browser", "demo", "end_to_end", "cli", "evaluation", "integrations", "io", "data"}
LEFT_OUT |= {"examples", "scorers", "robustness", "_internal", "serve", "scale"}
# They evaluate, and the evaluator under ir-measures frees what it did not allocate so.
LEFT_OUT |= {"benchmarks", "autopilot"}
# What a sanitizer keeps beside every block says nothing about how much memory the library takes (test_memory.py,
# test_bounded.py), and some tests load a library of their own first (test_faults.py).
LEFT_OUT_FILES = {"test_memory.py", "test_bounded.py", "test_faults.py"}
# And these mostly call the same kernels again, through more Python: CI has no time for them (--quick).
SLOW = {"contract", "artifacts", "fuzz", "learning"}
SLOW |= {"methods/pefa", "methods/xrlinear", "methods/fusion", "methods/jpq"}
RUNTIMES = {"address": "libasan.so", "thread": "libtsan.so"}
MARKS = {"address": b"__asan_init", "thread": b"__tsan_init"}
OPTIONS = {
    # CPython itself leaks at exit by design; leaks of the module are no memory errors.
    "address": {"ASAN_OPTIONS": "detect_leaks=0:malloc_context_size=8", "UBSAN_OPTIONS": "print_stacktrace=1"},
    # numpy and faiss are not instrumented, so their own locks are invisible to the sanitizer. Children that tests fork
    # start threads of their own, which it would end them for.
    "thread": {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1:report_signal_unsafe=0:die_after_fork=0:exitcode=66"},
}


def main(kind: str, arguments: list[str]) -> int:
    """Run pytest with the sanitizer's runtime loaded first, on the tests that are not left out."""
    require_instrumented(kind)
    chosen = files(LEFT_OUT | SLOW) if arguments == ["--quick"] else arguments or files(LEFT_OUT)
    quiet = ["-p", "no:cacheprovider", "--durations=5"]
    shared = ["-n", "auto", "--dist", "worksteal"] if kind == "address" else []
    pytest = [sys.executable, "-m", "pytest", *quiet, *shared, *chosen]
    return subprocess.run([*unrandomized(kind), *pytest], cwd=ROOT, env=environment(kind)).returncode


def files(left_out: set[str]) -> list[str]:
    """Every test but those of these folders; a folder inside of one of them counts by itself."""
    tests = ROOT / "tests"
    found = sorted(file for file in tests.rglob("test_*.py") if file.name not in LEFT_OUT_FILES)
    return [str(file) for file in found if file.parent.relative_to(tests).as_posix() not in left_out]


def require_instrumented(kind: str) -> None:
    """Refuse to run on an ordinary build, which would pass and prove nothing."""
    found = importlib.util.find_spec("vizsla._native")
    if found is None or found.origin is None or MARKS[kind] not in Path(found.origin).read_bytes():
        raise toolchain.Refusal("This environment does not hold a sanitizer build. Remove the folder and run again.")


def environment(kind: str) -> dict[str, str]:
    """The variables of the run: the runtimes loaded first, Python's own allocator out of the way."""
    compiler = toolchain.compiler()
    # libstdc++ comes along because the sanitizer looks up its exception functions at start.
    preload = [toolchain.runtime_library(compiler, name) for name in (RUNTIMES[kind], "libstdc++.so")]
    return {
        **os.environ,
        **OPTIONS[kind],
        "LD_PRELOAD": " ".join(map(str, preload)),
        "PYTHONMALLOC": "malloc",
        "VIZSLA_HYPOTHESIS": "sanitize",
        "VIZSLA_TEST_CORE": "1",  # torch and ONNX Runtime are not ours to check
        "OPENBLAS_NUM_THREADS": "1",
    }


def unrandomized(kind: str) -> list[str]:
    """The thread sanitizer of older compilers cannot start where the kernel spreads addresses widely."""
    return ["setarch", "-R"] if kind == "thread" else []


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1], sys.argv[2:]))
    except toolchain.Refusal as refusal:
        sys.exit(str(refusal))
