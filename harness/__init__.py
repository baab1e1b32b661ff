"""Whole Prophecy deployments on this machine: real Apaches, replica agents and a sketcher.

The demo, the benchmarks and the end-to-end tests are written on top of this package. Nothing
here uses a fixed port, starts a system service or outlives the process that asked for it.
"""

from harness.apache import Apache, ApacheCluster
from harness.deployment import Deployment
from harness.processes import HarnessError

__all__ = ["Apache", "ApacheCluster", "Deployment", "HarnessError"]
