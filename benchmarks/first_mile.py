"""The first mile: from the files that people have to the first answer."""

from __future__ import annotations

from benchmarks.first_mile_reading import reading_rows
from benchmarks.rows import arguments, report


def main() -> None:
    options = arguments("first_mile")
    repeats = 1 if options.quick else 5 if options.full else 3
    report(list(reading_rows(quick=options.quick, repeats=repeats)), options.json)


if __name__ == "__main__":
    main()
