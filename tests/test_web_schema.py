"""The HTTP interface compared with its OpenAPI description: answers match, and none has status 500."""

from pathlib import Path

import hypothesis
import pytest
import schemathesis
from hypothesis import strategies
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from .serving import PATIENCE, begin, go_on, served

CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]
EXAMPLES = 15  # requests for each operation, valid and invalid


def test_answers_match_the_description(tmp_path: Path) -> None:
    with served(tmp_path, poll_seconds=0.01) as client:
        schema = schemathesis.openapi.from_url(str(client.base_url.join("/api/openapi.json")))
        known = [go_on(client, begin(client))["id"] for _ in range(3)]
        operations = [found.ok() for found in schema.get_all_operations()]
        assert len(operations) >= 22
        operations.sort(key=lambda operation: operation.method == "delete")  # deletions run last
        for operation in operations:

            @hypothesis.settings(
                max_examples=EXAMPLES,
                deadline=None,
                database=None,
                derandomize=True,
                suppress_health_check=list(hypothesis.HealthCheck),
            )
            @hypothesis.given(
                case=operation.as_strategy(), id=strategies.sampled_from([*known, "nothing", None])
            )
            def check(case: schemathesis.Case, id: str | None) -> None:
                if id is not None and "id" in (case.path_parameters or {}):
                    case.path_parameters["id"] = id
                case.validate_response(case.call(timeout=PATIENCE), checks=CHECKS)

            check()
        assert client.get("/api/info").is_success


def test_the_description_names_every_answer(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        paths = client.get("/api/openapi.json").json()["paths"]
    for path, methods in paths.items():
        for method, operation in methods.items():
            assert {"404", "409", "413", "422", "503"} <= set(operation["responses"]), (method, path)
    assert "/api/games/{id}/take-back" in paths
    with pytest.raises(KeyError):
        paths["/"]
