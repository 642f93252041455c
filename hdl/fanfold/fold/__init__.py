"""The fold: lanes of arithmetic in a tree of stages."""
