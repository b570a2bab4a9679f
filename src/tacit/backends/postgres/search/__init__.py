"""What finds memories: rankings by words and code, by vectors, by entities and triggers, and the search for typed words."""
