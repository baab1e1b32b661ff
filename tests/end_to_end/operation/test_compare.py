"""prophecyctl compare: in what origins differ is learnt offline, and a person accepts the rules."""

import json

from harness import Deployment
from harness.http_client import curl
from harness.programs import run_program

PAGE = b"<p>The page.</p>\n"
VOTE = {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}


def vote_deployment(**options):
    return Deployment(content={"/index.html": PAGE, "/static/page.html": PAGE}, agents=False,
                      sketcher_changes={"group": VOTE}, **options)


def differing():
    return {number: f'Header set X-Backend "node-{number}"\nHeader set X-Served-By "cache-{number}"\n'
                    f'Header set Set-Cookie "id={number}"\n'
                    f'Header set Last-Modified "Wed, 15 Nov 2023 00:00:0{number} GMT"\n'
                    f'ServerTokens {"Full" if number else "Prod"}\n'
            for number in range(4)}


def compare(deployment, *arguments):
    return run_program("prophecyctl", "compare", "--config", deployment.sketcher.configuration,
                       *arguments, timeout_s=60)


def test_compare_finds_what_differs_and_proposes_rules():
    """Without a sketcher that runs."""
    with vote_deployment(apache_additions=differing(), start=False) as deployment:
        deployment.origins.start()
        deployment.origins[3].write("/static/page.html", b"<p>Another.</p>\n")
        urls = deployment.folder / "urls"
        urls.write_text("# two of them\nhttp://localhost/static/page.html\n\nhttp://localhost/none\n")
        result = compare(deployment, "--urls", urls, "--rounds", 2, "--json")
        assert result.returncode == 0, result.stderr
        report = json.loads(result.stdout)
        found, missing = report["urls"]
        assert (found["answers"], missing["answers"], found["failures"]) == (8, 8, [])
        differs = {difference.get("name", difference["part"]): difference
                   for difference in found["differs"]}
        assert {name for name, difference in differs.items() if not difference["settled"]} == {
            "x-backend", "set-cookie", "last-modified", "body"}
        assert differs["server"]["settled"] and differs["x-served-by"]["settled"]
        assert differs["x-backend"]["among_origins"] and not differs["x-backend"]["over_time"]
        assert differs["body"]["offset"] == 3
        assert differs["x-backend"]["values"][2] == {"replica": 2, "given": ["node-2"]}
        [group] = report["groups"]
        lines = [proposal["line"] for proposal in group["proposals"]]
        assert lines == ['dropped_answer_headers = ["last-modified", "x-backend"]',
                         'last_modified_max = "Wed, 15 Nov 2023 00:00:00 GMT"']
        assert [text.split(":")[0] for text in group["unsettled"]] == ["body", "set-cookie"]
        text = compare(deployment, "http://localhost/static/page.html", "--rounds", 1).stdout
        assert "header x-backend, among origins" in text and lines[0] in text


def test_what_compare_proposes_settles_it():
    additions = {number: f'Header set X-Backend "node-{number}"\n' for number in range(4)}
    with vote_deployment(apache_additions=additions) as deployment:
        assert curl(deployment.url + "/").field("prophecy-reason") == "no-agreement"
        result = compare(deployment, deployment.url + "/", "--rounds", 1)
        assert 'dropped_answer_headers = ["x-backend"]' in result.stdout
        deployment.sketcher.stop()
        deployment.sketcher.settings["group"][0]["canonical"] = {
            "dropped_answer_headers": ["x-backend"]}
        deployment.sketcher.write_configuration()
        deployment.sketcher.start()
        assert [curl(deployment.url + "/").body for _ in range(3)] == [PAGE] * 3


def test_compare_says_what_it_cannot_do():
    with vote_deployment(start=False) as deployment:
        assert compare(deployment).returncode == 2
        for url in ("/path", "ftp://a/", "http://a b/", "http://a/\r\nX: y"):
            result = compare(deployment, url)
            assert result.returncode == 1 and result.stderr, url
        down = compare(deployment, "http://localhost/", "--rounds", 1)
        assert down.returncode == 0 and down.stdout.count("not-sent") == 4
        assert "no answer" in down.stdout
