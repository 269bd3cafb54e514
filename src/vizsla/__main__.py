"""`python -m vizsla` is the command `vizsla`."""

import sys

from vizsla.cli import main

if __name__ == "__main__":
    sys.exit(main())
