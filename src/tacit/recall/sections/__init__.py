"""Parts of a block besides one list of memories: categories with budgets, codes of digests, hints of time. Pure."""
