"""An nginx that speaks HTTP/2 or TLS: what the suites' runners are proven with, and a yardstick."""

from suite_tools import debian_program

from harness.ports import PortReservation, accepts_connections
from harness.processes import Child

CONFIGURATION = """\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 1000; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} {options};
    {directives}
    location / {{ return 200 "hello\\n"; }}
  }}
}}
"""


class Nginx:
    """Context manager. `options` are of its listener, `directives` of its server."""

    def __init__(self, folder, options, directives=""):
        self._folder = folder
        self._ports = PortReservation(1)
        [self.port] = self._ports.ports
        self._configuration = folder / "nginx.conf"
        self._configuration.write_text(CONFIGURATION.format(
            folder=folder, port=self.port, options=options, directives=directives))

    def __enter__(self):
        self._child = Child("nginx", [debian_program("nginx"), "-e", self._folder / "error.log",
                                      "-c", self._configuration], self._folder / "nginx.log")
        self._child.wait_ready(lambda: accepts_connections(self.port))
        return self

    def __exit__(self, *_):
        self._child.stop()
        self._ports.close()
