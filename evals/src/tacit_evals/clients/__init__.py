"""Many MCP clients at one daemon; see `measure`."""
