"""MCP: tools for agents that want to ask or to store on their own."""
