"""The database of the server, one PostgreSQL for all tenants: connections, transactions, and the memories of teams.

`create_roles` and `migrate` set a database up. A server opens one `Connections`, and creates a `Database` or `TeamMemories` from it for each tenant. No other
module of Tacit imports this package unless the server is used.
"""
