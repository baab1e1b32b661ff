"""warcio, which Debian 12 does not have: from the path of Python, or fetched into .run."""

import importlib.util
import subprocess
from pathlib import Path

FETCH = Path(__file__).resolve().parent.parent / "scripts" / "fetch-warcio"


def warcio_folder():
    """The folder to import it from; None where it cannot be had."""
    found = importlib.util.find_spec("warcio")
    if found is not None:
        return str(Path(found.origin).parent.parent)
    fetched = subprocess.run([FETCH], capture_output=True, text=True, check=False)
    return fetched.stdout.strip().splitlines()[-1] if fetched.returncode == 0 else None
