"""What Tacit does when it is asked: one module for each group of verbs, with requests, answers and functions. The API, MCP, the library and the command line ask these."""
