"""What is shown of a training, on a terminal and elsewhere."""

from __future__ import annotations

from vizsla.cli.training_line import TrainingLine
from vizsla.learning.loop import TrainingProgress


def follow(capsys, *seen):
    shown = []
    line = TrainingLine(lambda **what: shown.append(what), "MRR@10")
    for one in seen:
        line(one)
    return shown, capsys.readouterr().err.splitlines(), line


def test_an_evaluation_is_said_once(capsys):
    steps = [
        TrainingProgress(1, 3, 0.5, [0.25]),
        TrainingProgress(2, 3, 0.4, [0.25]),
        TrainingProgress(3, 3, 0.3, [0.25, 0.2]),
    ]
    shown, said, line = follow(capsys, *steps)
    assert shown[1] == {"description": "training: loss 0.4000, held-out MRR@10 0.2500", "completed": 2, "total": 3}
    assert said == [
        "training: step 1/3, loss 0.5000, held-out MRR@10 0.2500",
        "training: step 3/3, loss 0.3000, held-out MRR@10 0.2500",  # the best so far
    ]
    assert line.held_out == [0.25, 0.2]


def test_phases_and_kinds_are_named(capsys):
    kinds = {"warm": 0.5, "cold": 0.25}
    steps = [TrainingProgress(1, 2, 1.0, [], "trial"), TrainingProgress(2, 2, 0.9, [0.4], "trial", kinds)]
    shown, said, _ = follow(capsys, *steps)
    assert [each["description"] for each in shown] == [
        "trial: loss 1.0000", "trial: loss 0.9000, held-out MRR@10 warm 0.5000, cold 0.2500",
    ]  # fmt: skip
    assert said == ["trial: step 2/2, loss 0.9000, held-out MRR@10 warm 0.5000, cold 0.2500"]
