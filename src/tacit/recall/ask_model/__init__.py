"""What a language model is asked at recall: the list of memories, the request, and its answer."""
