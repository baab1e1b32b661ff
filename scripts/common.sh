# Sourced by run and by the scripts beside this file.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export ROOT

# Debian's Python: one from elsewhere that comes first in PATH lacks Debian's packages.
PYTHON=/usr/bin/python3
export PYTHON
# __pycache__ folders in the tree help nobody.
export PYTHONDONTWRITEBYTECODE=1

say() { printf '%s\n' "$*" >&2; }

die() {
  say "run: $*"
  exit 1
}

# Runs the rest of the calling shell under a lock, so that two runs in one tree take turns where
# they must. The lock ends with the shell that called. Children close descriptor 9 themselves.
take_lock() {
  mkdir -p "$ROOT/.run"
  exec 9>"$ROOT/.run/$1.lock"
  flock --wait 3600 9 || die "another run has held .run/$1.lock for an hour"
}
