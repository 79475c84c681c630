"""Many machines: connect to a Ray cluster or start one here. Nothing else imports Ray."""
