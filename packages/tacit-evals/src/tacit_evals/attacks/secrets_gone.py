"""Secrets on every way into the product, searched for in every byte that it keeps; and sentences that must stay as they are.

In: a lab. Out: an outcome for each secret, and for each innocent sentence. A secret is gone when no eight characters of it in a row
stand in any file of the home and no surface tells them.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.config.settings import PrivacySettings
from tacit.safety.redact import Redactor
from tacit_evals.attacks.outcome import Area, Lab, Outcome, spread
from tacit_evals.attacks.product import Product, write_transcript
from tacit_evals.attacks.secret_values import FORMS, INNOCENT, Secrets

WINDOW = 8
WAYS = ("prompt", "transcript", "remember", "rule file", "spool")
"""How a secret comes in: `spool` = the last message of a session that ends while no daemon runs."""
SENTENCES = (
    "Remember that {piece}",
    "Always use this on {env}: {piece}",
    "From now on {piece}",
    "Please remember: {piece}",
    "{piece} - remember that",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    form: str
    way: str
    name: str
    text: str
    secrets: tuple[str, ...]


def _cases(lab: Lab) -> list[_Case]:
    cases: list[_Case] = []
    names = list(FORMS)
    for number, form in enumerate(spread(names, lab.cases)):
        words = Secrets(lab.chance)
        pieces = FORMS[form][1]
        marked = words(pieces[(number // len(names)) % len(pieces)])
        text = words(lab.chance.choice(SENTENCES).replace("{piece}", marked))
        secrets = tuple(piece.partition("\u00bb")[0] for piece in marked.split("\u00ab")[1:])
        plain = text.replace("\u00ab", "").replace("\u00bb", "")
        cases.append(
            _Case(
                form=form,
                way=WAYS[(number + number // len(names)) % len(WAYS)],
                name=f"s{number}",
                text=plain,
                secrets=secrets,
            )
        )
    return cases


def _windows(secret: str) -> list[str]:
    if " " in secret:  # words: four in a row
        words = secret.split()
        return [" ".join(words[at : at + 4]) for at in range(len(words) - 3)]
    return [
        line[at : at + WINDOW] for line in secret.splitlines() for at in range(max(1, len(line) - WINDOW + 1))
    ]


def _held(home: Path) -> Iterator[tuple[str, bytes]]:
    for place, _, names in os.walk(home):
        for name in names:
            path = Path(place, name)
            if path.is_file() and not path.is_symlink():
                yield str(path.relative_to(home)), path.read_bytes()


def attack(lab: Lab) -> list[Outcome]:
    """Bring every secret in by its way, then search the home."""
    product = Product(lab.root, lab.python)
    cases = _cases(lab)
    of_way: Mapping[str, list[_Case]] = {way: [case for case in cases if case.way == way] for way in WAYS}
    shown: list[str] = []
    with product.running():
        for number, case in enumerate(of_way["prompt"]):
            product.hook(
                "UserPromptSubmit",
                session=case.name,
                cwd=product.folder(case.name),
                prompt=case.text,
                by_process=number < 10,
            )
        for case in of_way["remember"]:
            product.post("/v1/remember", {"content": case.text, "cwd": str(product.folder(case.name))})
        for case in of_way["transcript"]:
            _end_session(product, case)
        for at in range(0, len(of_way["rule file"]), 10):
            folder = product.folder(f"rules{at}")
            lines = [f"- {case.text}\n" for case in of_way["rule file"][at : at + 10]]
            (folder / "CLAUDE.md").write_text("# Rules\n\n" + "".join(lines), "utf-8")
            product.post("/v1/projects/init", {"cwd": str(folder)})
            shown.append(product.start_block(folder, session=f"rules{at}"))
        product.settle()
        shown += [str(product.memories())]
    _spool(product, of_way["spool"])
    places = [*_held(product.home), ("surfaces", "\n".join(shown).encode())]
    return [_searched(case, places) for case in cases]


def _end_session(product: Product, case: _Case) -> None:
    cwd = product.folder(case.name)
    path = product.root / f"{case.name}.jsonl"
    user = {"type": "user", "message": {"role": "user", "content": case.text}}
    content = [{"type": "text", "text": f"Understood: {case.text}"}]
    answer = {"type": "assistant", "message": {"role": "assistant", "content": content}}
    output = {
        "type": "user",
        "message": {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": case.text}],
        },
    }
    write_transcript(path, case.name, cwd, [user, answer, output])
    fields = {"transcript_path": str(path)}
    product.hook("Stop", session=case.name, cwd=cwd, last_assistant_message=f"Done: {case.text}", **fields)
    product.hook("SessionEnd", session=case.name, cwd=cwd, reason="other", **fields)


def _spool(product: Product, cases: Sequence[_Case]) -> None:
    """Sessions that end while no daemon runs; holding the lock of starting keeps the hook from starting one."""
    with (product.home / "run" / "start.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        product.environment["TACIT_HOOK_DEADLINE_MS"] = "60"
        for case in cases:
            path = product.root / f"{case.name}.jsonl"
            content = [{"type": "text", "text": case.text}]
            write_transcript(
                path,
                case.name,
                product.folder(case.name),
                [{"type": "assistant", "message": {"role": "assistant", "content": content}}],
            )
            product.hook(
                "Stop",
                session=case.name,
                cwd=product.folder(case.name),
                by_process=True,
                last_assistant_message=case.text,
                transcript_path=str(path),
            )


def _searched(case: _Case, places: Sequence[tuple[str, bytes]]) -> Outcome:
    leaks = [
        (name, window)
        for secret in case.secrets
        for window in _windows(secret)
        for name, data in places
        if window.encode() in data
    ]
    names = sorted({name for name, _ in leaks})
    came = f"{leaks[0][1]!r} stands in {', '.join(names)}" if leaks else ""
    return Outcome(form=case.form, tried=f"by {case.way}: {case.text}", survived=not leaks, came_out=came)


def leave_alone(lab: Lab) -> list[Outcome]:
    """Sentences without a secret."""
    redactor = Redactor(PrivacySettings())
    outcomes: list[Outcome] = []
    for number, form in enumerate(spread(list(INNOCENT), lab.cases)):
        texts = INNOCENT[form]
        text = Secrets(lab.chance)(texts[(number // len(INNOCENT)) % len(texts)])
        after = redactor.redact(text).text
        outcomes.append(
            Outcome(form=form, tried=text, survived=after == text, came_out="" if after == text else after)
        )
    return outcomes


SECRETS = Area(
    name="secrets",
    about="Secrets are gone from everything that is stored, whatever way they came.",
    forms={name: about for name, (about, _) in FORMS.items()},
    run=attack,
    least=0.93,
)
INNOCENTS = Area(
    name="innocents",
    about="Sentences without a secret stay as they are.",
    forms=dict.fromkeys(INNOCENT, "a sentence without a secret"),
    run=leave_alone,
    least=0.98,
    control=True,
)
