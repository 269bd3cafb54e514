"""Build a wheel into a folder, reusing the compiled files of the installed build."""

import sys
from pathlib import Path

from environment import lock, own_build, run

FOLDER = sys.argv[1]

if __name__ == "__main__":
    with lock():
        command = [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--no-build-isolation"]
        command += [f"--config-settings={setting}" for setting in own_build(Path(sys.prefix))]
        run([*command, "--wheel-dir", FOLDER, "."], "The wheel could not be built, for the reason above")
