"""A group of thirteen, the largest of the paper's: f of 4."""

from harness import Deployment
from harness.http_client import curl

FAULTS = 4


def put(deployment, path, content):
    return curl(deployment.url + path, "-X", "PUT", "--data-binary", content)


def test_a_group_of_thirteen_goes_on_without_four():
    with Deployment(faults=FAULTS) as deployment:
        assert put(deployment, "/first", b"one").status == 201
        for agent in list(deployment.agents)[:FAULTS]:  # the first primary among them, and the next ones
            agent.kill()
        assert put(deployment, "/second", b"two").status == 201
        for path, content in {"/first": b"one", "/second": b"two"}.items():
            answer = curl(deployment.url + path)
            assert (answer.status, answer.body) == (200, content)
        primaries = {agent.status()["primary"] for agent in list(deployment.agents)[FAULTS:]}
        assert len(primaries) == 1 and primaries.pop() >= FAULTS
        assert not deployment.sketcher.divergences()
