#!/usr/bin/env bash
# Get what the dashboard's tests need beside Python: esbuild for its JavaScript, and a Chromium.
#
# Both are wanted and neither is needed: where one cannot be had this says so, and the tests that need it skip.
set -uo pipefail
cd "$(dirname "$0")/.."

missing() { printf '\n!!! NOT TESTED: %s\n\n' "$1" >&2; }

if ! command -v npm >/dev/null; then
  missing "the dashboard's JavaScript, for there is no npm"
elif [ ! -d pwlab/viz/js/node_modules ]; then
  echo "==> npm ci in pwlab/viz/js"
  (cd pwlab/viz/js && npm ci --silent --no-audit --no-fund) || missing "whether the JavaScript bundle is up to date: npm ci failed"
fi

if ! command -v chromium chromium-browser google-chrome >/dev/null; then
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    echo "==> apt-get install chromium (once)"
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium; } >/dev/null 2>&1 ||
      missing "the dashboard in a browser: apt-get could not install chromium"
  else
    missing "the dashboard in a browser; install Chromium, such as: sudo apt-get install chromium"
  fi
fi
