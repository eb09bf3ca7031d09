"""What an account is told of its clicks and conversions: counted once, read for ever."""
