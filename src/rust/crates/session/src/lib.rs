//! Session table behind R handles: contexts, tensors, graphs.
