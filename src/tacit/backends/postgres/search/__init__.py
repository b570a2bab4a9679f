"""The searches of the PostgreSQL store: rankings by words, code, vectors, entities and triggers, and the search for typed words."""
