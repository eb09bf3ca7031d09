"""UTM templates: named sets of UTM values, for the form of a link."""
