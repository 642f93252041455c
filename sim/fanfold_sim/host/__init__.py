"""The host side: nodes with core groups, leaders and members, in front of NICs that are joined to a tree."""
