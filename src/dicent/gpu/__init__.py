"""Networks on a GPU: the device, CUDA graphs, batches, the compiled network, the learning step."""
