from dicent.bench.suite import signature


def test_signature_is_unchanged() -> None:
    """If the code computes something else on purpose, update the signature and say why in the commit."""
    assert signature() == "0e6f1c2207d9c447ac217213"
