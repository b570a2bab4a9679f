"""Sessions written up by a language model of the user's own: what is asked, what is believed, what it costs. Off unless asked for."""
