"""Several sketchers in a ring over one group of Apaches and agents: with a configured list of members, or
with ZooKeeper."""

from harness.certificates import Authority
from harness.deployment import Deployment
from harness.ports import PortReservation
from harness.processes import HarnessError, wait_until
from harness.programs import run_program
from harness.replicas import ctl, ctl_json
from harness.sketcher import Sketcher
from harness.toml_writer import merged
from harness.zookeeper import ZooKeeper


def make_ring_keys(folder, names):
    result = run_program("prophecyctl", "keygen", "--directory", folder, "--ring-members",
                         ",".join(names))
    if result.returncode != 0:
        raise HarnessError(f"prophecyctl keygen failed: {result.stderr.strip()}")


class RingDeployment(Deployment):
    """Options beside a Deployment's:

    members           {name: changes over that sketcher's configuration}; the first is `sketcher`
    roles             {name: role}, of those that have not both
    workers           of each member
    """

    def __init__(self, members=("a", "b"), roles=None, workers=1, start=True, sketcher_changes=None,
                 **options):
        self.names = list(members)
        self.roles = roles or {}
        self.workers = workers
        self.has_agents = options.get("agents", True)
        own_changes = dict(members) if isinstance(members, dict) else {}
        super().__init__(start=start, clients=len(self.names), sketcher_changes=sketcher_changes,
                         **options)
        try:
            count = len(self.names)
            self.ring_ports = PortReservation(count * (workers + 2))
            self.member_ports = {name: self.ring_ports.ports[place * workers:(place + 1) * workers]
                                 for place, name in enumerate(self.names)}
            client_ports = self.ring_ports.ports[count * workers:count * (workers + 1)]
            self.hand_over_ports = dict(zip(self.names, self.ring_ports.ports[count * (workers + 1):], strict=True))
            make_ring_keys(self.folder, self.names)
            self.members = {}
            for place, name in enumerate(self.names):
                folder = self.folder / f"member-{name}"
                folder.mkdir()
                member = Sketcher(folder, client_ports[place],
                                  [origin.port for origin in self.origins],
                                  sketcher_changes)
                self._join(member, name, place, own_changes.get(name) or {})
                self.members[name] = member
            self.sketcher = self.members[self.names[0]]
        except BaseException:
            self.close()
            raise

    def _join(self, member, name, place, changes):
        group = {} if not self.has_agents else {
            "group": {"file": str(self.folder / "group.toml"), "client_id": 1024 + place,
                      "key_file": str(self.folder / f"client-{1024 + place}.key")}}
        member.settings = merged(merged(member.settings, {
            "sketcher": {"workers": self.workers},
            **group,
            "sketch": {"key_file": str(self.folder / "sketch.key")},
            "ring": self.ring_settings(name),
        }), changes)
        if self.roles.get(name) == "response":
            member.settings.pop("listener", None)
        member.write_configuration()

    def ring_settings(self, name):
        return {
            "name": name,
            "tls": {"ca": str(self.folder / "ring-ca.pem"),
                    "certificate": str(self.folder / f"ring-{name}.pem"),
                    "key": str(self.folder / f"ring-{name}.key")},
            "member": [{"name": each,
                        "addresses": [f"127.0.0.1:{port}" for port in self.member_ports[each]],
                        "role": self.roles.get(each, "both")} for each in self.names],
        }

    def start(self):
        self.origins.start()
        self.agents.start()
        for member in self.members.values():
            member.start()

    def forwarded(self, name):
        """Counts of requests that this member has forwarded, by member and end."""
        return {each["name"]: each["forwarded"] for each in self.members[name].status()["ring"]["members"]}

    def problems(self):
        found = super().problems()
        for name, member in self.members.items():
            if member is not self.sketcher and member.child and not member.child.running():
                found.append(f"member {name} ended with status {member.child.wait(0)}:\n"
                             f"{member.child.log()[-4000:]}")
        return found

    def logs(self):
        return super().logs() + "".join(
            f"\n--- {path}\n{path.read_text(errors='replace')[-4000:]}"
            for path in sorted(self.folder.glob("member-*/*.log")))

    def _stop_programs(self):
        for member in getattr(self, "members", {}).values():
            member.stop()
        super()._stop_programs()

    def close(self):
        super().close()
        if hasattr(self, "ring_ports"):
            self.ring_ports.close()


class LivingRing(RingDeployment):
    """Members find each other in ZooKeeper. Options beside a RingDeployment's:

    present           names of the members that start at once; default: all
    lease             of the ring
    ring_changes      over [ring] of all members
    secure            members and ZooKeeper speak TLS, with certificates on both sides
    """

    def __init__(self, members=("a", "b", "c"), present=None, lease="1s", ring_changes=None, secure=False,
                 **options):
        self.zookeeper = None
        self.is_secure = secure
        self.zookeeper_authority = None
        self.lease = lease
        self.ring_changes = ring_changes or {}
        self.present = list(members if present is None else present)
        super().__init__(members=members, **options)

    def ring_settings(self, name):
        if self.zookeeper is None:
            if self.is_secure:
                self.zookeeper_authority = Authority(self.folder / "zookeeper-ca")
            self.zookeeper = ZooKeeper(self.folder / "zookeeper", tls=self.zookeeper_authority)
        settings = super().ring_settings(name)
        settings.pop("member")
        if self.is_secure:
            settings["zookeeper_tls"] = self.zookeeper_tls(name)
        return merged({
            "name": name, "lease": self.lease,
            "zookeeper": [self.zookeeper.secure_address if self.is_secure else self.zookeeper.address],
            "addresses": [f"127.0.0.1:{port}" for port in self.member_ports[name]],
            "hand_over": f"127.0.0.1:{self.hand_over_ports[name]}",
            "role": self.roles.get(name, "both"), **settings}, self.ring_changes)

    def zookeeper_tls(self, name):
        own = self.zookeeper_authority.issue(f"zookeeper-{name}")
        return {"ca": str(self.zookeeper_authority.certificate), "server_name": "zookeeper.test",
                "certificate": own["chain"], "key": own["key"]}

    def start(self):
        self.zookeeper.start()
        self.origins.start()
        self.agents.start()
        for name in self.present:
            self.members[name].start()
        if self.present:
            self.wait_settled(self.present)

    def ring(self, name):
        """What prophecyctl ring has of this member."""
        return ctl_json("ring", "--admin", self.members[name].admin, "--json")

    def _is_settled(self, names, owners):
        for name in names:
            try:
                ring = self.ring(name)
            except HarnessError:
                return False
            moving = ring["moving"]
            if (sorted(each["name"] for each in ring["members"] if each["weight"] > 0) != owners
                    or ring["adopted_view"] != ring["view"] or ring["lease_ms_left"] == 0
                    or any(moving[key] for key in ("waiting_for_clearing", "waiting_for_former_owners",
                                                   "waiting_for_group", "being_received"))):
                return False
        return len({self.ring(name)["view"] for name in names}) == 1

    def wait_settled(self, names, owners=None, timeout_s=60):
        """Until these members agree on who owns partitions (by default they do), and each has its own."""
        owners = sorted(names if owners is None else owners)
        wait_until(lambda: self._is_settled(names, owners), timeout_s,
                   f"a ring of {owners}", interval_s=0.1)

    def drain(self, name):
        ctl("ring", "drain", "--admin", self.members[name].admin)

    def drain_at_once(self, name):
        """Does not wait until it is done."""
        ctl("ring", "drain", "--wait", "0", "--admin", self.members[name].admin)

    def rejoin(self, name):
        ctl("ring", "join", "--admin", self.members[name].admin)

    def _stop_programs(self):
        # One after the other would have each wait for the next ones to take over.
        for member in getattr(self, "members", {}).values():
            if member.child:
                member.child.thaw()
                member.child.kill()
        super()._stop_programs()
        if self.zookeeper:
            self.zookeeper.close()

    def problems(self):
        gone = [name for name in self.names if self.members[name].child is None]
        return [] if gone == self.names else super().problems()
