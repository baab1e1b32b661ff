"""Once a write through the sketcher has succeeded, no read of its URI is answered with what was agreed
before, though an origin still has it (docs/consistency.md, "After a write")."""

import subprocess

import pytest

from harness import Deployment
from harness.health import ALWAYS_DRAWN
from harness.http_client import RawConnection, curl
from harness.programs import program
from harness.replicas import ctl

OLD, NEW = b"old", b"new"
COUNT = 24  # a stale page would pass unnoticed with a probability of 3/4 each
PAGES = [f"/page-{number}" for number in range(COUNT)]
KINDS = ["text/html", "text/plain"]
LAGGING = 3
VOTE = {"kind": "vote", "faults": 1, "writes": "all", "file": None, "client_id": None,
        "key_file": None}


def deployment_with(group=None, route=None, pages=(), **options):
    """Quarantine would take the origin that lags out of the draw."""
    table = options.pop("table", {})
    changes = {"sketcher": {"workers": 2}, "route": {"reads": "delay-once", **(route or {})},
               "group": {"health": ALWAYS_DRAWN, **(group or {})}, "table": table}
    return Deployment(content={page: OLD for page in [*PAGES, *pages]}, sketcher_changes=changes,
                      **options)


class lagging:  # pylint: disable=invalid-name
    """One origin's agent hangs: what is written meanwhile is not, there."""

    def __init__(self, deployment):
        self.agent = deployment.agents[LAGGING]

    def __enter__(self):
        self.agent.pause()

    def __exit__(self, *_):
        self.agent.resume()


def read(deployment, page, *options):
    answer = curl(deployment.url + page, *options)
    assert answer.status == 200
    return answer.body


def read_all(deployment, pages=tuple(PAGES)):
    return {read(deployment, page) for page in pages}


def write(deployment, page, content=NEW):
    answer = curl(deployment.url + page, "-X", "PUT", "--data-binary", content.decode())
    assert answer.status == 204


def history(deployment):
    return deployment.sketcher.status()["history"]


def stale_reads(deployment):
    """Of the first read of each page and kind after a write of the page."""
    for page in PAGES:
        for kind in KINDS:
            assert read(deployment, page, "-H", f"Accept: {kind}") == OLD
    stale = 0
    with lagging(deployment):
        for page in PAGES:
            write(deployment, page)
            assert deployment.origins[LAGGING].read(page) == OLD
            stale += sum(read(deployment, page, "-H", f"Accept: {kind}") == OLD for kind in KINDS)
    return stale


def test_no_read_after_a_write_is_older_whatever_varies_its_key():
    with deployment_with() as deployment:
        assert stale_reads(deployment) == 0
        found = history(deployment)
        assert found["invalidations"] == COUNT
        assert found["out_of_date"] == COUNT * len(KINDS)
        # And they are read fast again, but for pages that happen to share a floor.
        deployment.wait_for_write(PAGES[-1], NEW)
        before = deployment.sketcher.counters()["fast"]
        for page in PAGES:
            for kind in KINDS:
                assert read(deployment, page, "-H", f"Accept: {kind}") == NEW
        assert deployment.sketcher.counters()["fast"] >= before + (COUNT - 2) * len(KINDS)


def test_without_it_such_reads_are_stale_now_and_then():
    with deployment_with(route={"write_invalidation": False}) as deployment:
        assert stale_reads(deployment) > 0
        assert history(deployment)["invalidations"] == 0


def test_what_location_and_content_location_lead_to_is_out_of_date_too():
    """A form whose answer names two pages that it has changed, one of them by a relative reference."""
    places = "".join(f'Header always set {field} "expr={prefix}-%{{QUERY_STRING}}" '
                     f'"expr=%{{REQUEST_URI}} == \'/in/form\'"\n'
                     for field, prefix in (("Location", "/listed"),
                                           ("Content-Location", "../in/./other")))
    named = [f"{prefix}-{number}" for number in range(12) for prefix in ("/listed", "/in/other")]
    with deployment_with(pages=["/in/form", *named],
                         apache_additions={number: places for number in range(4)}) as deployment:
        assert read_all(deployment, named) == {OLD}
        for page in named:
            for origin in set(range(4)) - {LAGGING}:
                deployment.origins[origin].write(page, NEW)
        for number in range(12):
            answer = curl(f"{deployment.url}/in/form?{number}", "-X", "PUT", "--data-binary", "x")
            assert answer.field("location") == f"/listed-{number}"
            assert read_all(deployment, named[2 * number:2 * number + 2]) == {NEW}
        assert history(deployment)["out_of_date"] == len(named)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_table_that_is_kept_keeps_what_is_out_of_date(end):
    with deployment_with(table={"file": "history.table"}) as deployment:
        assert read_all(deployment) == {OLD}
        with lagging(deployment):
            for page in PAGES:
                write(deployment, page)
            getattr(deployment.sketcher, end)()
            deployment.sketcher.start()
            assert history(deployment)["entries"] == COUNT
            assert read_all(deployment) == {NEW}


def test_votes_on_what_was_written_come_after_it():
    with deployment_with(group=VOTE, agents=False) as deployment:
        assert read_all(deployment) == {OLD}
        for page in PAGES:
            write(deployment, page)
            deployment.origins[LAGGING].write(page, OLD)  # as if it had missed that
            assert read(deployment, page) == NEW
        assert history(deployment)["out_of_date"] == COUNT
        assert read_all(deployment) == {NEW}


def test_somebody_elses_writes_use_up_no_budget_of_readers():
    """In a small table many URIs share a floor: what others write makes pages out of date that they never
    named. The group answers each of these reads, whatever the budget says; the first brings its page up."""
    pages = [f"/page-{number}" for number in range(90)]
    budget = {"slow_path_share": 0.0, "slow_path_per_second": 0}
    with deployment_with(group=VOTE, agents=False, pages=pages, route=budget,
                         table={"size": "64KiB"}) as deployment:
        reader, writer = (RawConnection(deployment.sketcher.port) for _ in range(2))
        assert {reader.get(page).body for page in pages} == {OLD}  # what may come at once, nearly
        for number in range(5):
            for other in range(120):
                assert writer.ask("PUT", f"/other-{number}-{other}", b"x").status in (201, 204)
            assert {reader.get(page).status for page in pages} == {200}
        found = history(deployment)
        assert found["out_of_date"] > 20
        assert deployment.sketcher.counters()["over_budget"] == 0
        # What nobody has read before is charged all the same, and refused in the end.
        statuses = [reader.get(f"/unknown-{number}").status for number in range(20)]
        assert statuses[-1] == 503


def test_a_list_of_blocks_is_out_of_date_as_well():
    size = 300 << 10
    canonical = {"whole_answer": "64KiB", "answer_block": "16KiB"}
    with deployment_with(canonical=canonical) as deployment:
        pages = [f"/large-{number}" for number in range(12)]
        old, new = b"o" * size, b"n" * size
        for origin in deployment.origins:
            for page in pages:
                origin.write(page, old)
        for _ in range(2):
            assert read_all(deployment, pages) == {old}
        assert deployment.sketcher.status()["large"]["lists_found"] == len(pages)
        (deployment.folder / "new").write_bytes(new)
        with lagging(deployment):
            for page in pages:
                answer = curl(deployment.url + page, "-T", deployment.folder / "new")
                assert answer.status == 204
                assert read(deployment, page) == new


def test_writes_on_a_route_that_is_off_count_once_it_is_enforced_again():
    def set_mode(mode):
        ctl("route", "default", mode, "--admin", deployment.sketcher.admin)

    with deployment_with(route={"name": "default"}) as deployment:
        assert read_all(deployment) == {OLD}
        set_mode("off")
        with lagging(deployment):
            for page in PAGES:
                write(deployment, page)
            set_mode("enforce")
            assert read_all(deployment) == {NEW}


def test_what_fails_or_is_safe_makes_nothing_out_of_date():
    with deployment_with() as deployment:
        assert read_all(deployment) == {OLD}
        assert curl(deployment.url + "/none", "-X", "DELETE").status == 404
        assert curl(deployment.url + PAGES[0], "-X", "OPTIONS").status == 200
        assert curl(deployment.url + PAGES[0], "-X", "PUT", "-H", 'If-Match: "x"',
                    "--data-binary", "x").status == 501
        found = history(deployment)
        assert (found["invalidations"], found["out_of_date"]) == (0, 0)
        assert curl(deployment.url + PAGES[0], "-X", "DELETE").status == 204
        assert history(deployment)["invalidations"] == 1
        assert curl(deployment.url + PAGES[0]).status == 404


def test_a_setting_that_makes_no_sense():
    with Deployment(start=False,
                    sketcher_changes={"route": {"write_invalidation": "often"}}) as deployment:
        result = subprocess.run([program("prophecy-sketcher"), "--check", "--config",
                                 deployment.sketcher.configuration],
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=30, check=False)
    assert result.returncode == 2
    assert "write_invalidation" in result.stderr
