"""The fitted halves of reading: situations, triggers and how they match. Weights ship as data; nothing is fitted here."""
