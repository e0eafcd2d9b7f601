"""What goes over the wire, typed: requests, answers and limits."""

from __future__ import annotations

from typing import Any

import msgspec

Id = str | int
Value = str | int | float | bool | None


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much one request may ask for."""

    max_bytes: int = 10_000_000
    max_nodes: int = 10_000
    max_edges: int = 100_000


class PredictRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Nodes with the edges between them.

    A node has either the columns of the training table, or ``x``: one row of numbers per node, where the model was
    trained on numbers.
    """

    ids: list[Id] | None = None  # default: the nodes' positions, from 0
    columns: dict[str, list[Value]] | None = None
    x: list[list[float]] | None = None
    edges: list[tuple[Id, Id]] = []


class NodePrediction(msgspec.Struct):
    """The most probable class of a node, and the probabilities of all classes."""

    id: Id
    predicted: str
    confidence: float
    probabilities: dict[str, float]


class PredictResponse(msgspec.Struct):
    predictions: list[NodePrediction]
    notes: list[str]  # what was changed, or is likely to disappoint


class Health(msgspec.Struct):
    status: str


class Version(msgspec.Struct):
    pignn: str
    method: str
    classes: list[str]
    columns: list[str] | None  # that a request must have; None where it has numbers in x
    num_features: int
    limits: Limits


class Problem(msgspec.Struct):
    """Why a request was refused."""

    error: str


def build_openapi_description(version: str) -> dict[str, Any]:
    """The OpenAPI description of the service."""
    kinds = [PredictRequest, PredictResponse, Health, Version, Problem]
    references, schemas = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    request, *answers, problem = ({"application/json": {"schema": reference}} for reference in references)
    refusal = {"description": "refused, with the reason", "content": problem}

    def describe(summary: str, answer: dict[str, Any]) -> dict[str, Any]:
        return {"summary": summary, "responses": {"200": {"description": "done", "content": answer}, "4XX": refusal}}

    predict = describe("Predict the classes of nodes with their edges", answers[0])
    return {
        "openapi": "3.1.0",
        "info": {"title": "pignn", "version": version},
        "paths": {
            "/predict": {"post": predict | {"requestBody": {"required": True, "content": request}}},
            "/health": {"get": describe("Whether the service answers", answers[1])},
            "/version": {"get": describe("The model, the columns it needs, and the limits", answers[2])},
        },
        "components": {"schemas": schemas},
    }
