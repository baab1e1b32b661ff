"""h2spec: the rules of HTTP/2 and HPACK, the strict ones too."""

import xml.etree.ElementTree

import pytest
from certificates import make_certificate
from nginx import Nginx
from suite_tools import run, suite_folder, with_and_without_compression

from harness import Deployment

CASES = 146


def failed_cases(port, folder, *options):
    """How many cases ran, and the names of those that failed."""
    report = folder / "h2spec.xml"
    _, output = run([suite_folder("h2spec") / "h2spec", "--strict", "--port", port,
                     "--junit-report", report, *options], 400)
    assert report.exists(), output[-4000:]
    cases = list(xml.etree.ElementTree.parse(report).iter("testcase"))
    return len(cases), [f"{case.get('package')} {case.get('classname')}" for case in cases
                        if case.find("failure") is not None or case.find("error") is not None]


@with_and_without_compression
@pytest.mark.parametrize("name", ["tls", "plain"])
@pytest.mark.time_limit(500)
def test_all_cases_pass(name, compression, tmp_path, tell):
    if name == "tls":
        certificate = make_certificate(tmp_path)
        files = {"chain": str(certificate.chain), "key": str(certificate.key)}
        listener, options = {"tls": {"certificates": [files]}}, ["--tls", "--insecure"]
    else:
        listener, options = {"protocols": ["h2"]}, []
    with Deployment(sketcher_changes={"listener": listener, **compression}) as deployment:
        count, failed = failed_cases(deployment.sketcher.port, tmp_path, *options)
    tell(f"{count - len(failed)} of {count}")
    assert not failed
    assert count == CASES


@pytest.mark.time_limit(500)
def test_the_runner_finds_what_nginx_lacks(tmp_path, tell):
    with Nginx(tmp_path, "http2") as nginx:
        count, failed = failed_cases(nginx.port, tmp_path)
    tell(f"{count - len(failed)} of {count}")
    assert count == CASES
    assert 0 < len(failed) < 40
