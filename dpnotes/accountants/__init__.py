"""Ledgers: each reads one history of mechanisms by one theory of composition."""
