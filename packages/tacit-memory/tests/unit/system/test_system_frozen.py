"""Classes of values do what the dataclasses of the standard library do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import asdict, field, fields, replace
from typing import Any, ClassVar

import pytest

from tacit.frozen import frozen


@frozen
class Named:
    """A value with a name."""

    kinds: ClassVar[int] = 2
    name: str
    tags: list[str] = field(default_factory=list)
    note: str = field(default="", compare=False, repr=False)


@frozen
class Sized(Named):
    """A named value with what follows from its size."""

    size: int = 1
    double: int = field(init=False)

    def __post_init__(self) -> None:
        """Reckon `double`."""
        object.__setattr__(self, "double", 2 * self.size)


@frozen
class Nothing:
    """A value without fields."""


@frozen
class Own:
    """A value with a text of its own."""

    name: str

    def __repr__(self) -> str:
        """Return the name alone."""
        return self.name


def test_it_is_made_by_name_with_defaults_of_its_own() -> None:
    first, second = Named(name="a"), Named(name="a")
    assert (first.name, first.tags, first.note) == ("a", [], "")
    assert first.tags is not second.tags
    sized = Sized(name="b", size=3)
    assert (sized.name, sized.double, Sized(name="b").size) == ("b", 6, 1)
    assert [one.name for one in fields(Sized)] == ["name", "tags", "note", "size", "double"]


@pytest.mark.parametrize(
    "wrong",
    [Named, lambda: Named(name="a", size=1), lambda: Named("a"), lambda: Sized(name="a", double=2)],  # pyright: ignore[reportCallIssue]
)
def test_a_wrong_call_is_refused_by_the_first_and_by_later_ones(wrong: Callable[[], object]) -> None:
    for _ in range(2):
        with pytest.raises(TypeError):
            wrong()


def test_nobody_can_change_it() -> None:
    value: Any = Sized(name="a")
    for change in (
        lambda: setattr(value, "name", "b"),
        lambda: delattr(value, "size"),
        lambda: setattr(value, "new", 1),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()
    assert not hasattr(value, "__dict__")


def test_it_is_equal_and_hashed_by_its_compared_fields_and_its_class() -> None:
    value = Named(name="a", tags=[], note="x")
    assert value == Named(name="a", note="y")
    assert value != Named(name="b")
    assert Named(name="a") != Sized(name="a")
    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(Nothing())
    nan = float("nan")
    assert Named(name=nan) == Named(name=nan)  # pyright: ignore[reportArgumentType] - the same object, as in a tuple
    with pytest.raises(TypeError):
        hash(value)  # a list cannot be hashed


def test_it_shows_its_fields_and_keeps_methods_of_its_own() -> None:
    assert repr(Sized(name="a", size=2, note="x")) == "Sized(name='a', tags=[], size=2, double=4)"
    assert repr(Own(name="A")) == "A"


def test_it_can_be_replaced_copied_pickled_and_taken_apart() -> None:
    value = Sized(name="a", size=2)
    assert replace(value, size=5).double == 10
    assert copy.deepcopy(value) == copy.copy(value) == pickle.loads(pickle.dumps(value)) == value
    assert asdict(value) == {"name": "a", "tags": [], "note": "", "size": 2, "double": 4}
