"""The background process, one per home. It keeps the model and the store open, and answers hooks, the API and MCP over a socket."""
