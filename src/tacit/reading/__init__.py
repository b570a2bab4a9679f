"""What a text means: situations, triggers, entities, error signatures, sentences, languages. Pure and fast."""
