"""The choice of an MCP tool for everyday requests: requests, recorded answers and their score."""
