"""Origins that are restarted; and one that is stopped (SIGSTOP) for longer than its writes may take to settle, and then
carries them out (docs/origin-state.md)."""

import time

from harness import Deployment
from harness.http_client import curl
from harness.processes import wait_until


def settings(number):
    return {"service": {"state": "directory", "state_folder": f"origin-{number}/htdocs",
                        "state_exclude": [".DAV", ".davfs.tmp*"], "answer_timeout": "500ms",
                        "write_settle": "700ms"}}


def write(deployment, name, content="content"):
    return curl(f"{deployment.url}/{name}", "-X", "PUT", "--data-binary", content).status


def files(origin):
    return {path.name: path.read_bytes() for path in origin.htdocs.iterdir() if path.is_file()}


def test_writes_that_a_stopped_origin_carries_out_late_are_undone():
    with Deployment(content={}, agent_changes=settings) as deployment:
        assert write(deployment, "page", "before") == 201
        stopped, agent = deployment.origins[2], deployment.agents[2]
        stopped.pause()
        try:
            assert write(deployment, "page", "old") == 204
            wait_until(lambda: agent.status()["core"]["writes_uncertain"] > 0, 10, "the write to settle")
            assert write(deployment, "page", "new") == 204
            time.sleep(2)
        finally:
            stopped.resume()
        for number in range(150):  # some checkpoints
            assert write(deployment, f"after-{number}") == 201
        wait_until(lambda: agent.status()["recovery"]["state"] == "none"
                   and files(stopped) == files(deployment.origins[0]), 60, "the repair")
        assert files(stopped)["page"] == b"new"
        assert {curl(f"{deployment.url}/page").body for _ in range(20)} == {b"new"}


def test_reads_are_answered_once_all_origins_were_restarted_behind_a_checkpoint():
    """No write comes that would have an agent restore its origin's state."""
    content = {f"/page-{number}": b"content" for number in range(20)}
    with Deployment(content=content, agent_changes=settings) as deployment:
        agents = deployment.agents

        def is_behind_checkpoint():
            assert write(deployment, "page-0") == 204
            progress = [agent.status()["progress"] for agent in agents]
            return all(each["last_executed"] == each["last_stable"] > 0 for each in progress)

        wait_until(is_behind_checkpoint, 60, "a checkpoint behind the last write")
        for number, (origin, agent) in enumerate(zip(deployment.origins, agents)):
            origin.kill()
            # The history has no entry for this page, so the sketcher asks the agents.
            assert curl(f"{deployment.url}/page-{number + 1}").status == 200
            wait_until(lambda agent=agent: agent.status()["recovery"]["state"] == "service_lost", 10,
                       "the agent to notice")
            origin.start()
            wait_until(lambda agent=agent: agent.status()["recovery"]["state"] == "none", 20, "the restore")
        assert curl(f"{deployment.url}/page-10").status == 200
