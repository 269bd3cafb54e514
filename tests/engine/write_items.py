"""Add items one by one in a process of its own: `python -m tests.engine.write_items ENGINE NAME COUNT`."""

import sys

from vizsla.engine.engine import Engine


def main(folder, name, count):
    with Engine.open(folder) as engine:
        for number in range(int(count)):
            engine.add({f"{name}-{number}": f"{name} fig {number}"})
            if number % 5 == 4:
                engine.delete(f"{name}-{number - 2}")
            print(number, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
