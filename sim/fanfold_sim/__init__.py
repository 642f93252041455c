"""The host side of Fanfold, simulated: nodes, cores, links, and the NIC behind one interface with three makers."""
