"""The read path: signal -> query -> retrieve -> fuse -> score -> guard -> dedupe -> budget -> render -> deliver.

Stage modules know nothing of one another; `pipeline.py` alone knows their order. From fuse to render they are pure.
"""
