"""Hosts: parse a payload into a signal, encode a block into a reply, declare capabilities. Adapters decide nothing."""
