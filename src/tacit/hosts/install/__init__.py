"""Edits of a host's own files: planned as values, shown, carried out as a whole, and undone."""

from tacit.hosts.install.detect import DetectedHost, detect, find_executable
from tacit.hosts.install.files import FileEdit, InstallPlan, apply
from tacit.hosts.install.planning import HOSTS, HostStatus, installed, plan, uninstall

__all__ = [
    "HOSTS",
    "DetectedHost",
    "FileEdit",
    "HostStatus",
    "InstallPlan",
    "apply",
    "detect",
    "find_executable",
    "installed",
    "plan",
    "uninstall",
]
