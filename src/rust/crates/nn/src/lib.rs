//! Keras-style models: layers, losses, optimisers, training programs.
