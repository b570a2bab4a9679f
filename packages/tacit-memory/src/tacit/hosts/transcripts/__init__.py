"""Native transcripts of the hosts, read into turns."""
