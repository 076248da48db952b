#!/usr/bin/env bash
# Install this checkout, editable, into a virtual environment, which is made if it is not there:
#
#     tools/venv.sh .venv-oldest lab,dev "3.11" "jax==0.10.*"
#
# The third argument lists the Python versions that will do, the best first; more arguments go to pip. PYTHON=path
# in the environment overrules the choice.
set -euo pipefail
dir=$1 extras=$2 versions=$3
shift 3

if ! "$dir/bin/python" -m pip --version >/dev/null 2>&1; then
  # shellcheck disable=SC2086  # the versions are words
  python=${PYTHON:-$(tools/find-python.sh $versions)} || {
    echo "!!! pwlab needs one of Python $versions, with its venv module, and none was found." >&2
    echo "    Install one (https://www.python.org/downloads), or name one: make PYTHON=/path/to/python3 ..." >&2
    exit 1
  }
  echo "==> making $dir with $("$python" --version) ($python)"
  "$python" -m venv --clear "$dir"
fi

echo "==> installing pwlab[$extras]${*:+ with $*} into $dir (a few minutes the first time)"
"$dir/bin/python" -m pip install -qq --no-input --disable-pip-version-check -e ".[$extras]" "$@"
