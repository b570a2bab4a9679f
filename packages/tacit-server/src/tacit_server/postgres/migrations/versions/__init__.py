"""The migrations, each named by its number. One is never edited after a release."""
