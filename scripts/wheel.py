"""Build a wheel into a folder, reusing the compiled files of the installed build."""

import sys

from environment import lock, run

FOLDER = sys.argv[1]

if __name__ == "__main__":
    with lock():
        command = [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--no-build-isolation"]
        run([*command, "--wheel-dir", FOLDER, "."], "The wheel could not be built, for the reason above")
