"""promtool: it finds nothing to complain of in the metrics of a sketcher and of a replica."""

import subprocess
from contextlib import closing

from suite_tools import debian_program

from harness import Deployment
from harness.http_client import curl
from harness.ports import PortReservation

PAGE = b"<p>The page.</p>\n"


def complaints(page):
    result = subprocess.run([debian_program("promtool"), "check", "metrics"], input=page,
                            capture_output=True, timeout=60, check=False)
    return result.returncode, (result.stdout + result.stderr).decode()


def test_the_pages_are_as_prometheus_wants_them():
    with closing(PortReservation(1)) as ports:
        metrics = f"127.0.0.1:{ports.ports[0]}"
        with Deployment(content={"/index.html": PAGE},
                        sketcher_changes={"sketcher": {"metrics": metrics}}) as deployment:
            assert curl(deployment.url + "/").body == PAGE
            agent = deployment.agents[0].status()["metrics"]
            pages = [curl(f"http://{address}/metrics").body for address in (metrics, agent)]
    for page in pages:
        assert complaints(page) == (0, "")
