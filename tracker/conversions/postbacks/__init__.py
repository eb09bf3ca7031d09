"""The parameters of a conversion: as they are sent, named and read. Pure."""
