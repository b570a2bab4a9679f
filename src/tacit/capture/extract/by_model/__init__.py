"""What a model of language of the user's own finds in a session, checked word by word. Off unless asked for."""
