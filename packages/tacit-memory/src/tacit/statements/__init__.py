"""How two statements relate: the same, one ends the other, or near. Used wherever two statements meet."""
