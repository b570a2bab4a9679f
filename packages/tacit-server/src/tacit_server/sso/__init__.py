"""Single sign-on: people log in with an OpenID Connect provider, and their groups there decide which teams they are in.

`rules` decides who may log in and with which roles. `provider` asks the provider and checks its answers. `sign_ins` stores logins that have begun.
`identities` stores which account belongs to which person. `login` combines them. `endpoints` and `pages` are the HTTP interface for devices and
browsers. A server without a provider does not load this package.
"""
