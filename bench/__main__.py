"""./run bench: measurements on this machine."""

import argparse
import signal
import sys

from bench import fast_read, lb, measure, pbft, pbft_memory, ring, soak
from bench import options as optional_parts
from bench import table as history_table
from bench.figures import Options, machine, table, write_json
from harness import HarnessError

# Each takes the Options and yields its figures.
BENCHMARKS = {"fast-read": fast_read.run, "lb": lb.run, "measure": measure.run, "options": optional_parts.run,
              "pbft": pbft.run, "pbft-memory": pbft_memory.run, "ring": ring.run, "soak": soak.run,
              "table": history_table.run}


def main():
    parser = argparse.ArgumentParser(prog="./run bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=f"of {', '.join(BENCHMARKS)}; default: all but soak")
    parser.add_argument("--quick", action="store_true",
                        help="short runs: that it works, not how fast")
    parser.add_argument("--operations", type=int, default=0, metavar="N",
                        help="so many, in pbft-memory; default: 200,000")
    parser.add_argument("--minutes", type=float, default=0, metavar="N",
                        help="so long, in soak; default: 5")
    parser.add_argument("--attack", action="store_true",
                        help="pbft: with a faulty replica of each kind, as primary and beside one")
    parser.add_argument("--liar", action="store_true",
                        help="lb: a sketcher alone, before and beside an origin that lies")
    parser.add_argument("--mixed", action="store_true",
                        help="lb: quick, slow and large pages, an origin that closes, and one that hangs or "
                             "holds some answers back; pipelined and one at a time")
    parser.add_argument("--workers", action="store_true",
                        help="lb: what a request costs a sketcher of two workers, and one of one")
    parser.add_argument("--json", metavar="FILE", help="writes all figures there as well")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"unknown benchmark: {', '.join(unknown)}")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)

    print(", ".join(f"{key} {value}" for key, value in machine().items()))
    figures = []
    try:
        for name in options.names or [name for name in BENCHMARKS if name != "soak"]:
            print(f"\n{name}", flush=True)
            found = BENCHMARKS[name](Options(options.quick, options.operations, options.minutes,
                                             options.attack, options.liar, options.mixed, options.workers))
            print(table(found), flush=True)
            for figure in found:
                figure.name = f"{name}: {figure.name}"
            figures += found
    except (HarnessError, KeyboardInterrupt) as problem:
        sys.exit(f"bench: {problem or 'stopped'}")
    if options.json:
        write_json(options.json, figures)


if __name__ == "__main__":
    main()
