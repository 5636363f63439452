//! Analyses over control-flow graphs: orders, dominators, loops, liveness.
