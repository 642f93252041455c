"""Which packets enter the fold, and with what plan."""
