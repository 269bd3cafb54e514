import doctest
from pathlib import Path

from tests.evaluation.random_systems import judged_dict, noisy_system

PAGE = Path(__file__).parents[2] / "docs" / "evaluation.md"


def test_the_page_says_what_happens(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = judged_dict(40)
    names = {
        "dataset": data,
        "hasty": noisy_system(data, noise=3.0, seed=1),
        "careful": noisy_system(data, noise=0.1, seed=2),
    }
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(str(PAGE), module_relative=False, globs=names, optionflags=flags)
    assert result.attempted > 8 and result.failed == 0
