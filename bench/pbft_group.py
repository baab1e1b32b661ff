"""Replicas with a service that does nothing, for measurements of agreement alone."""

from bench.cost import resident_memory_bytes
from harness.folders import make_folder, remove_folder
from harness.ports import PortReservation
from harness.replicas import ReplicaGroup

FAULTS = 1


class Group:
    """Four replicas without origins. `prepare` gets each Agent before it starts."""

    def __init__(self, storage, size, prepare=lambda agent: None):
        self.folder = make_folder()
        count = 3 * FAULTS + 1
        self._ports = PortReservation(count)
        try:
            changes = {"service": {"kind": "null", "answer_bytes": f"{size}B", "origin": None},
                       "log": {"level": "warning"}, **storage}
            self.replicas = ReplicaGroup(self.folder, FAULTS, self._ports.ports,
                                         self._ports.ports, changes)
            for agent in self.replicas:
                prepare(agent)
            self.replicas.start()
        except BaseException:
            self.close()
            raise

    @property
    def pids(self):
        return [replica.child.pid for replica in self.replicas]

    def resident_bytes(self):
        """Of the largest."""
        return max(self.each_resident_bytes())

    def each_resident_bytes(self):
        return list(map(resident_memory_bytes, self.pids))

    def close(self):
        if hasattr(self, "replicas"):
            self.replicas.stop()
        self._ports.close()
        remove_folder(self.folder)
