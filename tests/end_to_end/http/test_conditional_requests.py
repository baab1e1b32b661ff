"""Conditions and ranges, which the sketcher answers itself from what it has verified."""

import subprocess

import pytest

from harness import Deployment
from harness.http_client import curl

BODY = bytes(number % 251 for number in range(5000))
CHANGED = "Tue, 14 Nov 2023 22:13:20 GMT"


@pytest.fixture(scope="module", name="deployment")
def _deployment():
    with Deployment(content={"/static/file": BODY}) as deployment:
        curl(deployment.url + "/static/file")  # the reads below are fast
        yield deployment


def test_ranges_of_the_verified_body(deployment):
    url = deployment.url + "/static/file"
    whole = curl(url)
    assert whole.field("accept-ranges") == "bytes"
    for wanted, first, last in [("0-9", 0, 9), ("100-", 100, 4999), ("-7", 4993, 4999),
                                ("4990-9999", 4990, 4999)]:
        part = curl(url, "--range", wanted)
        assert part.status == 206
        assert part.field("content-range") == f"bytes {first}-{last}/5000"
        assert part.body == BODY[first:last + 1]
        assert part.field("etag") == whole.field("etag")
    several = curl(url, "--range", "0-1,5-6")
    assert (several.status, several.body) == (200, BODY)
    behind = curl(url, "--range", "5000-")
    assert (behind.status, behind.field("content-range")) == (416, "bytes */5000")


def test_an_origin_never_sees_a_range(deployment):
    """Or it would be asked for something else than the others have agreed on."""
    before = deployment.sketcher.counters()
    for number in range(12):
        assert curl(deployment.url + "/static/file", "--range", f"{number}-{number}").body == \
            BODY[number:number + 1]
    after = deployment.sketcher.counters()
    assert after["fast"] - before["fast"] == 12
    assert after["replicated"] == before["replicated"]


def test_a_download_is_resumed(deployment, tmp_path):
    file = tmp_path / "file"
    for begun in (0, 1, 4999):
        file.write_bytes(BODY[:begun])
        subprocess.run(["curl", "--silent", "--show-error", "--fail", "--noproxy", "*", "-C", "-",
                        "-o", file, deployment.url + "/static/file"],
                       stdin=subprocess.DEVNULL, timeout=30, check=True)
        assert file.read_bytes() == BODY


def test_a_part_is_of_the_representation_that_the_client_has(deployment):
    url = deployment.url + "/static/file"
    tag = curl(url).field("etag")
    assert curl(url, "--range", "0-9", "-H", f"If-Range: {tag}").status == 206
    # A date of whole seconds is a weak validator: two versions may have it.
    for other in ('"other"', f"W/{tag}", CHANGED, "Tue, 14 Nov 2023 22:13:21 GMT"):
        answer = curl(url, "--range", "0-9", "-H", f"If-Range: {other}")
        assert (answer.status, answer.body) == (200, BODY)


def test_what_has_not_changed_is_not_sent(deployment, tmp_path):
    url = deployment.url + "/static/file"
    assert curl(url).field("last-modified") == CHANGED
    answer = curl(url, "-z", CHANGED)
    assert (answer.status, answer.body) == (304, b"")
    assert curl(url, "-z", "Tue, 14 Nov 2023 22:13:19 GMT").status == 200
    assert curl(url, "--head", "-z", CHANGED).status == 304
    saved = tmp_path / "etag"
    assert curl(url, "--etag-save", saved).status == 200
    assert curl(url, "--etag-compare", saved).status == 304


def test_failed_preconditions(deployment):
    url = deployment.url + "/static/file"
    tag = curl(url).field("etag")
    assert curl(url, "-H", f"If-Match: {tag}").status == 200
    assert curl(url, "-H", 'If-Match: "other"').status == 412
    assert curl(url, "-H", f"If-Unmodified-Since: {CHANGED}").status == 200
    assert curl(url, "-H", "If-Unmodified-Since: Tue, 14 Nov 2023 22:13:19 GMT").status == 412


def test_a_read_that_the_whole_group_answers_is_cut_as_well():
    with Deployment(content={"/file": BODY}, mode="pbft") as deployment:
        part = curl(deployment.url + "/file", "--range", "10-19")
        assert (part.status, part.body) == (206, BODY[10:20])
