#!/bin/sh
# Makes .venv-peers: the engines that benchmarks compare with, away from our own environment.
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
wanted="bm25s==0.3.16 numba==0.68.1 tantivy==0.27.0 PyStemmer==3.1.0 pyseismic-lsr==0.5.4 lancedb==0.40.0 usearch==2.26.6"
if [ ! -x .venv-peers/bin/python ] || [ "$(cat .venv-peers/wanted 2>/dev/null || true)" != "$wanted" ]; then
  "$python" -m venv .venv-peers
  # shellcheck disable=SC2086
  .venv-peers/bin/python -m pip install --quiet --disable-pip-version-check $wanted
  printf '%s' "$wanted" > .venv-peers/wanted
fi
echo ".venv-peers is ready: $wanted"
