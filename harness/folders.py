"""Temporary folders of a deployment.

They lie under /tmp by name, since the path of a Unix socket may have 107 bytes at most and TMPDIR
may be long.
"""

import shutil
import tempfile
from pathlib import Path


def make_folder():
    folder = Path(tempfile.mkdtemp(prefix="prophecy-", dir="/tmp"))
    # Apache's workers run under an account of their own when we are root, and must get in.
    folder.chmod(0o755)
    return folder


def remove_folder(folder):
    shutil.rmtree(folder, ignore_errors=True)
