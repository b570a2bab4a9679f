"""The moment that a rule names in its own words, and whether a call or a prompt is that moment.

`rules` reads statements, `calls` reads tool calls and prompts and compares them; `acts` and `places` are the tables that both use.
"""
