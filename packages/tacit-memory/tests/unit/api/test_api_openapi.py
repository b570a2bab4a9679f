"""The OpenAPI document is one that client generators take without leaving anything out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

OPERATIONS = """
    add_team begin_job change_agent change_devices change_settings change_team create_backup
    decide_reviews decide_share_request delete_item edit_memory export_memories fetch_memories forget_memory
    get_memory get_openapi get_repository_team get_session
    get_settings get_stats get_status get_sync get_trace import_memories import_project_rules
    import_transcripts inject list_agents list_audit list_backups list_changes list_digests
    list_exposures list_jobs list_kinds list_members list_memories list_projects list_review
    list_sessions list_share_requests list_teams list_traces list_transcripts log_in log_out
    mute_session purge_memories put_folder_project put_item put_member put_repository_team
    rate_memory recall remember report_event report_library_event rescan restore_backup
    search_items share_memory sign_in stream_traces sync try_model tune undo_change why_not write_up_session
"""
"""The ids by which generated clients call the API: a name that goes away or changes breaks them, see docs/reference/api-conventions.md."""


def operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for methods in document["paths"].values():
        yield from methods.values()


def test_no_two_schemas_have_one_title(document):
    titles = Counter(schema.get("title", name) for name, schema in document["components"]["schemas"].items())
    assert [title for title, count in titles.items() if count > 1] == []


def test_no_schema_is_split_into_what_goes_in_and_what_comes_out(document):
    """A request and an answer of one name get the endings -Input and -Output, and generators drop one of them."""
    assert [name for name in document["components"]["schemas"] if not name.isidentifier()] == []


def test_class_names_differ_in_more_than_their_case(document):
    names = Counter(name.lower().replace("_", "") for name in document["components"]["schemas"])
    assert [name for name, count in names.items() if count > 1] == []


def test_operations_keep_their_ids(document):
    assert sorted(one["operationId"] for one in operations(document)) == OPERATIONS.split()


def test_every_operation_is_described_with_an_example_and_its_refusals(document):
    for one in operations(document):
        name = one["operationId"]
        assert 15 < len(one["summary"]) < 160, name
        assert len(one["description"]) > 30, name
        assert one["summary"] not in one["description"], name
        statuses = set(one["responses"])
        assert statuses >= {"401", "403", "421", "500", "503"}, name
        assert statuses.isdisjoint({"default", "4XX", "5XX"}), name
        shown = [
            content["example"]
            for response in one["responses"].values()
            for content in response.get("content", {}).values()
            if "example" in content
        ]
        assert shown or "204" in statuses, name
        body = one.get("requestBody")
        if body is not None:
            schema = body["content"]["application/json"]["schema"]
            named = document["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], schema)
            assert named["examples"], name


def test_every_refusal_is_a_problem_or_has_no_body(document):
    for one in operations(document):
        for status, response in one["responses"].items():
            named = document["components"]["responses"].get(
                response.get("$ref", "").rpartition("/")[2], response
            )
            assert len(named["description"]) > 3
            media_types = [*named.get("content", {})]
            if status.startswith(("4", "5")) and (one["operationId"], status) != ("inject", "408"):
                assert media_types in ([], ["application/problem+json"]) or status == "500", one[
                    "operationId"
                ]


def test_every_reference_leads_somewhere(document):
    known = document["components"]

    def references(part: object) -> Iterator[str]:
        if isinstance(part, dict):
            if isinstance(part.get("$ref"), str):
                yield part["$ref"]
            for value in part.values():
                yield from references(value)
        elif isinstance(part, list):
            for value in part:
                yield from references(value)

    for reference in references(document):
        _, _, kind, name = reference.split("/")
        assert name in known[kind], reference


def test_every_answer_of_success_has_a_shape_or_no_content(document):
    for one in operations(document):
        for status, answer in one["responses"].items():
            if not status.startswith("2") or status == "204":
                continue
            assert answer["content"], one["operationId"]
            for described in answer["content"].values():
                assert described.get("schema"), one["operationId"]
