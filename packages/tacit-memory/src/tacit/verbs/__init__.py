"""What a caller can ask of the memory, a module for each: who may ask, the answer, and the function that the command line, HTTP and MCP call."""
