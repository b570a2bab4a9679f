"""Single sign-on: people log in with an OpenID Connect provider, and their groups there decide which teams they are in.

`rules` says who is let in, and where; `provider` asks the provider and checks its answers; `sign_ins` keeps logins that are under way; `identities` keeps which
account belongs to whom; `login` joins them; `endpoints` and `pages` are the HTTP interface for devices and browsers. Nothing here is loaded by a
server without a provider.
"""
