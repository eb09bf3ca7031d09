"""What a custom domain answers beside its links: texts for apps, and paths that no link has."""
