"""Real Apache httpd instances as origins, each with a folder of its own.

Only the package apache2-bin is used: no service, no file under /etc/apache2. Every instance gets
a generated configuration, listens on 127.0.0.1 and offers WebDAV, so that PUT and DELETE are real
writes to its folder.
"""

import os
import pwd
import shutil
from pathlib import Path

from harness.origins import Origin, OriginCluster
from harness.ports import accepts_connections
from harness.processes import Child, HarnessError

# The modification time of all content that we make, on every origin: Last-Modified agrees.
CONTENT_TIME = 1_700_000_000

MODULES = ["mpm_event", "authz_core", "mime", "dir", "headers", "setenvif", "dav", "dav_fs"]

CONFIGURATION = """\
ServerRoot "{folder}"
PidFile "{folder}/httpd.pid"
Listen 127.0.0.1:{port}
ServerName localhost
{modules}
{account}
ErrorLog "{folder}/error.log"
LogLevel warn
TypesConfig /etc/mime.types
# Every byte of an answer has to be the same on all origins: no page may name its host and port.
ServerSignature Off

# The numbers of the event MPM as Debian ships it.
StartServers 2
MinSpareThreads 25
MaxSpareThreads 75
ThreadLimit 64
ThreadsPerChild 25
MaxRequestWorkers 150
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 60

DocumentRoot "{folder}/htdocs"
DirectoryIndex index.html
DavLockDB "{folder}/dav/lock"
<Directory "{folder}/htdocs">
  Require all granted
  Dav On
  # A PUT sets the file's time at each origin from that origin's own clock. Two origins may stand
  # on both sides of a second's end, and their Last-Modified would differ for the same bytes. Files
  # under /static/ are not written through HTTP and keep it.
  Header unset Last-Modified "expr=%{{REQUEST_URI}} !~ m#^/static/#"
</Directory>
{additions}
"""
# The script of a page that takes its time: see Apache.add_slow_page().
SLOW_PAGE = "/cgi/slow"
CGI = """\
ScriptSock {folder}/cgid.sock
ScriptAlias /cgi/ {folder}/cgi/
<Directory "{folder}/cgi">
  Require all granted
  Options +ExecCGI
</Directory>
"""
# A hook that holds some answers back: see Apache.delay_answers().
DELAYS = """\
LuaScope thread
LuaHookFixups {folder}/delays.lua hold
"""
DELAYS_HOOK = """\
function hold(r)
  if r.uri == "{path}" and math.random({one_in}) == 1 then
    local switch = io.open("{switch}")
    if switch then
      switch:close()
      r.usleep({microseconds})
    end
  end
  return apache2.DECLINED
end
"""


def _modules_folder():
    for candidate in ("/usr/lib/apache2/modules", "/usr/lib64/httpd/modules"):
        if os.path.isdir(candidate):
            return candidate
    raise HarnessError("Apache's modules are not installed: the Debian package is apache2-bin")


def load_module(name):
    """The line for `additions` that loads one more module."""
    return f"LoadModule {name}_module {_modules_folder()}/mod_{name}.so\n"


class Apache(Origin):
    """One origin. `additions` is text for the end of its configuration."""

    def __init__(self, folder, port, name="apache", additions=""):
        self.folder = Path(folder)
        self.port = port
        self.name = name
        self.additions = additions
        self._owner = pwd.getpwnam("www-data") if os.geteuid() == 0 else None
        for part in (self.folder, self.htdocs, self.folder / "dav"):
            part.mkdir(exist_ok=True)
            self._give(part)

    @property
    def htdocs(self):
        return self.folder / "htdocs"

    def _give(self, path):
        if self._owner:
            os.chown(path, self._owner.pw_uid, self._owner.pw_gid)

    def write(self, path, content):
        """Puts a file into the folder, behind the back of everything: set-up and attacks."""
        if isinstance(content, str):
            content = content.encode()
        file = self.htdocs / path.lstrip("/")
        for parent in reversed(file.relative_to(self.htdocs).parents):
            (self.htdocs / parent).mkdir(exist_ok=True)
            self._give(self.htdocs / parent)
        # A new file under the old name: Apache may be reading the old one.
        fresh = file.with_name(file.name + ".new")
        fresh.write_bytes(content)
        os.utime(fresh, (CONTENT_TIME, CONTENT_TIME))
        self._give(fresh)
        fresh.rename(file)

    def add_slow_page(self, seconds):
        """SLOW_PAGE, which is answered after so long. Before start(), once."""
        folder = self.folder / "cgi"
        folder.mkdir()
        page = folder / "slow"
        page.write_text(f"#!/bin/sh\nsleep {seconds}\nprintf 'Content-Type: text/plain\\r\\n\\r\\nslow'\n")
        page.chmod(0o755)
        self.additions += load_module("alias") + load_module("cgid") + CGI.format(folder=self.folder)

    def delay_answers(self, path, one_in, seconds):
        """While begin_delays() is in force, this origin holds back one in so many answers to this path,
        drawn at random, for so long. Every byte is right. Before start(), once."""
        self._delays = self.folder / "delays"
        hook = self.folder / "delays.lua"
        hook.write_text(DELAYS_HOOK.format(path=path, one_in=one_in, switch=self._delays,
                                           microseconds=round(seconds * 1e6)))
        self.additions += load_module("lua") + DELAYS.format(folder=self.folder)

    def begin_delays(self):
        self._delays.touch()

    def read(self, path):
        """The bytes of a file in the folder; None when there is none."""
        try:  # asked and opened in one: a DELETE may come between the two
            return (self.htdocs / path.lstrip("/")).read_bytes()
        except FileNotFoundError:
            return None

    def remove(self, path):
        """Takes a file out of the folder, if there is one."""
        (self.htdocs / path.lstrip("/")).unlink(missing_ok=True)

    def start(self):
        httpd = shutil.which("apache2", path="/usr/sbin:/usr/bin") or shutil.which("httpd")
        if httpd is None:
            raise HarnessError("Apache is not installed: the Debian package is apache2-bin")
        modules = _modules_folder()
        configuration = self.folder / "httpd.conf"
        configuration.write_text(CONFIGURATION.format(
            folder=self.folder, port=self.port, additions=self.additions,
            modules="\n".join(f"LoadModule {name}_module {modules}/mod_{name}.so"
                              for name in MODULES),
            account=f"User {self._owner.pw_name}\nGroup #{self._owner.pw_gid}"
                    if self._owner else ""))
        (self.folder / "httpd.pid").unlink(missing_ok=True)
        self.child = Child(self.name, [httpd, "-DFOREGROUND", "-f", configuration],
                           self.folder / "output.log")
        self.child.wait_ready(lambda: accepts_connections(self.port))


class ApacheCluster(OriginCluster):
    """Some origins with the same content. `additions` gives each its own configuration."""

    def __init__(self, folder, ports, content, additions=None):
        super().__init__()
        for number, port in enumerate(ports):
            origin = Apache(Path(folder) / f"origin-{number}", port, f"apache-{number}",
                            (additions or {}).get(number, ""))
            for path, body in content.items():
                origin.write(path, body)
            self.origins.append(origin)
