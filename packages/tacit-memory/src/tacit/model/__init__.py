"""The words: frozen values of the standard library only. See docs/glossary.md."""
