"""The lists of an account's links: filters, orders, pages and exports."""
