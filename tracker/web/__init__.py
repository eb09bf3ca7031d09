"""The frame of endpoints: what is checked before each, and how it answers. Knows no subject."""
