#!/usr/bin/env bash
# Print the first interpreter that works and has one of the versions asked for, the best named first:
#
#     tools/find-python.sh 3.13 3.12
#
# The `python3` of the PATH wins if it fits, being what its owner chose (a Conda environment, say); then each
# version in turn, on the PATH and among pyenv's. Each is tried, since a pyenv shim may stand for a version that
# is not installed, and a system Python may lack the parts that make a virtual environment.
set -euo pipefail

candidates() {
  type -aP python3 || true
  local version
  for version in "$@"; do
    type -aP "python$version" || true
    ls -d "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/"python$version" 2>/dev/null || true
  done
}

probe='
import ensurepip, sys, venv
if "%d.%d" % sys.version_info[:2] not in sys.argv[1:]:
    sys.exit(1)
print(sys._base_executable)  # of a virtual environment, the Python beneath it
'

while read -r python; do
  if "$python" -c "$probe" "$@" </dev/null 2>/dev/null; then exit 0; fi
done < <(candidates "$@")
exit 1
