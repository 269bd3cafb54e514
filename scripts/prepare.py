"""Make a virtual environment ready for one of the Makefile's targets; do nothing when it already is.

Needs only Python's standard library. This file keeps to syntax that old Pythons read, so that an old Python
is answered by a sentence and not by a SyntaxError.
"""

import argparse
import sys


def main():
    """Read the options, refuse what cannot work in one sentence, and prepare the environment."""
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit(
            "Vizsla needs Python 3.11 or newer; {} is Python {}.{}. Install a newer one, or "
            "name it: make PYTHON=python3.12 ...".format(sys.executable, *sys.version_info)
        )
    from environment import Environment
    from toolchain import Refusal

    try:
        Environment(**vars(options())).prepare()
    except Refusal as refusal:
        sys.exit(str(refusal))
    except KeyboardInterrupt:
        sys.exit("Interrupted; the next run starts the installation afresh.")


def options():
    """Which environment, with which extras, and how its native core is built."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--venv", default=".venv", help="folder of the virtual environment, under the repository")
    parser.add_argument("--extras", default="", help="comma-separated extras of pyproject.toml")
    parser.add_argument("--sanitize", default="", choices=["", "address", "thread"], help="sanitizer build")
    parser.add_argument(
        "--this-python", action="store_true", help="rebuild an environment that another Python version made"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
