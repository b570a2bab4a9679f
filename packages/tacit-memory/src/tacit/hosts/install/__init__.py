"""Edits of a host's own files: planned as values, shown, carried out as a whole, and undone."""

from tacit.hosts.install.detect import DetectedHost, detect, find_executable
from tacit.hosts.install.files import FileEdit, InstallPlan, apply
from tacit.hosts.install.mcp_clients import CLIENTS, clients, found_clients
from tacit.hosts.install.permissions import TOOLS, Ruling, asking_hosts, rulings
from tacit.hosts.install.planning import HostStatus, installed, installed_for, plan, uninstall
from tacit.hosts.install.switches import switched_off
from tacit.hosts.install.target import INSTALL_VERSION, STAMP, describe_age, version_in

__all__ = [
    "CLIENTS",
    "INSTALL_VERSION",
    "STAMP",
    "TOOLS",
    "DetectedHost",
    "FileEdit",
    "HostStatus",
    "InstallPlan",
    "Ruling",
    "apply",
    "asking_hosts",
    "clients",
    "describe_age",
    "detect",
    "find_executable",
    "found_clients",
    "installed",
    "installed_for",
    "plan",
    "rulings",
    "switched_off",
    "uninstall",
    "version_in",
]
