"""The web page as the daemon serves it: its files, and how a browser is let in. Holds no logic of the page itself."""
