"""Two urls are one project exactly where git reaches one repository through both, however they are spelled."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tacit.session.projects import name_remote

BASE = Path("/w/app")
WORDS = st.sampled_from(["shop", "Shop", "app", "team", "Team", "a-b", "x.y", "lib"])
PATHS = st.lists(WORDS, min_size=1, max_size=3).map("/".join)
USERS = st.sampled_from(["alice", "bob", "deploy"])
FORGES = st.sampled_from(["github.com", "gitlab.com", "bitbucket.org", "codeberg.org"])
HOSTS = st.sampled_from(["git.corp", "localhost", "10.0.0.7", "server", "gitlab.corp"])
ENDINGS = st.sampled_from(["", "/", ".git", ".git/"])

# kind, what makes the repository, and how it may be spelled
#   forge      host, path without case      every scheme, any user, default port
#   service    host, port, path             ssh as a service user; https with any user where the port is the default one
#   home       host, user, path             ssh as that user, or naming the home folder
#   absolute   host, path                   ssh as anybody, from the root
#   local      absolute path                a path or file://, absolute or relative to the work tree


@st.composite
def repositories(draw: st.DrawFn) -> tuple[object, ...]:
    kind = draw(st.sampled_from(["forge", "service", "home", "absolute", "local"]))
    path = draw(PATHS)
    if kind == "forge":
        return kind, draw(FORGES), path.lower()
    if kind == "service":
        return kind, draw(HOSTS), draw(st.sampled_from([None, 2222, 3000])), path
    if kind == "home":
        return kind, draw(HOSTS), draw(USERS), path
    if kind == "absolute":
        return kind, draw(HOSTS), f"srv/{path}"
    return kind, draw(st.sampled_from(["/w/app/", "/w/", "/srv/"])) + path


def cased(draw: st.DrawFn, text: str) -> str:
    return "".join(letter.upper() if draw(st.booleans()) else letter for letter in text)


@st.composite
def spellings(draw: st.DrawFn, repository: tuple[object, ...]) -> str:
    end = draw(ENDINGS)
    match repository:
        case ("forge", str(host), str(path)):
            host, path = cased(draw, host), cased(draw, path)
            login = draw(st.sampled_from(["", "git@", "me:token@", "x-oauth:a%40b@"]))
            return draw(
                st.sampled_from(
                    [
                        f"git@{host}:{path}{end}",
                        f"ssh://git@{host}/{path}{end}",
                        f"ssh://git@{host}:22/{path}{end}",
                        f"https://{login}{host}/{path}{end}",
                        f"https://{login}{host}:443/{path}{end}",
                        f"git://{host}:9418/{path}{end}",
                    ]
                )
            )
        case ("service", str(host), None, str(path)):
            host = cased(draw, host)
            return draw(
                st.sampled_from(
                    [
                        f"git@{host}:{path}{end}",
                        f"gitea@{host}:{path}{end}",
                        f"ssh://git@{host}:22/{path}{end}",
                        f"https://alice:pw@{host}/{path}{end}",
                        f"http://{host}:80/{path}{end}",
                    ]
                )
            )
        case ("service", str(host), int(port), str(path)):
            host = cased(draw, host)
            return draw(
                st.sampled_from([f"ssh://git@{host}:{port}/{path}{end}", f"http://{host}:{port}/{path}{end}"])
            )
        case ("home", str(host), str(user), str(path)):
            host = cased(draw, host)
            return draw(
                st.sampled_from(
                    [
                        f"{user}@{host}:{path}{end}",
                        f"{user}@{host}:~/{path}{end}",
                        f"carol@{host}:~{user}/{path}{end}",
                        f"ssh://{user}@{host}/~/{path}{end}",
                    ]
                )
            )
        case ("absolute", str(host), str(path)):
            user = draw(USERS)
            return draw(
                st.sampled_from(
                    [f"{user}@{host}:/{path}{end}", f"ssh://{user}@{cased(draw, host)}/{path}{end}"]
                )
            )
        case (_, str(path)):
            forms = [f"{path}{end}", f"file://{path}{end}", path.replace("/", "//")]
            if path.startswith("/w/app/"):
                forms += [path.removeprefix("/w/app/") + end, "./" + path.removeprefix("/w/app/") + end]
            elif path.startswith("/w/"):
                forms.append("../" + path.removeprefix("/w/") + end)
            return draw(st.sampled_from(forms))
    raise AssertionError(repository)


@given(st.data())
def test_pairs_of_spellings_are_one_project_exactly_where_the_repository_is_one(data: st.DataObject) -> None:
    one = data.draw(repositories())
    other = data.draw(st.one_of(st.just(one), repositories()))
    first, second = data.draw(spellings(one)), data.draw(spellings(other))
    # Over https, a path below `srv` is the one that ssh reaches from the root.
    same = one == other or _from_root(one) == _from_root(other) != None  # noqa: E711
    assert (name_remote(first, base=BASE) == name_remote(second, base=BASE)) == same, (first, second)


def _from_root(repository: tuple[object, ...]) -> object:
    match repository:
        case ("absolute", host, path) | ("service", host, None, path):
            return host, path
    return None


@given(st.text(max_size=80))
def test_any_text_is_named_without_credentials_or_control_characters(text: str) -> None:
    name = name_remote(f"https://me:hunter2@example.org/{text}", base=BASE)
    assert "hunter2" not in name or "hunter2" in text
    assert name_remote(text, base=BASE).isprintable() or not text.isprintable()
