"""404 and 410 take a share of the history: paths that somebody makes up evict nothing else."""

from harness import Deployment
from harness.http_client import RawConnection

VOTE = {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}


def test_a_flood_of_paths_that_do_not_exist_leaves_what_is_asked_for():
    hot = {f"/hot/{number}.html": f"page {number}" for number in range(200)}
    table = {"table": {"size": "64KiB"}}  # some 600 entries
    with Deployment(content=hot, agents=False,
                    sketcher_changes={"group": VOTE, **table}) as deployment:
        with RawConnection(deployment.sketcher.port) as client:
            def read_all():
                before = deployment.sketcher.counters()["fast"]
                for path, body in hot.items():
                    assert client.get(path).body == body.encode()
                return deployment.sketcher.counters()["fast"] - before

            for _ in range(2):
                read_all()
            assert read_all() > 190
            for number in range(3000):
                assert client.get(f"/none/{number}").status == 404
            # Not one of the last flooded, either.
            assert read_all() > 180
            history = deployment.sketcher.status()["history"]
            assert 0 < history["not_found"] <= history["not_found_max"] == history["capacity"] // 20
            # One that is asked for is a fast read all the same.
            client.get("/none/again")
            before = deployment.sketcher.counters()["fast"]
            for _ in range(20):
                assert client.get("/none/again").status == 404
            assert deployment.sketcher.counters()["fast"] - before >= 10
