#!/bin/sh
# Makes .venv-pecos: PECOS, which pins numpy<2 and scipy<1.14 and so cannot share an environment with the other engines.
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
torch="torch==2.13.0"
wanted="libpecos==1.2.8"
if [ ! -x .venv-pecos/bin/python ] || [ "$(cat .venv-pecos/wanted 2>/dev/null || true)" != "$torch $wanted" ]; then
  "$python" -m venv .venv-pecos
  # torch first: PECOS only asks for some version of it, and this one is the one that was measured.
  .venv-pecos/bin/python -m pip install --quiet --disable-pip-version-check "$torch"
  .venv-pecos/bin/python -m pip install --quiet --disable-pip-version-check "$wanted"
  printf '%s' "$torch $wanted" > .venv-pecos/wanted
fi
echo ".venv-pecos is ready: $torch $wanted"
