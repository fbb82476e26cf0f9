"""Finished runs do not stay for ever: for so many days, within so much space, and what was synchronised goes first."""
