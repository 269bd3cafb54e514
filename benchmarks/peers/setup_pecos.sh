#!/bin/sh
# Makes .venv-pecos: PECOS pins an old numpy and needs torch, so it lives apart from the other peers.
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
wanted="torch==2.13.0 libpecos==1.2.8"
if [ ! -x .venv-pecos/bin/python ] || [ "$(cat .venv-pecos/wanted 2>/dev/null || true)" != "$wanted" ]; then
  "$python" -m venv .venv-pecos
  for package in $wanted; do
    .venv-pecos/bin/python -m pip install --quiet --disable-pip-version-check "$package"
  done
  printf '%s' "$wanted" > .venv-pecos/wanted
fi
echo ".venv-pecos is ready: $wanted"
