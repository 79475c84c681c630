"""Networks on a GPU: batches, CUDA graphs, the compiled network, the learning step."""
