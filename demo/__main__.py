"""./run demo: four Apaches, four agents and one sketcher on this machine, step by step; or three sketchers."""

import argparse
import signal
import sys
import time

from demo import scale_out
from demo.measuring import measure, open_report
from demo.screen import Screen
from demo.steps import PAGE, STEPS, StepFailed
from harness import Deployment, HarnessError


def show_steps(screen, deployment, steps):
    """Runs the steps, which build on each other, up to the first that does not hold."""
    for number, step in enumerate(steps, 1):
        screen.title(f"{number}. {step.__doc__}")
        try:
            screen.result(True, step(deployment))
        except (StepFailed, HarnessError) as problem:
            screen.result(False, str(problem))
            return False
    return True


def stay(screen, deployment):
    screen.line()
    screen.title(f"Prophecy goes on serving at {deployment.url}/ ; Ctrl-C ends it.")
    screen.detail(f"curl -i {deployment.url}/")
    screen.detail(f"curl -T FILE {deployment.url}/name")
    screen.detail(f"the origins' folders: {deployment.folder}/origin-N/htdocs")
    while deployment.sketcher.child.running():
        counters = deployment.sketcher.counters()
        screen.live(f"answers: {counters['fast']} fast, "
                    f"{counters['replicated']} replicated;  "
                    f"divergences: {len(deployment.sketcher.divergences())}")
        time.sleep(1)
    raise HarnessError("the sketcher has ended")


def run_measure(screen, options):
    screen.title("Starting four Apaches, four replica agents and one sketcher on 127.0.0.1.")
    changes = {"sketcher": {"access_log": "access.jsonl"}}
    with Deployment(content={"/index.html": PAGE}, port=options.port, sketcher_changes=changes) as deployment:
        screen.title(f"Capturing {deployment.url}/ for {options.seconds} s, while two of four pages change.")
        report, figures = measure(screen, deployment, options.seconds)
    held = figures["urls"] == 4 and figures["transitions"] > 0
    screen.result(held, f"{figures['transitions']} transitions in {figures['pairs']} repeated requests")
    screen.title(f"The report: {report}")
    screen.detail(f"a proposed configuration: {report.parent}/proposal")
    if not options.once:
        open_report(report)
    return 0 if held else 1


def run(screen, options):
    if options.measure:
        return run_measure(screen, options)
    if options.scale_out:
        return run_scale_out(screen, options)
    screen.title("Starting four Apaches, four replica agents and one sketcher on 127.0.0.1.")
    with Deployment(content={"/index.html": PAGE}, port=options.port) as deployment:
        screen.detail(f"Prophecy at {deployment.url}/ ; all files under {deployment.folder}")
        held = show_steps(screen, deployment, STEPS)
        if held and not options.once:
            stay(screen, deployment)
    return tell_end(screen, held, STEPS)


def tell_end(screen, held, steps):
    screen.line()
    if not held:
        screen.line("A step did not hold.")
        return 1
    screen.line(f"All {len(steps)} steps held. Nothing is left running.")
    return 0


def run_scale_out(screen, options):
    screen.title("Starting ZooKeeper, four Apaches, four replica agents and three sketchers on 127.0.0.1.")
    with scale_out.make_ring() as ring:
        for name in ring.names:
            screen.detail(f"{name} at {ring.members[name].url}/")
        screen.detail(f"prophecyctl ring --admin {ring.members[ring.names[0]].admin}")
        held = show_steps(screen, ring, scale_out.STEPS)
        if held and not options.once:
            stay(screen, ring)
    return tell_end(screen, held, scale_out.STEPS)


def main():
    parser = argparse.ArgumentParser(prog="./run demo", description=__doc__)
    parser.add_argument("--once", action="store_true", help="end by itself after the last step")
    parser.add_argument("--port", type=int, help="the sketcher's port; default: a free one")
    parser.add_argument("--measure", action="store_true",
                        help="in place of the steps: measure how often the demo's pages change")
    parser.add_argument("--scale-out", action="store_true",
                        help="in place of the steps: three sketchers as one, with ZooKeeper")
    parser.add_argument("--seconds", type=int, default=60, help="with --measure: of the capture (60)")
    options = parser.parse_args()
    screen = Screen()
    # Both stop what was started on the way out. Ctrl-C has to be asked for: a shell starts its
    # background jobs deaf to it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        sys.exit(run(screen, options))
    except KeyboardInterrupt:
        screen.line("Stopped. Nothing is left running.")
        sys.exit(0 if not options.once else 130)
    except HarnessError as problem:
        screen.line(f"demo: {problem}")
        sys.exit(1)


if __name__ == "__main__":
    main()
