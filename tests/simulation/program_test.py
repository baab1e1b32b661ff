"""prophecy-sim as a program: what it prints, what it returns, and that runs repeat.

usage: program_test.py PROPHECY-SIM
"""

import re
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=300)


def ingredients(text):
    """The numbers in a printed scenario."""
    return [int(number) for number in re.findall(r"^ +(\d+)  ", text, re.M)]


class ProphecySim(unittest.TestCase):
    def test_help_names_every_option_and_canary(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for word in ["--seeds", "--first", "--jobs", "--seed", "--trace", "--shrink", "--without",
                     "--only", "--canary", "--origins", "votes_in_left_view", "--bounds"]:
            self.assertIn(word, result.stdout)

    def test_wrong_usage_is_told_apart_from_a_violation(self):
        for arguments in [["--seeds"], ["--seeds", "x"], ["--seeds", "0"], ["--jobs", "0"],
                          ["--jobs", "100000"], ["--nonsense"], ["--canary", "none"],
                          ["--seed", "1", "--seeds", "2"], ["--trace"], ["--shrink"],
                          ["--without", "1"], ["--seed", "1", "--only", "1", "--without", "2"],
                          ["--seed", "1", "--only", "1,x"],
                          ["--bounds", "/nonexistent"], ["--bounds", "/dev/null"]]:
            with self.subTest(arguments=arguments):
                result = run(*arguments)
                self.assertEqual(result.returncode, 2)
                self.assertIn("usage:", result.stderr)

    def test_the_same_seed_is_the_same_trace(self):
        first = run("--seed", "7", "--trace")
        self.assertEqual(first.returncode, 0, first.stdout[-500:])
        self.assertEqual(first.stdout, run("--seed", "7", "--trace").stdout)
        for kind in ["pre-prepare", "prepare", "commit", "reply", "status", "begins:"]:
            self.assertIn(kind, first.stdout)
        self.assertNotEqual(first.stdout, run("--seed", "8", "--trace").stdout)

    def test_the_result_does_not_depend_on_the_number_of_processes(self):
        def figures(text):
            return [line for line in text.splitlines() if "seeds a second" not in line]

        held = [run("--seeds", "60", "--jobs", jobs) for jobs in ("1", "2", "5")]
        for result in held:
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertIn("requests ordered", result.stdout)
            self.assertEqual(figures(result.stdout), figures(held[0].stdout))
        # The lowest failing seed, whoever comes across one first.
        found = [run("--canary", "votes_in_left_view", "--jobs", jobs) for jobs in ("1", "2", "5")]
        for result in found:
            self.assertEqual(result.returncode, 0)
            self.assertEqual(result.stdout, found[0].stdout)

    def test_ingredients_can_be_left_out(self):
        whole = run("--seed", "3")
        numbers = ingredients(whole.stdout)
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
        without = run("--seed", "3", "--without", "1,3")
        self.assertEqual(ingredients(without.stdout), [n for n in numbers if n not in (1, 3)])
        only = run("--seed", "3", "--only", "1,2")
        self.assertEqual(ingredients(only.stdout), [1, 2])
        self.assertEqual(run("--seed", "3", "--only", "").returncode, 0)

    def test_a_failing_seed_is_reduced_to_what_it_needs(self):
        found = run("--canary", "votes_in_left_view")
        seed = re.search(r"^seed (\d+): ", found.stdout, re.M)[1]
        canary = ["--seed", seed, "--canary", "votes_in_left_view"]
        self.assertEqual(run(*canary).returncode, 1)
        reduced = run(*canary, "--shrink")
        self.assertEqual(reduced.returncode, 0, reduced.stdout)
        needed = ingredients(reduced.stdout)
        self.assertLess(len(needed), len(ingredients(run(*canary).stdout)))
        # What it prints repeats the failure, and nothing of it can be spared.
        only = re.search(r"--only ([\d,]+) --trace", reduced.stdout)[1]
        again = run(*canary, "--only", only, "--trace")
        self.assertEqual(again.returncode, 1)
        self.assertIn("violation:", again.stdout)
        for number in needed:
            rest = ",".join(str(other) for other in needed if other != number)
            self.assertEqual(run(*canary, "--only", rest).returncode, 0)

    def test_each_run_about_origins_has_something_befall_them(self):
        kinds = ("writes crash at", "cannot be told", "are full with")
        for seed in range(1, 21):
            result = run("--seed", str(seed), "--origins")
            self.assertTrue(any(kind in result.stdout for kind in kinds), result.stdout)

    def test_there_is_nothing_to_reduce_in_a_run_that_holds(self):
        result = run("--seed", "1", "--shrink")
        self.assertEqual(result.returncode, 1)
        self.assertIn("nothing to reduce", result.stdout)

    def test_a_canary_that_is_not_found_is_a_failure(self):
        # One seed is too few for this one.
        result = run("--canary", "small_view_change", "--seeds", "1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("was not found in 1 seeds", result.stdout)


if __name__ == "__main__":
    unittest.main()
