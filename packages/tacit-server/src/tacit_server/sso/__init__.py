"""Single sign-on: people log in at a proxy such as oauth2-proxy, and their groups at the provider decide which teams they are in.

The proxy speaks OpenID Connect with the provider, and tells the server who uses the browser. `people` reads this and decides about roles. `sign_ins` stores logins
that have begun. `identities` stores which account belongs to which person. `login` combines them. `endpoints` and `pages` are the HTTP interface for devices
and browsers. A server without such a proxy does not load this package.
"""
