"""Analysis of texts: situations, triggers, entities, error signatures, sentences, languages. Pure and fast."""
