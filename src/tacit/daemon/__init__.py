"""The one process per user: it keeps the model and the store open and answers hooks, the API and MCP over a socket."""
