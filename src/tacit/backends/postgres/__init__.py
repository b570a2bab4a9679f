"""The PostgreSQL of the server, which many tenants share: connections, transactions, and the memories that teams share.

`create_roles` and `migrate` set a database up. A server opens one `Connections`, and creates a `Database` or `TeamMemories` from it for each tenant. No other
module of Tacit imports this package unless the server is used.
"""
