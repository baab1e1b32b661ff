"""Faults of the machines below an application, one after the other: at one replica at a time, except a
disk that fills for all."""

import random
import time

from harness.build import patience
from harness.processes import HarnessError, wait_until


class BoardFaults:
    """To be run by the main thread, which the programs that it starts are tied to."""

    def __init__(self, deployment, clients, seed, pause_s=2.0):
        self.deployment = deployment
        self.clients = clients
        self.pause_s = pause_s
        self.draw = random.Random(f"faults {seed}")
        self.done = []

    def all(self):
        kinds = [self.origin_killed, self.agent_killed, self.both_killed, self.origin_hangs,
                 self.files_lost, self.disk_full, self.all_disks_full]
        return [fault for fault in kinds
                if "disk" not in fault.__name__ or self.deployment.origins[0].disk.mounted]

    def run(self, seconds):
        """Each fault in turn, at one replica after the other, until the time is over."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for fault in self.all():
                if time.monotonic() >= deadline:
                    break
                self.inject(fault, self.draw.randrange(self.deployment.count))

    def inject(self, fault, number):
        before = time.monotonic()
        self.done.append(f"{fault.__name__} {number}")
        fault(number)
        self.wait_for_member(number)
        self.wait_for_equal_states()
        print(f"{self.done[-1]}: {time.monotonic() - before:.1f} s", flush=True)
        time.sleep(self.pause_s)

    def parts(self, number):
        return self.deployment.origins[number], self.deployment.agents[number]

    def wait_for_member(self, number):
        """It has what the others have, and its state counts."""
        agent = self.deployment.agents[number]

        def is_member():
            status = agent.status()
            return (status["progress"]["lag"] <= 8 and not status["recovery"]["rejoining"]
                    and status["recovery"]["state"] == "none")

        try:
            wait_until(is_member, 120, f"replica {number} to be a member", interval_s=0.2)
        except HarnessError as error:
            raise HarnessError(f"{error} after {self.done}:\n{self.differences()}") from None

    def wait_for_equal_states(self):
        """Nobody writes meanwhile. A checkpoint shows differences, and needs writes."""
        deadline = time.monotonic() + 120 * patience()
        while True:
            with self.clients.gate.closed():
                if self.settled() and len({origin.state() for origin in self.deployment.origins}) == 1:
                    break
            self.clients.resume_counting()
            if time.monotonic() > deadline:
                raise HarnessError(f"the origins differ after {self.done}: {self.differences()}")
            time.sleep(0.5)
        self.clients.resume_counting()

    def settled(self):
        try:
            self.settle(5)
        except HarnessError:
            return False
        return True

    def differences(self):
        """Lines of one origin's state that are not in all others'."""
        lines = [set(origin.state().splitlines()) for origin in self.deployment.origins]
        common = set.intersection(*lines)
        agents = [agent.status() for agent in self.deployment.agents]
        return "\n".join(
            [f"{number}: {line[:200]}" for number, own in enumerate(lines) for line in sorted(own - common)[:20]]
            + [f"{status['state']} {status['view']} {status['progress']} {status['recovery']} {status['core']}"
               for status in agents]
            + [f"{self.clients.writes} writes, {self.clients.statuses}"])

    def origin_killed(self, number):
        origin, _ = self.parts(number)
        origin.kill()
        time.sleep(self.draw.uniform(0, self.pause_s))
        origin.start()

    def agent_killed(self, number):
        _, agent = self.parts(number)
        agent.kill()
        time.sleep(self.draw.uniform(0, self.pause_s))
        agent.start()

    def both_killed(self, number):
        origin, agent = self.parts(number)
        origin.kill()
        agent.kill()
        time.sleep(self.draw.uniform(0, self.pause_s))
        origin.start()
        agent.start()

    def origin_hangs(self, number):
        origin, _ = self.parts(number)
        origin.pause()
        time.sleep(self.draw.uniform(0, self.pause_s))
        origin.resume()

    def files_lost(self, number):
        origin, agent = self.parts(number)
        restored = agent.status()["core"]["states_restored"]
        origin.kill()
        origin.wipe()
        origin.start()
        wait_until(lambda: agent.status()["core"]["states_restored"] > restored, 60,
                   f"replica {number} to restore its origin's files")

    def disk_full(self, number):
        origin, _ = self.parts(number)
        origin.disk.fill()
        time.sleep(self.pause_s)
        origin.disk.clear()

    def all_disks_full(self, _number):
        """Between two writes: else some have done the last one, and some have not."""
        with self.clients.gate.closed():
            self.settle()
            for origin in self.deployment.origins:
                origin.disk.fill()
        time.sleep(self.pause_s)
        with self.clients.gate.closed():
            self.settle()
            for origin in self.deployment.origins:
                origin.disk.clear()
        self.clients.resume_counting()

    def settle(self, timeout_s=30):
        """A quorum has answered the last write; the slowest replica carries it out, too."""
        def ordered():
            return {agent.status()["progress"]["last_executed"] for agent in self.deployment.agents}

        wait_until(lambda: len(ordered()) == 1, timeout_s, "all replicas to execute the last write")
