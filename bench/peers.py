"""The load balancers that an operator would run in place of the sketcher, as the Debian packages
bring them: nginx with one worker, HAProxy with one thread. Both keep connections to the origins
alive, take them in turn, and write no log. Each has a plain port, and one with TLS and HTTP/2."""

import shutil
from pathlib import Path

from harness.ports import accepts_connections
from harness.processes import Child

# Enough threads from the beginning that Apache closes no connection to get one free: neither peer
# answers for that without an error.
APACHE = """
StartServers 2
ThreadsPerChild 64
MinSpareThreads 128
MaxSpareThreads 256
MaxRequestWorkers 256
"""

NGINX = """\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log;
events {{ worker_connections {files}; }}
http {{
  access_log off;
  types {{ text/html html; }}
  client_body_temp_path {folder}/nginx-body;
  proxy_temp_path {folder}/nginx-proxy;
  fastcgi_temp_path {folder}/nginx-fastcgi;
  uwsgi_temp_path {folder}/nginx-uwsgi;
  scgi_temp_path {folder}/nginx-scgi;
  upstream origins {{
    {origins}
    keepalive 128;
    keepalive_requests 1000000000;
  }}
{servers}}}
"""
NGINX_SERVER = """\
  server {{
    {listen}
    keepalive_requests 1000000000;
    keepalive_timeout 600s;
    location / {{
      {location}
    }}
  }}
"""
NGINX_TLS = """\
listen 127.0.0.1:{port} ssl http2;
    ssl_certificate {chain};
    ssl_certificate_key {key};
    ssl_protocols TLSv1.2 TLSv1.3;"""
NGINX_PROXIED = """\
proxy_pass http://origins;
      proxy_http_version 1.1;
      proxy_set_header Connection "";"""

HAPROXY_HEAD = """\
global
  nbthread 1
  maxconn {connections_max}
defaults
  mode http
  timeout connect 5s
  timeout client 600s
  timeout server 60s
"""
HAPROXY = HAPROXY_HEAD + """\
frontend clients
  bind 127.0.0.1:{port}
  bind 127.0.0.1:{tls_port} ssl crt {both} alpn h2,http/1.1 ssl-min-ver TLSv1.2
  default_backend origins
backend origins
  balance roundrobin
  http-reuse always
  {servers}
"""


class Peer:
    """One of them, in front of these origins."""

    def __init__(self, name, command, configuration, folder, ports):
        self.name = name
        self.port, self.tls_port = ports
        self._command = command
        self._configuration = Path(folder) / f"{name}.conf"
        self._configuration.write_text(configuration)
        self._log = Path(folder) / f"{name}.log"
        self.child = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        self.child = Child(self.name, [*self._command, self._configuration], self._log)
        self.child.wait_ready(lambda: accepts_connections(self.port))

    def stop(self):
        if self.child:
            self.child.stop()
            self.child = None


def missing_programs():
    return [name for name in ("nginx", "haproxy") if find(name) is None]


def find(name):
    return shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")


def nginx_peer(name, folder, ports, origin_ports, servers, files=1024):
    """`servers` are pairs of what one listens to, and of what it does with each request."""
    origins = "\n    ".join(f"server 127.0.0.1:{origin};" for origin in origin_ports)
    text = "".join(NGINX_SERVER.format(listen=listen, location=location) for listen, location in servers)
    return Peer(name, [find("nginx"), "-e", f"{folder}/nginx-error.log", "-c"],
                NGINX.format(folder=folder, origins=origins, servers=text, files=files), folder, ports)


def nginx(folder, ports, origin_ports, connections_max, certificate):
    listening = (f"listen 127.0.0.1:{ports[0]};", NGINX_TLS.format(port=ports[1], **certificate))
    return nginx_peer("nginx", folder, ports, origin_ports, [(listen, NGINX_PROXIED) for listen in listening],
                      2 * connections_max)


def haproxy(folder, ports, origin_ports, connections_max, certificate):
    servers = "\n  ".join(f"server origin-{number} 127.0.0.1:{origin}"
                          for number, origin in enumerate(origin_ports))
    both = Path(folder) / "haproxy.pem"
    both.write_text(Path(certificate["chain"]).read_text() + Path(certificate["key"]).read_text())
    return Peer("haproxy", [find("haproxy"), "-db", "-f"],
                HAPROXY.format(port=ports[0], tls_port=ports[1], servers=servers, both=both,
                               connections_max=connections_max), folder, ports)
