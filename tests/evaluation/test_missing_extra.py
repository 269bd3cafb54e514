import subprocess
import sys

import pytest

SCRIPT = """
import sys
sys.modules[{module!r}] = None  # what Python does for a package that is not there
from vizsla.evaluation import evaluate
from vizsla.evaluation.measures import parse_measure
from vizsla.evaluation.plots import plot_points
from vizsla.errors import MissingExtraError
try:
    {call}
except MissingExtraError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("ir_measures", "parse_measure('R@10')"),
        ("matplotlib", "plot_points({'a': (1, 0.5)}, 'never.png', xlabel='', ylabel='', title='')"),
    ],
)
def test_a_missing_package_names_the_extra(module, call, tmp_path):
    script = SCRIPT.format(module=module, call=call)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "pip install 'vizsla[eval]'" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_importing_evaluation_imports_neither_ir_measures_nor_matplotlib_nor_scipy():
    packages = ("ir_measures", "matplotlib", "scipy", "rich")
    script = f"import sys, vizsla.evaluation; print([name for name in {packages} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
