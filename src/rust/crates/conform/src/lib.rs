//! Runs the case table of the operators on any device against the f64 definition.
