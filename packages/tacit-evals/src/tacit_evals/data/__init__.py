"""Adapters: folders of evaluation data in, frozen values out. A folder is known by its files; nothing here is ever written."""
