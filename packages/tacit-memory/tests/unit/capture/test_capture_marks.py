"""What a person marks as lasting is kept, whole, whatever stands before or behind it; orders for once are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tacit.reading.explicit import find_explicit
from tacit.reading.marks import is_one_off, is_question, kind_of, read_marked, takes_back

LEADS = (
    "", "[Image #2] ", "[Pasted text #1 +14 lines] ", "@src/billing/tax.py ", "\U0001f6a8 ", "\u2757\ufe0f ", "\ufeff", "\u200b", "btw ", "BTW, ", "PS: ", "wait no, ",
    "ok so ", "Hey Claude, ", "claude, ", "Marta, ", "hi! ", "morning. ", "- ", "2. ", "* ", "also ", "one more thing: ", "Two things:\n", "Three notes for this repo:\n- ",
    "sorry, ", "hm, actually ", "perfect, thanks! ", "changed my mind, ",
)  # fmt: skip
TAILS = (
    "", ".", "!", " pls", ", we got burned by that", ", it's faster", ", it broke prod twice", " because the CI box has one core", ". it's faster", ". Sorry for the noise",
    ". thanks!", ", ok?", ", otherwise the nightly job breaks", " - my laptop can't take more", ". I was annoyed", " (legal insists)", ". Can you look at the build now?",
)  # fmt: skip
MARKED = (
    "remember that the staging database is called atlas",
    "remember: deploys go through the green cluster",
    "note that the partner feed is frozen until spring",
    "keep in mind that invoices are immutable",
    "from now on use pnpm",
    "going forward, name branches after the ticket",
    "use tabs for Makefiles from now on",
    "always run ruff before a push",
    "in tests always use a real database",
    "never commit to main",
    "we never edit the generated html",
    "do not ever log card numbers",
    "we decided that amounts are integers",
    "we agreed on cursor pagination",
    "we go with valibot instead of zod",
    "let's go with protobuf for events",
    "I prefer small modules",
    "I'd rather have explicit imports",
    "I hate long functions",
    "i don't want default exports",
    "I want every endpoint to return problem details",
    "use pnpm, not npm",
    "use vitest not jest",
    "the gateway listens on 8443, not 8080",
    "we use structlog instead of logging",
    "don't use moment, use date-fns instead",
    "no, we never squash release commits",
    "use uv instead of pip from now on",
    "run the migrations after every pull, remember that",
    "our rule is one component per file",
    "house rule: handlers stay under 30 lines",
    "flags are kebab-case here, that's the rule",
)
OTHER_FORMS = (
    "make it a rule that every migration has a rollback",
    "add to CLAUDE.md that the seed script needs a license",
    "update the rules file to say that you always ask before a rebase",
    "remember I work on Windows",
    "from version 3 on the config is toml",
    "next time run the type checker first",
    "no more barrel files",
    "get into the habit of typed signatures",
    "switch to uv for good",
    "commit messages must always be in the imperative",
    "card numbers must never show up in a log line",
    "feature flags always default to off",
    "nothing in vendor/ ever gets edited",
    "no direct pushes to main, ever",
    "let's never use singletons",
    "tests should not depend on each other",
    "you should not commit to main yourself",
    "we don't use semicolons",
    "avoid nested ternaries",
    "don't call the payment service from tests",
    "stop creating summary files",
    "the team voted for tabs",
    "outcome of the retro: no deploys on Fridays",
    "Lena and I settled on snake case",
    "postgres it is",
    "prices are in cents, legal has signed it off",
    "iPads only. Product decision.",
    "we moved from Jenkins to GitHub Actions",
    "we no longer support Node 16",
    "we moved dev to port 4100, 4000 is taken",
    "forget the port thing, back to 4000",
    "we're back on Yarn",
    "I like commits under 200 lines",
    "I'd like every function to have a docstring",
    "I always want the docs in English",
    "the feed lands at 05:40 rather than midnight",
    "fixed-width ints, uint16_t over unsigned short",
    "spaces instead of tabs everywhere",
    "not redux but zustand",
    "no k8s at our site, it's slurm",
    "No, the region is EU868 on all buoys",
    "prefer f-strings over format",
)
"""Each of these says in other words that it lasts."""
LEADING_IN = ("remember that ", "remember: ", "note that ", "keep in mind that ", "no, ", "house rule: ")


def claim_of(marked: str) -> str:
    """The words that have to be kept of a marked sentence."""
    for words in LEADING_IN:
        marked = marked.removeprefix(words)
    return marked.removesuffix(", remember that")


def sentences() -> list[tuple[str, str]]:
    """Every mark, lead and tail in turns; what is typed, and what has to be kept."""
    pairs: list[tuple[str, str]] = []
    for at, marked in enumerate(MARKED):
        pairs += [
            (f"{lead}{marked}{TAILS[(at + place) % len(TAILS)]}", claim_of(marked))
            for place, lead in enumerate(LEADS)
            if (at + place) % 3 == 0
        ]
        pairs += [
            (f"{marked}{tail}", claim_of(marked)) for place, tail in enumerate(TAILS) if (at + place) % 3 == 1
        ]
    return [pair for pair in dict.fromkeys(pairs) if "remember that, ok" not in pair[0]]


def kept(text: str) -> list[str]:
    return [statement.content for statement in find_explicit(text) if not statement.doubtful]


def test_other_words_that_say_the_same_are_marks() -> None:
    lost = [
        text
        for at, text in enumerate(OTHER_FORMS)
        for said in (text, f"{LEADS[at % len(LEADS)]}{text}", f"Fix the build. {text}")
        if not kept(said)
    ]
    assert lost == []


def test_what_is_marked_is_kept_whole_whatever_leads_in_or_follows() -> None:
    pairs = sentences()
    assert len(pairs) >= 400
    found = [(text, claim.casefold(), kept(text)) for text, claim in pairs]
    lost = [text for text, claim, contents in found if not any(claim in it.casefold() for it in contents)]
    fragments = [
        (text, it) for text, claim, contents in found for it in contents if claim not in it.casefold()
    ]
    assert len(lost) <= 0.05 * len(pairs), lost
    assert fragments == []


ORDERS = (
    "use a {thing} here", "please use a {thing} instead of the old one", "use {other} for this one", "for now use {other}", "just this once, skip the {things}",
    "rename the {thing} to total", "add a test for the {thing}", "in this PR we use {other}", "change line 40 of the {thing}", "don't touch the {thing} yet", "never mind the {thing}",
    "make the {thing} red instead of blue", "the {thing} must be visible on mobile", "the {thing} should never be empty", "use {other} instead of {things}", "don't change that {thing}",
    "remember to fix the {thing} in this PR", "always return 200 from the {thing} for now", "use Decimal instead of float in line 12 of the {thing}", "I want a {thing} on the page",
    "let's go with the second {thing}", "use the second {thing}, not the first", "in this function never return the {thing}", "skip the {things} this time", "leave the {thing} alone for the moment",
    "I'd prefer the {thing} on the left", "I like the {thing}", "the {thing} must always be visible", "every row should always have a {thing}", "avoid duplicates in the {thing}",
    "rename the {thing} to total, not sum", "the {thing} shows 3, not 4", "users must not see the {thing}", "no, the {thing} is still red", "we moved the {thing} to the right",
    "let's stick with the first {thing}", "make sure the {thing} is never negative", "no more errors in the {thing}", "add a rule to the linter that checks the {thing}",
    "can you move the {thing} into its own file?", "why do we always render the {thing}?", "should we never cache the {thing}?", "maybe we should always cache the {thing}", "the {thing} always breaks",
)  # fmt: skip
THINGS = (
    {"thing": "header", "things": "checks", "other": "a guard clause"},
    {"thing": "parser", "things": "comprehensions", "other": "a dict"},
    {"thing": "login form", "things": "nested ifs", "other": "my old draft"},
    {"thing": "retry loop", "things": "snapshots", "other": "width 300"},
    {"thing": "export button", "things": "mocks", "other": "plain SQL"},
    {"thing": "worker", "things": "tests", "other": "the other endpoint"},
)


def test_an_order_for_once_is_not_kept() -> None:
    orders = [order.format_map(words) for order in ORDERS for words in THINGS]
    assert len(orders) >= 150
    stored = [(order, kept(order)) for order in orders if kept(order)]
    assert len(stored) <= 2, stored


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        ("From now on:\n- use pnpm\n- no default exports", ["Use pnpm", "No default exports"]),
        ("Never:\n- commit to main\n- push on Fridays", ["Never commit to main", "Never push on Fridays"]),
        ("We deploy with make ship. Remember that.", ["We deploy with make ship"]),
        ("Remember this:\nwe deploy with make ship", ["We deploy with make ship"]),
        ("for releases: bump the version, then run make ship. never from a dirty tree", ["For releases: bump the version, then run make ship. never from a dirty tree"]),
        ("Always use ruff. Just kidding", []),
        ("always do it that way", []),
        ("we decided to go with that", []),
        ("remember this", []),
        ("Yeah right, we never test anything", []),
        ("Always push on Fridays, what could go wrong", []),
        ("Add an export page. Amounts must never be rounded.", []),
        ("Add an export page. You must never round amounts.", ["You must never round amounts"]),
        ("Add a line to the README: never run this as root", []),
        ("Acceptance criteria: totals are always rounded up", []),
        ("tests never pass on my machine", []),
        ("We moved from npm to pnpm. Scratch that.", []),
        ("never again", []),
        ("so --dry-run not --dryRun", ["--dry-run not --dryRun"]),
        ("Remember that here we deploy with make ship", ["Here we deploy with make ship"]),
        ("wait no, its bun not yarn. reinstall", ["Its bun not yarn"]),
        ("Oh, sorry \u2014 it's Zola, not Gatsby. Try again.", ["It's Zola, not Gatsby"]),
        ("it's red not blue", []),
        ("wait no, it's failing not passing", []),
        ("no hang on the bucket is called raw not stage so rerun the import", ["The bucket is called raw not stage"]),
        ("use uv not pip so rerun the job and keep the old lock file for now", ["Use uv not pip"]),
        ("the page takes ages.. i like httpx better than requests for anything async so maybe rewrite it?", ["I like httpx better than requests for anything async"]),
        ("our page size is 50 not 20", ["Our page size is 50 not 20"]),
        ("check the import log and also please remember that we never delete a raw file", ["We never delete a raw file"]),
        ("can you look at the log and by the way we don't store phone numbers", ["We don't store phone numbers"]),
        ("rember we evaluate on the held-out year", ["We evaluate on the held-out year"]),
        ("going fwd all new topics go in Dublin", ["Going fwd all new topics go in Dublin"]),
        ("lovely, another timeout. check the gateway. and never kill the broker, drain it", ["Never kill the broker, drain it"]),
        ("never allocate after start on this board", ["Never allocate after start on this board"]),
        ("i was going to say always use the green folder", []),
        ("delete the word 'always'", []),
        ("sure, let's never test the release", []),
    ],
)  # fmt: skip
def test_a_statement_stands_by_itself(text: str, contents: list[str]) -> None:
    assert kept(text) == contents


BY_LANGUAGE: dict[str, Sequence[str]] = {
    "it": ("ricordati che il listino \u00e8 al netto dell'IVA", "d'ora in poi usiamo pnpm", "Usa sempre uv, mai pip", "no, la cartella si chiama dati, non data", "Preferisco funzioni piccole", "abbiamo deciso di usare pnpm"),
    "nl": ("draai de proef. onthoud dat het ordernummer niet uniek is", "voortaan tabelnamen in het Engels", "Gebruik altijd uv", "nee, de map heet invoer, niet input", "we hebben besloten dat bedragen hele getallen zijn"),
    "pl": ("popraw testy. pami\u0119taj \u017ce nazwy trzymamy bez odst\u0119p\u00f3w", "Nigdy nie commituj do main", "Wol\u0119 ma\u0142e modu\u0142y", "nie, baza nazywa si\u0119 faktury, a nie invoices", "nie u\u017cywaj any, tylko unknown"),
    "de": ("Ab jetzt benutzen wir pnpm f\u00fcr alle Pakete, das ist schneller", "Merk dir, dass die Staging-Datenbank atlas hei\u00dft", "Committe niemals direkt auf main, bitte",
           "Wir haben beschlossen, dass Betr\u00e4ge ganze Zahlen sind", "Ich will keine Mocks in den Tests, nimm immer eine echte Datenbank", "Benutze pnpm, nicht npm", "nein, das modul heisst VX9 und nicht VX8", "mein fehler: der ordner hei\u00dft eingang, nicht inbox", "F\u00fcrs n\u00e4chste Mal: die Belegung steht in pins.csv", "Wir nehmen das Feld netto, nicht brutto, das war schon im alten Report falsch"),
    "fr": ("\u00c0 partir de maintenant on utilise pnpm, c'est plus rapide", "Souviens-toi que la base de staging s'appelle atlas", "Ne commite jamais sur main, on a eu des probl\u00e8mes",
           "On a d\u00e9cid\u00e9 que les montants sont des entiers", "Je pr\u00e9f\u00e8re les petits modules", "Utilise pnpm, pas npm", "non pardon, c'est la table achats_v2, pas achats"),
    "es": ("A partir de ahora usamos pnpm, es m\u00e1s r\u00e1pido", "Recuerda que la base de staging se llama atlas", "Nunca hagas commit en main, por favor",
           "Hemos decidido que los importes son enteros", "Prefiero los m\u00f3dulos peque\u00f1os", "Usa pnpm, no npm, en todo el proyecto", "no no, la rama se llama pruebas, no staging", "y acuerdate que los precios llevan IVA"),
    "pt": ("A partir de agora usamos pnpm, \u00e9 mais r\u00e1pido", "Lembra que o banco de staging se chama atlas", "Nunca fa\u00e7a commit na main, por favor",
           "Decidimos que os valores s\u00e3o inteiros", "Prefiro m\u00f3dulos pequenos", "Use pnpm, n\u00e3o npm, em todo o projeto"),
    "ru": ("\u041e\u0442\u043d\u044b\u043d\u0435 \u0438\u0441\u043f\u043e\u043b\u044c\u0437\u0443\u0435\u043c pnpm, \u0442\u0430\u043a \u0431\u044b\u0441\u0442\u0440\u0435\u0435", "\u0417\u0430\u043f\u043e\u043c\u043d\u0438, \u0447\u0442\u043e \u0442\u0435\u0441\u0442\u043e\u0432\u0430\u044f \u0431\u0430\u0437\u0430 \u043d\u0430\u0437\u044b\u0432\u0430\u0435\u0442\u0441\u044f atlas",
           "\u041d\u0438\u043a\u043e\u0433\u0434\u0430 \u043d\u0435 \u043a\u043e\u043c\u043c\u0438\u0442\u044c \u0432 main", "\u041c\u044b \u0440\u0435\u0448\u0438\u043b\u0438 \u0445\u0440\u0430\u043d\u0438\u0442\u044c \u0441\u0443\u043c\u043c\u044b \u0446\u0435\u043b\u044b\u043c\u0438 \u0447\u0438\u0441\u043b\u0430\u043c\u0438",
           "\u042f \u043f\u0440\u0435\u0434\u043f\u043e\u0447\u0438\u0442\u0430\u044e \u043c\u0430\u043b\u0435\u043d\u044c\u043a\u0438\u0435 \u043c\u043e\u0434\u0443\u043b\u0438", "\u0418\u0441\u043f\u043e\u043b\u044c\u0437\u0443\u0439 pnpm, \u0430 \u043d\u0435 npm"),
    "zh": ("\u4ece\u73b0\u5728\u5f00\u59cb\u90fd\u7528 pnpm\uff0c\u66f4\u5feb", "\u8bb0\u4f4f\uff0c\u6d4b\u8bd5\u6570\u636e\u5e93\u53eb atlas", "\u6c38\u8fdc\u4e0d\u8981\u76f4\u63a5\u63d0\u4ea4\u5230 main\uff0c\u7981\u6b62\u8fd9\u6837\u505a", "\u6211\u4eec\u51b3\u5b9a\u91d1\u989d\u90fd\u7528\u6574\u6570",
           "\u6211\u66f4\u559c\u6b22\u5c0f\u6a21\u5757", "\u7528 pnpm\uff0c\u4e0d\u8981\u7528 npm"),
    "ja": ("\u3053\u308c\u304b\u3089\u306f pnpm \u3092\u4f7f\u3063\u3066\u304f\u3060\u3055\u3044", "\u899a\u3048\u3066\u304a\u3044\u3066\u304f\u3060\u3055\u3044\u3001\u30c6\u30b9\u30c8\u7528\u306e\u30c7\u30fc\u30bf\u30d9\u30fc\u30b9\u306f atlas \u3067\u3059", "main \u306b\u306f\u7d76\u5bfe\u306b\u76f4\u63a5\u30b3\u30df\u30c3\u30c8\u3057\u306a\u3044\u3067\u304f\u3060\u3055\u3044",
           "\u91d1\u984d\u306f\u6574\u6570\u3067\u6301\u3064\u3053\u3068\u306b\u6c7a\u3081\u307e\u3057\u305f", "\u5c0f\u3055\u3044\u30e2\u30b8\u30e5\u30fc\u30eb\u306e\u307b\u3046\u304c\u597d\u304d\u3067\u3059", "npm \u3067\u306f\u306a\u304f pnpm \u3092\u4f7f\u3063\u3066\u304f\u3060\u3055\u3044"),
    "ko": ("\uc55e\uc73c\ub85c\ub294 pnpm\uc744 \uc368 \uc8fc\uc138\uc694", "\uae30\uc5b5\ud574 \uc8fc\uc138\uc694: \ud14c\uc2a4\ud2b8 \ub370\uc774\ud130\ubca0\uc774\uc2a4\ub294 atlas\uc785\ub2c8\ub2e4", "main\uc5d0\ub294 \uc808\ub300\ub85c \uc9c1\uc811 \ucee4\ubc0b\ud558\uc9c0 \ub9c8\uc138\uc694", "\uae08\uc561\uc740 \uc815\uc218\ub85c \uc800\uc7a5\ud558\uae30\ub85c \uacb0\uc815\ud588\uc2b5\ub2c8\ub2e4",
           "\uc791\uc740 \ubaa8\ub4c8\uc744 \uc120\ud638\ud569\ub2c8\ub2e4", "npm \ub9d0\uace0 pnpm\uc744 \uc368 \uc8fc\uc138\uc694"),
}  # fmt: skip


@pytest.mark.parametrize("code", BY_LANGUAGE)
def test_marks_of_every_language_are_read(code: str) -> None:
    lost = [text for text in BY_LANGUAGE[code] if not kept(text)]
    assert lost == []


@pytest.mark.parametrize(
    "text",
    [
        "Warum benutzen wir immer pnpm?", "Nur f\u00fcr diesen PR: nimm bitte immer npm", "Vielleicht sollten wir nie auf main committen", "Pourquoi on utilise toujours npm ?",
        "Pour l'instant, utilise toujours npm", "ich merk mir das nie", "il test non passa mai, perch\u00e9?", "usa npm per ora", "no, non funziona ancora", "gebruik hier even npm", "nee, dat werkt niet", "waarom gebruiken we altijd npm?",
        "nie, to nie dzia\u0142a", "testy zawsze si\u0119 sypi\u0105", "na razie u\u017cywaj npm, nie pnpm", "ik snap het nooit", "nimm hier mal den alten Port, der neue kann nicht mehr", "chez Anna jamais", 'streich das wort "stets" im Titel', "Por ahora usa siempre npm", "Por enquanto use sempre npm", "\u041f\u043e\u043a\u0430 \u0432\u0441\u0435\u0433\u0434\u0430 \u0438\u0441\u043f\u043e\u043b\u044c\u0437\u0443\u0439 npm", "\u8fd9\u6b21\u4e00\u5f8b\u7528 npm",
        "\u4eca\u56de\u3060\u3051\u306f\u5fc5\u305a npm \u3092\u4f7f\u3063\u3066\u304f\u3060\u3055\u3044", "\uc774\ubc88\uc5d0\ub9cc \ud56d\uc0c1 npm\uc744 \uc368 \uc8fc\uc138\uc694",
    ],
)  # fmt: skip
def test_questions_doubts_and_orders_for_once_in_other_languages_are_not_kept(text: str) -> None:
    assert kept(text) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("never commit to main", "anti_pattern"), ("Don't log card numbers", "anti_pattern"), ("I prefer small modules", "preference"), ("always use ruff", "preference"),
        ("we decided on cursor pagination", "decision"), ("Let's go with protobuf", "decision"), ("use pnpm, not npm", "correction"), ("TODO: rename the queue", "todo"),
        ("The staging database is called atlas", "fact"), ("Before each push run make check", "fact"), ("Check-in closes 45 minutes before departure", "fact"),
    ],
)  # fmt: skip
def test_the_kind_is_what_was_said_in_so_many_words(text: str, kind: str) -> None:
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    ("ask", "yes", "no"),
    [
        (is_one_off, ("use tabs in this PR", "change line 40"), ("deploys are rolling here", "good news for once", "always use tabs")),
        (is_question, ("do we always use tabs?", "why not pnpm"), ("can you always use tabs?", "we deploy with make ship")),
        (takes_back, ("scratch that", "oh no, forget it"), ("never commit to main", "forget the old port")),
    ],
)  # fmt: skip
def test_a_sentence_is_for_once_a_question_or_takes_back(
    ask: Callable[[str], bool], yes: Sequence[str], no: Sequence[str]
) -> None:
    assert [text for text in yes if not ask(text)] == []
    assert [text for text in no if ask(text)] == []


@pytest.mark.parametrize(
    ("end", "keep"),
    [
        ("please forget that we always deploy on Mondays", "don't forget that we always deploy on Mondays"),
        ("you can forget that we never squash commits", "never forget that we never squash commits"),
        ("vergiss, dass wir immer Tabs nehmen", "vergiss nicht, dass wir immer Tabs nehmen"),
        ("oublie qu'on utilise toujours yarn", "n'oublie pas qu'on utilise toujours yarn"),
        ("olvida que siempre usamos yarn", "no olvides que siempre usamos yarn"),
    ],
)
def test_what_is_to_be_forgotten_is_no_rule(end: str, keep: str) -> None:
    assert read_marked(end) is None
    assert read_marked(keep) is not None


@pytest.mark.parametrize(
    "said",
    [
        "Don't use moment, use date-fns.",
        "No, don't use os.path here, use pathlib instead.",
        "No, tests belong into tests/unit, not next to the code.",
        "We don't use ORMs here, only raw SQL.",
        "That's not how we do it: every handler returns a Result type.",
        "That's not our style: we name booleans with is or has.",
        "No, we use pnpm here, not npm.",
        "Please don't add comments to the generated files, edit the template instead.",
        "No, the port is 6432, not 5432.",
        "That's wrong, invoices live in billing/, not in orders/.",
        "No, use structlog instead of logging.",
        "Stop using var, use const.",
        "You should use the repository class, not raw queries.",
        "I said no default exports.",
        "No, branches start with the ticket number.",
        "Don't put business logic into controllers, it belongs in services.",
        "No, not like that. Handlers never talk to the database directly.",
        "No, we never catch Exception, only the specific error.",
    ],
)
def test_a_correction_in_its_common_form_is_kept(said: str) -> None:
    assert [s.kind in ("correction", "anti_pattern") for s in find_explicit(said)] == [True]


@pytest.mark.parametrize(
    "said",
    [
        "No, don't use the second argument here, pass null instead.",
        "No, that's line 40, not 41.",
        "Don't delete it, rename it.",
        "No, it should be red, not blue.",
        "That's not how it looks in the mockup: the button is on the left.",
        "That's not how I meant it: move it up.",
        "No, run it again with -v instead.",
        "Use the first one instead of the second.",
        "Don't use this branch, use main.",
        "Don't use my machine, use yours.",
        "Don't run that, run the other script.",
        "No, the second test, not the first.",
        "Wrong: it returns 3 here.",
        'The reviewer wrote: "That\'s not how we do it: every handler returns a Result type."',
    ],
)
def test_a_correction_of_the_thing_at_hand_is_not_kept(said: str) -> None:
    assert find_explicit(said) == ()
