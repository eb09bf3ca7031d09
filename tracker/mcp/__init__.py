"""Tools for language models: some endpoints of the API, by the Model Context Protocol."""
