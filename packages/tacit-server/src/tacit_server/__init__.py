"""The server that connects the devices of people, and teams. It cannot read the encrypted logs of devices; it can read what teams share."""
