//! Ready-made questions to the graph.
