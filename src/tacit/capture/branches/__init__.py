"""What is learned on a branch that is not merged: what became of the branch, and the changes that follow from it."""
