"""What a caller can ask of the memory, one module each: the request, the answer, who may, and the function. The doors are made from it."""
