"""One memory on several devices: change logs, their encryption, and what a device makes of the logs of others."""
