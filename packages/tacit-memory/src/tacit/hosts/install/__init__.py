"""Plans the installation into a host and its removal, and reports the state of the host's files.

In: the host's name, folders, the launcher, the files as they are. Out: an `InstallPlan` or a `HostStatus`; settings with which a host runs no hooks of
ours, and rules for our tools that win over ours. Reads files; writes none (`apply` does). The home keeps one JSON file per host with the originals of its
files, so that removal restores the same bytes. What other programs' settings mean was measured (docs/adr/0007-hosts.md,
docs/adr/0085-two-tools-without-a-question.md) or, for what an administrator sets, taken from their documentation. A setting in a file that cannot be read
decides nothing.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast

from tacit.config.home import Home
from tacit.errors import HostError, NotFound
from tacit.frozen import frozen
from tacit.hosts.install.clients import CLIENTS, targets_of_client
from tacit.hosts.install.files import (
    TOOLS,
    TOOLS_TOLD,
    FileEdit,
    HookSettings,
    InstallPlan,
    MayBeUnread,
    OfUser,
    Permission,
    Place,
    Rule,
    Ruling,
    Target,
    describe_age,
    is_link,
    missing_folders,
    read_text,
    version_in,
)
from tacit.hosts.registry import BUILT_IN


def switched_off(
    host: str,
    *,
    user_home: Path,
    project_root: Path | None,
    connected: bool = True,
    machine: Path | None = None,
) -> tuple[str, ...]:
    """Return sentences that say why `host` runs no hooks of ours in a session in `project_root`; () = nothing keeps it from that.

    Args:
        host: its name.
        user_home: the user's home folder.
        project_root: the project whose settings hold, too; None = none is known.
        connected: whether our hooks are in its settings; if not, only our plugin can be switched off.
        machine: the folder of the administrator's settings; default: that of this system.
    """
    off = BUILT_IN[host].offered("install", "switched_off") if host in BUILT_IN else None
    if off is None:
        return ()
    machine = machine or machine_folder(host)
    return tuple(off(user_home=user_home, project_root=project_root, machine=machine, connected=connected))


def machine_folder(host: str) -> Path:
    """Return the folder with the administrator's settings of `host` on this system."""
    folders = BUILT_IN[host].machine_folders
    return Path(folders.get(sys.platform, folders.get("", "/etc")))


def asking_hosts() -> Mapping[str, str]:
    """Return the titles, by name, of the hosts that ask before each call of our tools and accept a rule for single tools."""
    return {name: host.title for name, host in BUILT_IN.items() if host.rules_command}


def rulings(
    host: str, *, user_home: Path, project_root: Path | None, machine: Path | None = None
) -> tuple[Ruling, ...]:
    """Return what `host` does at a call of each of `TOOLS` (allow, ask or deny); () = the host takes no rule for single tools.

    Of Gemini CLI it only says whether our policy is there: which of a user's policies wins, the client tells best.

    Args:
        host: its name.
        user_home: the user's home folder.
        project_root: the project of the session, whose settings hold, too; None = none is known.
        machine: the folder of the administrator's settings; default: that of this system.
    """
    rules = BUILT_IN[host].offered("install", "rules_for_tools") if host in BUILT_IN else None
    if rules is None:
        return ()
    found: Sequence[Rule] = rules(
        user_home=user_home, project_root=project_root, machine=machine or machine_folder(host)
    )
    return tuple(
        Ruling(tool=tool, word=word, rule=rule, path=path)
        for tool, (word, rule, path) in zip(TOOLS, found, strict=True)
    )


State = Literal["absent", "installed", "outdated", "partial"]


@frozen
class HostStatus:
    """The state of our entries in the files of one host.

    Attributes:
        host: its name.
        state: `absent` nothing; `installed` all, up to date; `outdated` all, but not what this version writes;
            `partial` some of it.
        files: every file concerned and whether ours is in it (`ours`, `outdated`, `missing`).
        problems: sentences that say what is wrong and what to do.
        waiting: what the user must do in the host so that it calls Tacit; empty = nothing.
    """

    host: str
    state: State
    files: tuple[tuple[Path, str], ...] = ()
    problems: tuple[str, ...] = ()
    waiting: str = ""


def _targets(host: str, place: Place) -> tuple[Target, ...]:
    if host in BUILT_IN:
        return BUILT_IN[host].part("install").targets(place)
    if host in CLIENTS:
        return targets_of_client(host, place)
    names = ", ".join((*BUILT_IN, *CLIENTS))
    raise NotFound(f"Tacit cannot be installed into {host!r}.", hint=f"Known hosts and clients: {names}.")


def plan(
    host: str,
    *,
    user_home: Path,
    project_root: Path | None = None,
    home: Home,
    trust: bool = False,
    allow: bool | None = None,
) -> InstallPlan:
    """Plan an installation as edits of files. Writes nothing. If all is installed already, the plan has no edits.

    Args:
        host: one of `BUILT_IN`, or of `CLIENTS`.
        user_home: the user's home folder.
        project_root: write into this project instead of the user's own settings.
        home: where Tacit keeps its data.
        trust: whether to approve the hooks in the host's settings, if the host requires this. Set it only if the user asked for it.
        allow: whether the host shall call `TOOLS` without asking. Set it only if the user chose; None = as it is.

    Raises:
        NotFound: unknown host.
        HostError: a file is malformed or someone else's; it names file and line. Nothing is written.
    """
    book = _record_file(home, host)
    book_before = read_text(book)
    originals = _read_record(book_before)
    place = Place(user_home, project_root, home, trust=trust)
    place, permission = _permitted(host, place, allow, originals)
    targets = (*_targets(host, place), *permission.wanted)
    linked = _check_links(targets, project_root)
    edits: list[FileEdit] = []
    notes = [*linked, *permission.notes]
    for target in targets:
        current = read_text(target.path)
        notes += _unread(target, current)
        if current is not None and target.holds(current):
            notes.append(f"{target.path} is up to date")
            continue
        shared = isinstance(target, OfUser)
        earlier = None if shared else originals.get(target.path)
        clean = _without_ours(target, current, earlier)
        after = target.add(clean)
        new_folders = missing_folders(target.path.parent) if earlier is None else earlier.made
        if not shared:  # the record of that file belongs to the installation for the user
            rules = target.rules if isinstance(target, HookSettings) else ()
            originals[target.path] = OriginalFile(
                text=clean, after_sha256=_sha256(after), made=new_folders, rules=rules
            )
        edits.append(FileEdit(path=target.path, before=current, after=after, why=target.why))
    for target in permission.gone:
        edits += _take_out(target, originals, why="takes the rule for memory tools out")
    if edits:
        why = "remembers what these files held, so that uninstalling gives it back"
        edits.append(
            FileEdit(path=book, before=book_before, after=_record_text(originals), why=why, private=True)
        )
    return InstallPlan(host=host, edits=tuple(edits), notes=tuple(notes), permits=permission.tools)


def uninstall(host: str, *, user_home: Path, project_root: Path | None = None, home: Home) -> InstallPlan:
    """Plan a removal as edits of files: restore a file's former bytes if only we changed it, else take only our entries out. Writes nothing.

    Raises:
        NotFound: unknown host.
        HostError: a file is malformed; it names file and line. Nothing is written.
    """
    book = _record_file(home, host)
    book_before = read_text(book)
    originals = _read_record(book_before)
    place = Place(user_home, project_root, home)
    place, written = _permitted(host, place, None, originals)
    targets = (*_targets(host, place), *written.wanted, *written.gone)
    linked = _check_links(targets, project_root)
    edits: list[FileEdit] = []
    for target in targets:
        edits += _take_out(target, originals, why="takes Tacit out again")
    book_after = _record_text(originals)
    if book_before is not None and _read_record(book_before) != originals:
        edits.append(
            FileEdit(
                path=book,
                before=book_before,
                after=book_after,
                why="forgets what it restored",
                private=True,
                folders=(book.parent.parent, book.parent),
            )
        )
    return InstallPlan(host=host, edits=tuple(edits), notes=linked)


def _take_out(target: Target, originals: dict[Path, OriginalFile], *, why: str) -> list[FileEdit]:
    """Return the edit that takes our entries out of a file, or []; also drop the file from `originals`."""
    current = read_text(target.path)
    before = None if isinstance(target, OfUser) else originals.pop(target.path, None)
    after = _without_ours(target, current, before)
    if current == after:
        return []
    folders = before.made if before is not None else None
    return [FileEdit(path=target.path, before=current, after=after, why=why, folders=folders)]


def _permitted(
    host: str, place: Place, allow: bool | None, originals: Mapping[Path, OriginalFile]
) -> tuple[Place, Permission]:
    """Decide which rules for tools the host's files shall hold; return the place with these rules, and the permission.

    For `allow` see `plan`; a rule of the user's own wins over ours and is never ours.
    """
    decide = BUILT_IN[host].offered("install", "permission") if host in BUILT_IN else None
    if decide is None:
        return place, Permission()

    def earlier_in(path: Path) -> tuple[str, ...]:
        return originals[path].rules if path in originals else ()

    change = f"`tacit install {host} --allow-tools`"
    permission: Permission = decide(
        allow,
        rulings(host, user_home=place.user_home, project_root=place.project_root),
        user_home=place.user_home,
        project_root=place.project_root,
        earlier_in=earlier_in,
        hint=f"{BUILT_IN[host].title} asks before each call of {TOOLS_TOLD}; {change} changes that",
    )
    return replace(place, rules=permission.rules, earlier=permission.earlier), permission


def _check_links(targets: Sequence[Target], project_root: Path | None) -> tuple[str, ...]:
    """Return a note for each file that is written through a link. Links of a project, which is often somebody else's, must not lead out of it.

    Raises:
        HostError: if a file of a project lies outside it.
    """
    notes: list[str] = []
    for target in targets:
        real = target.path.resolve()
        if project_root is not None and not isinstance(target, OfUser):
            if not real.is_relative_to(project_root.resolve()):
                raise HostError(
                    f"{target.path} leads out of the project, to {real}. Nothing was written.",
                    hint="Replace the link by a file or folder of the project, or install without --project.",
                )
        elif is_link(target.path) or is_link(target.path.parent):
            notes.append(f"{target.path} is a link: {real} is what is written")
    return tuple(notes)


def _without_ours(target: Target, current: str | None, before: OriginalFile | None) -> str | None:
    if not current:
        return current
    if before is not None and _sha256(current) == before.after_sha256:
        return before.text
    return target.remove(current)


def installed(
    host: str,
    *,
    user_home: Path,
    project_root: Path | None = None,
    home: Home,
    session_root: Path | None = None,
) -> HostStatus:
    """Return the state of our entries in the host's files. A malformed file becomes a problem in the result, not an error.

    `session_root` = the project of a session, whose settings hold beside those of the user.

    Raises:
        NotFound: unknown host.
    """
    try:
        place, permission = _permitted(host, Place(user_home, project_root, home), None, {})
        targets = (*_targets(host, place), *permission.wanted)
    except HostError as error:  # which files there are depends on what one of them holds
        return HostStatus(host=host, state="absent", problems=(str(error),))
    files: list[tuple[Path, str]] = []
    problems: list[str] = []
    for target in targets:
        try:
            text = read_text(target.path)
            word = _word(target, text)
            files.append((target.path, word))
            if word == "outdated" and text is not None:
                problems.append(f"{target.path} {describe_age(version_in(text))}.")
            problems += _unread(target, text) if word != "missing" else ()
        except HostError as error:
            files.append((target.path, "missing"))
            problems.append(str(error))
    state = _state([word for _, word in files])
    if state in ("partial", "outdated"):
        problems.append(f"The installation is {state}: run `tacit install {host}` again.")
    if state != "absent" and not home.launcher.exists():
        problems.append(f"The launcher {home.launcher} is missing: run `tacit install {host}` again.")
    problems += switched_off(
        host,
        user_home=user_home,
        project_root=project_root or session_root,
        connected=state != "absent",
    )
    wait = BUILT_IN[host].offered("install", "waiting") if host in BUILT_IN else None
    waiting: str = wait(place) if wait is not None and state != "absent" else ""
    return HostStatus(host=host, state=state, files=tuple(files), problems=tuple(problems), waiting=waiting)


def installed_for(host: str, *, user_home: Path, project_root: Path, home: Home) -> HostStatus:
    """Return the state for a session in `project_root`: that of the user's files, or of the project's if the user's hold nothing of ours.

    Where neither holds anything, files of the user that cannot be read come first.

    Raises:
        NotFound: unknown host.
    """
    of_user = installed(host, user_home=user_home, home=home, session_root=project_root)
    if of_user.state != "absent" or (host in CLIENTS and not CLIENTS[host].project_file):
        return of_user
    of_project = installed(host, user_home=user_home, project_root=project_root, home=home)
    return of_user if of_project.state == "absent" and of_user.problems else of_project


def _unread(target: Target, text: str | None) -> tuple[str, ...]:
    """Return a sentence that says why the host would ignore the file, as a tuple; () = it reads it."""
    if text is None or not isinstance(target, MayBeUnread):
        return ()
    problem = target.unread(target.path, text)
    return (problem,) if problem else ()


def _word(target: Target, text: str | None) -> str:
    if text is None or not target.present(text):
        return "missing"
    return "ours" if target.holds(text) else "outdated"


def _state(words: Sequence[str]) -> State:
    if all(word == "missing" for word in words):
        return "absent"
    if all(word == "ours" for word in words):
        return "installed"
    return "outdated" if "missing" not in words else "partial"


@frozen
class OriginalFile:
    """The record of one changed file: its text before the installation (None = no file), its hash after it, and the folders that were made for it.

    `made` = outermost first. `rules` = the rules for tools that were written into it.
    """

    text: str | None
    after_sha256: str
    made: tuple[Path, ...] = ()
    rules: tuple[str, ...] = ()


def _record_file(home: Home, host: str) -> Path:
    """Return the file that stores the originals of `host`. Each host has its own, so that several plans can be applied together."""
    return home.root / "hosts" / host / "installs.json"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _read_record(text: str | None) -> dict[Path, OriginalFile]:
    """Parse the record into the original of each file by its path; {} = there is no record, or it is damaged.

    Removal then takes only our entries out.
    """
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    if not isinstance(value, Mapping):
        return {}
    originals: dict[Path, OriginalFile] = {}
    for path, entry in cast("Mapping[str, object]", value).items():
        if not isinstance(entry, Mapping):
            continue
        fields = cast("Mapping[str, object]", entry)
        before, after = fields.get("before"), fields.get("after_sha256")
        if isinstance(after, str) and (before is None or isinstance(before, str)):
            originals[Path(path)] = OriginalFile(
                text=before,
                after_sha256=after,
                made=tuple(Path(str(folder)) for folder in _items(fields.get("made"))),
                rules=tuple(map(str, _items(fields.get("rules")))),
            )
    return originals


def _record_text(record: Mapping[Path, OriginalFile]) -> str | None:
    """Return the record as the JSON text to store; None = it is empty, so the file is deleted."""
    if not record:
        return None
    rows = {
        str(path): {
            "before": entry.text,
            "after_sha256": entry.after_sha256,
            "made": [str(folder) for folder in entry.made],
            **({"rules": list(entry.rules)} if entry.rules else {}),
        }
        for path, entry in sorted(record.items())
    }
    return json.dumps(rows, indent=1) + "\n"


def _items(raw: object) -> list[object]:
    return cast("list[object]", raw) if isinstance(raw, list) else []
