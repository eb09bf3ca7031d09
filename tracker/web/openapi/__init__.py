"""The OpenAPI document of the endpoint table."""
