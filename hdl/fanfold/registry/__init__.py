"""Who may contribute, and who has."""
