"""The types of the command line for the answers that it reads, made from the OpenAPI document, as the page's types in TypeScript are.

In: the document. Out: `packages/tacit-memory/src/tacit/cli/answer_types.py` as text; `python -m tacit.api.answer_types` prints it. Loaded by no command.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import Any

from tacit.api.openapi import openapi_document

READ = ("EngineStatus", "Holdout", "Replayed", "Series", "StoreUse", "TraceView")
"""Answers that commands read field by field; what these refer to follows."""
_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_HEAD = '''"""The API's answers that several commands show. Types alone.

Made from the OpenAPI document by `python -m tacit.api.answer_types`; do not edit by hand.
"""

from __future__ import annotations

from typing import Literal, TypedDict
'''


def answer_types() -> str:
    """The text of the module."""
    schemas: dict[str, Any] = openapi_document()["components"]["schemas"]
    needed: list[str] = []
    waiting = list(READ)
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.append(name)
            waiting += _references(schemas[name])
    ordered = sorted(needed, key=lambda name: (name not in _enums(schemas), name))
    return "\n".join([_HEAD, "\n\n".join(_definition(name, schemas[name]) for name in ordered)])


def _enums(schemas: Mapping[str, Any]) -> set[str]:
    """Names that have to stand before the classes, since they are values and not annotations."""
    return {name for name, schema in schemas.items() if "properties" not in schema}


def _references(schema: Mapping[str, Any]) -> list[str]:
    return re.findall(r"#/components/schemas/(\w+)", json.dumps(schema))


def _definition(name: str, schema: Mapping[str, Any]) -> str:
    if "properties" not in schema:
        return f"{name} = {_type(schema)}\n"
    about = str(schema.get("description", f"See `{name}` in docs/reference/openapi.json.")).partition("\n")[0]
    fields = "".join(
        f"    {field}: {_type(field_schema)}\n" for field, field_schema in schema["properties"].items()
    )
    return f'class {name}(TypedDict):\n    """{about}"""\n\n{fields}'


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(option) for option in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return f"Literal[{', '.join(map(repr, schema.get('enum') or (schema['const'],)))}]"
    match schema.get("type"):
        case "array" if "prefixItems" in schema:
            return f"tuple[{', '.join(map(_type, schema['prefixItems']))}]"
        case "array":
            return f"list[{_type(schema['items'])}]"
        case "object":
            return f"dict[str, {_type(schema['additionalProperties'])}]"
        case str(plain):
            return _PLAIN[plain]
        case _:
            raise ValueError(f"No type of Python stands for {schema}.")


if __name__ == "__main__":
    sys.stdout.write(answer_types())
