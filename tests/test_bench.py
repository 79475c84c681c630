from dicent.bench.suite import signature


def test_the_signature_of_what_playouts_perft_and_searches_compute() -> None:
    """It changes only when the code computes something else; then say in the commit why."""
    assert signature() == "0e6f1c2207d9c447ac217213"
