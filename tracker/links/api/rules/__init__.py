"""Rules and splits in requests and answers."""
