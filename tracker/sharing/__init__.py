"""Reports that are kept: views for the account itself, shares for whoever has their link."""
