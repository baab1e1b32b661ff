"""The applications of examples/applications/ as origins, each with a folder of its own for its state.

Each class says how one application is prepared and started, what its agent is to be configured
with, and what its state is, as text that two origins can be compared by.
"""

import hashlib
import itertools
import os
import pwd
import shutil
import subprocess
from pathlib import Path

from harness.build import ROOT
from harness.origins import Origin, OriginCluster
from harness.ports import accepts_connections
from harness.processes import Child, HarnessError
from harness.small_disk import SmallDisk

EXAMPLES = ROOT / "examples" / "applications"
SECRET = "the same at all origins"


class Application(Origin):
    """One origin. `board` is the folder of its program: a copy of that of examples/, unless a test gives another."""

    kind = ""
    folders = ()  # of files that are part of the state

    def __init__(self, folder, number, port, board=None):
        self.folder = Path(folder)
        self.folder.mkdir()
        self.number = number
        self.port = port
        # A copy: Apache's account need not be able to read the checkout.
        self.board = self.folder / "board"
        shutil.copytree(board or EXAMPLES / self.kind, self.board)
        self.disk = SmallDisk(self.folder / "disk")
        self.data = self.disk.folder / "data"
        self.losses = itertools.count()
        self.prepare()

    def prepare(self):
        """The state of a new origin: the same at all."""
        self.data.mkdir()
        for name in self.folders:
            (self.data / name).mkdir()

    def wipe(self):
        """All files are lost, at once: an agent may be writing some, into the old folder or the new one."""
        number, data = next(self.losses), self.data
        self.data = data.with_name(f"new-{number}")
        self.prepare()
        new, self.data = self.data, data
        lost = data.with_name(f"lost-{number}")
        data.rename(lost)
        new.rename(data)
        shutil.rmtree(lost, ignore_errors=True)

    def command(self):
        raise NotImplementedError

    def environment(self):
        return {"DATA": str(self.data), "PORT": str(self.port), "SECRET": SECRET,
                "PYTHONDONTWRITEBYTECODE": "1"}

    def start(self):
        self.child = Child(f"{self.kind}-{self.number}", self.command(), self.folder / "output.log",
                           self.environment(), self.board)
        self.child.wait_ready(lambda: accepts_connections(self.port), 60)

    def service(self):
        """Settings of its agent: the table [service]."""
        raise NotImplementedError

    def state(self):
        raise NotImplementedError


class Node(Application):
    """node:http and files: the state is a folder."""

    kind = "node"
    folders = ("notes", "sessions", "uploads")

    def command(self):
        return ["node", self.board / "server.js"]

    def service(self):
        return {"state": "directory", "state_folder": str(self.data), "state_exclude": ["*.tmp"]}

    def state(self):
        # A file that goes meanwhile makes a state that equals no other.
        def line(path):
            try:
                return f"{path.relative_to(self.data)} {hashlib.sha256(path.read_bytes()).hexdigest()}"
            except FileNotFoundError:
                return f"{path} is gone"
        return "\n".join(line(path) for path in sorted(self.data.rglob("*"))
                         if path.is_file() and path.suffix != ".tmp")


class WithDatabase(Application):
    """A database of SQLite and files: the state is what examples/applications/state/dump-state writes."""

    def state_command(self, name):
        return [str(EXAMPLES / "state" / name), str(self.data), "notes.db", *self.folders]

    def service(self):
        return {"state": "command", "state_dump": self.state_command("dump-state"),
                "state_load": self.state_command("load-state")}

    def state(self):
        """The rows as text, and what the whole is hashed to."""
        dump = subprocess.run(self.state_command("dump-state"), capture_output=True, check=False)
        rows = subprocess.run(["sqlite3", self.data / "notes.db", ".dump"], capture_output=True,
                              text=True, check=False)
        return f"{rows.stdout}{hashlib.sha256(dump.stdout).hexdigest()} {dump.stderr.decode()}"


APACHE = """\
ServerRoot "{folder}"
PidFile "{folder}/httpd.pid"
Listen 127.0.0.1:{port}
ServerName localhost
{modules}
LoadModule php_module {modules_folder}/libphp8.2.so
{account}
ErrorLog "{folder}/error.log"
TypesConfig /etc/mime.types
ServerSignature Off
StartServers 4
MaxRequestWorkers 40
MaxKeepAliveRequests 0
KeepAliveTimeout 60
Include "{board}/board.conf"
"""


class Php(WithDatabase):
    """mod_php in a preforking Apache, PDO's SQLite, PHP's sessions."""

    kind = "php"
    folders = ("sessions", "uploads")

    def prepare(self):
        super().prepare()
        (self.data / "incoming").mkdir()
        subprocess.run(["sqlite3", self.data / "notes.db", f".read {self.board}/schema.sql"], check=True)
        if os.geteuid() == 0:
            for path in (self.folder, self.data, *self.data.iterdir()):
                shutil.chown(path, "www-data", "www-data")

    def command(self):
        httpd = shutil.which("apache2", path="/usr/sbin:/usr/bin")
        modules = Path("/usr/lib/apache2/modules")
        if httpd is None or not (modules / "libphp8.2.so").exists():
            raise HarnessError("the Debian packages apache2-bin and libapache2-mod-php8.2 are missing")
        names = ("mpm_prefork", "authz_core", "mime", "dir", "headers", "alias", "env")
        configuration = self.folder / "httpd.conf"
        configuration.write_text(APACHE.format(
            folder=self.folder, port=self.port, board=self.board, modules_folder=modules,
            modules="\n".join(f"LoadModule {name}_module {modules}/mod_{name}.so" for name in names),
            account=f"User www-data\nGroup #{pwd.getpwnam('www-data').pw_gid}"
                    if os.geteuid() == 0 else ""))
        (self.folder / "httpd.pid").unlink(missing_ok=True)
        return [httpd, "-DFOREGROUND", "-f", configuration]

    def environment(self):
        return {**super().environment(), "BOARD": str(self.board)}


class Django(WithDatabase):
    """Django's ORM and sessions in SQLite, files of models below uploads/, in gunicorn."""

    kind = "django"
    folders = ("uploads",)

    def prepare(self):
        super().prepare()
        # `manage.py migrate` notes the time of each migration: one origin's database is copied.
        prepared = self.folder.parent / "prepared.db"
        if not prepared.exists():
            subprocess.run(["/usr/bin/python3", self.board / "manage.py", "migrate", "--verbosity", "0"],
                           cwd=self.board, check=True, env={**os.environ, **self.environment()})
            shutil.copy(self.data / "notes.db", prepared)
        shutil.copy(prepared, self.data / "notes.db")

    def command(self):
        # The time-out is the origin's own limit on a request: a worker that takes longer is killed.
        return ["/usr/bin/python3", "-m", "gunicorn", "--bind", f"127.0.0.1:{self.port}", "--workers", "3",
                "--timeout", "15", "--worker-tmp-dir", self.folder, "board.wsgi:application"]


APPLICATIONS = {application.kind: application for application in (Node, Php, Django)}


class ApplicationCluster(OriginCluster):
    """Some origins of one application, in the same state. `board` is as Application says."""

    def __init__(self, folder, ports, kind, board=None):
        super().__init__()
        try:
            for number, port in enumerate(ports):
                self.origins.append(APPLICATIONS[kind](Path(folder) / f"origin-{number}", number, port, board))
        except BaseException:
            self.close()
            raise

    def close(self):
        self.stop()
        for origin in self.origins:
            origin.disk.close()
