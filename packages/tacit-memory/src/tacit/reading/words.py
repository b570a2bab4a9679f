"""Words that announce actions, and words of a memory that say when it applies: the tables, and how they are looked up.

In: prose. Out: evidence per action class as a chance (0-1), with the phrases that spoke for it. Knows no negated
order (`don't push`), counts a told past (`I fixed ...`) little. Never learns, never reads beyond the given text.

The tables have one phrase a line: `phrase, phrase: class weight, class weight`. Phrases have one to four words and are matched by
word stem. Weights are chances (0-1) that the action follows when the phrase stands there; a *verb* counts in full where an order can
stand, and by half elsewhere; a *cue* counts anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tacit.text.stemming import light_stem
from tacit.text.tokens import PHRASE_TOKEN

# --- tables

VERBS = """
fix, resolve, correct, repair, patch: fix_bug .8, edit_code .8, run_tests .25, debug_investigate .25
fix the test, fix test, fix failing test: change_test .75, run_tests .7, fix_bug .6, edit_code .5
fix typo, fix the typo, fix wording: write_docs .4, edit_code .4
fix the lint, fix lint, fix the build, fix formatting: run_lint_build .8, fix_bug .5
add: edit_code .62, implement_feature .5, write_test .12
implement, build out, code up, introduce support, add support, support: implement_feature .85, edit_code .85, write_test .35, run_tests .35
build: implement_feature .4, edit_code .35, run_lint_build .35
create, make a, make a new, generate: new_file .5, edit_code .35, implement_feature .3
make: edit_code .55
make sure, ensure: edit_code .5
change, update, modify, adjust, tweak, edit, alter, set, switch, convert, replace, swap, use, turn, put, include, insert, append, enable, disable, hide, wire, hook up, handle, allow, extend, apply, increase, reduce, shorten, align, center: edit_code .68
refactor, restructure, reorganize, clean up, cleanup, simplify, extract, dedupe, consolidate, decouple, split, break up, modularize, dry up, inline, unify, deduplicate, merge into: refactor .78, edit_code .75, run_tests .3
rename, move: rename_move .8, edit_code .5, refactor .3
delete, remove, drop, get rid, strip, prune, take out, kill, rip out, uninstall: delete_code .55, edit_code .68
revert, undo, roll back, rollback, restore: edit_code .6, delete_code .25, workspace_session .2
test, try it, try out, verify, validate, smoke test: run_tests .45, run_command .4
write test, add test, create test, cover with test, unit test, add unit test, write unit test, add coverage, test coverage, tests for, test for, add a test, write a test: write_test .85, run_tests .55, edit_code .45
run test, run the test, rerun test, run all test, execute test, tests pass, test suite, run the suite: run_tests .9, run_command .3
update the test, update test, change the test, adjust test, existing test, failing test, test fail, broken test, mock: change_test .6, run_tests .55, edit_code .35
run, execute, launch, start the, restart, invoke, rerun, kick off: run_command .65
lint, format, typecheck, type check, compile, rebuild, run build, run lint: run_lint_build .85, run_command .25
debug, investigate, diagnose, troubleshoot, find out why, figure out, look into, dig into, trace, track down, root cause: debug_investigate .85, explain_code .2
reproduce, repro, replicate: reproduce_bug .85, debug_investigate .55
check, look at, take a look, inspect, examine, see if, see whether, double check, compare: debug_investigate .35, review_code .25, answer_question .3, explain_code .2
review, audit, critique, code review, assess, evaluate, analyze, analyse: review_code .65, answer_question .3
address, adress, let's address: address_review .72, edit_code .8, fix_bug .3, refactor .25
act on, incorporate, apply the suggestion, apply feedback, resolve comment, respond to comment: address_review .6, edit_code .6
explain, describe, walk me through, clarify, summarize, summarise, tell me, show me, help me understand, understand, outline, elaborate: answer_question .65, explain_code .6
list, find, search, show, give me, print: answer_question .45, run_command .15
plan, design, propose, brainstorm, think through, think about, come up with, draft, spec out, scope, sketch, consider: plan_or_spec .6, offer_options .3
suggest, recommend, what are the options, give me options, alternatives: offer_options .65, answer_question .5
proceed, continue, keep going, go ahead, carry on, commence, execute the plan, implement the plan, implement the following plan, start the task, start task, start on, work on, begin, finish, complete, start with, next task, tackle: execute_plan .62, edit_code .5, implement_feature .3
commit, check in: commit .92, run_command .3
push: push .9, run_command .3
commit and push, commit push: commit .95, push .95
merge, rebase, cherry pick, pull, sync with, resolve conflict, merge conflict, conflicts: merge_rebase .8, run_command .35
release, publish, ship, deploy, cut a release, bump version, bump the version, tag: release .7, run_command .3
install, upgrade, add dependency, bump, pin, vendor: add_dependency .65, run_command .4
open a pr, create a pr, create pr, make a pr, open pr, update the pr, submit pr, raise a pr, open a pull request, create a pull request, pr description: open_or_update_pr .92, push .3
document, write doc, update doc, update the doc, update readme, update the readme, add documentation, write up, update documentation, add to changelog, update changelog, update the changelog: write_docs .85
comment, add comment, docstring, add docstring: code_comments .55, edit_code .3
optimize, optimise, speed up, make it faster, profile, benchmark, cache: performance .75, edit_code .55
create a task, create task, new task, file an issue, open an issue, create an issue, create a ticket, add a task, add task, add to backlog, add a todo: create_task .88
update the task, update task, mark as done, mark task, task status, check off, mark done, mark complete, update the spec, update the issue, close the issue, worklog, work log: update_task .8
create a session, start a session, new session, switch branch, checkout, check out, create a branch, new branch, create branch, worktree, stash, clone, session workspace: workspace_session .75, run_command .4
delegate, spawn, subagent, use an agent, parallel agent, sub agent: delegate_agent .75
name, call it, naming: naming_terms .5
log, instrument, add logging, track, add telemetry: logging_analytics .55, edit_code .5
configure, set up, setup, config: config_settings .6, edit_code .3
parse, serialize, deserialize, decode, encode, escape, render markdown: parsing_formats .5, edit_code .45
style, restyle, redesign, theme: ui_design .65, edit_code .5
migrate, port: refactor .45, edit_code .6, data_storage .3
regenerate, codegen: generated_files .7, run_command .5
"""

CUES = """
still, seems, seem to, is not, are not, not showing, not load, cannot, uncaught, nothing happens, i get, getting, run into, ran into, does not, doesn't, didn't, do not work, now the: fix_bug .3, debug_investigate .32, edit_code .35
bug, regression, broken, crash, fails, failing, doesn't work, not working, isn't working, does not work, doesn't seem, not quite right, wrong, incorrect, still not, stopped working, broke, misaligned, glitch, same issue, same error, same problem, still fails, issue persist, no longer work: fix_bug .6, debug_investigate .55, edit_code .55
error, exception, traceback, stack trace, stacktrace, warning: fix_bug .5, debug_investigate .5, edit_code .35
problem, issue, weird, strange, unexpected, confusing, odd: debug_investigate .35, fix_bug .35, edit_code .3
why, how come, what happened, what's going on, what is going on, what went wrong: debug_investigate .5, answer_question .6, explain_code .35
how does, how do, how is, what does, what is, what's, what are, where is, where are, where does, where do, which, who, when does, does this, does it, do we, is there, are there, is this, is it, are we, did you, have you, did we, have we, was this, what about, how many, how much, how long, what do, any idea, i wonder, question: answer_question .7, explain_code .3
how would, how should, should we, what if, could we, would it, is it possible, what do you think, thoughts, your opinion, pros and cons, trade offs, tradeoffs, better to, best way, which approach, what would, do you think: answer_question .65, offer_options .55, plan_or_spec .4
i don't want, i want, i'd like, i would like, should be, should have, shouldn't, should not, needs to, need to, let's, instead of, rather than, must be, we need, it should, they should, want it: edit_code .5
idea, we could, maybe we, something like, talk about: plan_or_spec .4, offer_options .25, answer_question .25
feature, new command, new option, new flag, functionality: implement_feature .45, edit_code .4
plan, proposal, design doc, spec, prd, architecture, roadmap, approach, requirements, strategy: plan_or_spec .45
following plan, per the plan, the plan, execution plan, phase, milestone, slice, step by step, next step, next steps, next phase, task list: execute_plan .45, edit_code .25
task, subtask, backlog, ticket: update_task .3, create_task .2
done, completed, in progress, in review: update_task .2
test, unit test, spec file, coverage, integration test, e2e: run_tests .4, write_test .35, change_test .3
lint, linter, type error, typescript error, compile error, build error, formatter, prettier, eslint: run_lint_build .65, edit_code .35
build fail, does it build, the build: run_lint_build .5
commit, commit message, staged, uncommitted: commit .5
remote, origin, upstream: push .25
pr, pull request: open_or_update_pr .35, review_code .3
review comment, review feedback, pr comment, copilot comment, feedback, findings, reviewer, code review: address_review .55, review_code .4, edit_code .3
nit, suggestion, recommendations: address_review .3
branch, worktree, stash, session, workspace: workspace_session .3
merge conflict, conflict marker, rebase, dev branch into: merge_rebase .6
release, version bump, changelog entry, tagging: release .5
changelog, readme, docs, documentation, guide, tutorial, markdown file, doc: write_docs .55
cursor rule, rules file, agents.md, claude.md, .cursorrules, rule, guidelines, skill, system prompt, your instructions, remember to, from now on: edit_rules .45
comment, docstring, jsdoc: code_comments .3
error message, error handling, handle error, exceptions, catch, retry, fallback, graceful, error state: error_handling .5, edit_code .3
log, logging, telemetry, analytics, metrics, debug output, otel, tracing: logging_analytics .45
output, cli, flag, terminal, footer, help text, prompt user, tui, stdout, command line, console, spinner, message should, usage text, table: cli_output_ux .35, edit_code .3
ui, ux, button, page, text, box, folder icon, layout, css, color, colour, modal, dialog, sidebar, navbar, dropdown, icon, font, margin, padding, header, style, theme, dark mode, responsive, animation, chart, card, screen, component, tooltip, gradient, border, hover, menu, image: ui_design .45, edit_code .35
config, setting, environment variable, env var, env, option, default value, toml, yaml, settings: config_settings .4
database, schema, migration, sql, sqlite, postgres, storage, persist, table schema, index on, supabase, redis, db, csv, data model: data_storage .45
performance, slow, faster, latency, memory usage, speed, optimize, optimization, bottleneck: performance .6, debug_investigate .25
security, secret, auth, authentication, permission, token, privacy, encryption, credential, vulnerability, password, sanitize, xss, csrf, api key: security_privacy .45
ci, workflow, pipeline, github action, github actions, gh action, gh workflow, build job, deploy job: ci_pipeline .6
dependency, package, library, lockfile, npm package, version of: add_dependency .35
generated, autogenerated, lock file, snapshot, build artifact: generated_files .3
agent, subagent, parallel: delegate_agent .15
file, new file, directory, folder, script: new_file .2
duplicate, duplication, shared, helper, reuse, dry, redundant, abstraction, overlapping logic, inconsistent: refactor .45, edit_code .35
unused, dead code, obsolete, no longer need, we don't need, not need, legacy: delete_code .55, edit_code .45
rename, naming, term, terminology, called, wording, name: naming_terms .4
parse, parser, json, markdown, format, regex, jsonl, xml, encoding, timestamp, serialization: parsing_formats .35
server, port, localhost, docker, shell, command: run_command .3
"""

_QUESTION_OPENERS_TEXT = """
what what's whats why how where when which who whose is are was were does do did has have had can could
would should will isn't aren't doesn't don't didn't am any shall won't wouldn't couldn't shouldn't
"""
QUESTION_OPENERS = frozenset(_QUESTION_OPENERS_TEXT.split())

REQUEST_OPENERS = frozenset(["can", "could", "would", "will", "please", "pls", "kindly", "let's", "lets"])

_ORDER_LEADS_TEXT = """
please pls and then to lets let's also now just you ok okay so we should must can could would i'll me
need needs first but i or go help us want instead either yes yeah sure kindly next finally ahead do will
might may gonna shall again actually simply maybe perhaps alright great
"""
ORDER_LEADS = frozenset(_ORDER_LEADS_TEXT.split())

_NEGATIONS_TEXT = """
don't dont never not without no avoid stop skip shouldn't mustn't cannot can't nor
"""
NEGATIONS = frozenset(_NEGATIONS_TEXT.split())

_PAST_LEADS_TEXT = """
i i've we we've you've was were been has have had already just it's he she they
"""
PAST_LEADS = frozenset(_PAST_LEADS_TEXT.split())

TRIGGER_CUES = """
type, field, string, wrapper, protocol, handler, contract, route, endpoint, lifecycle: edit_code .4
type safety, capability, when adding, adding a, any new, a new: implement_feature .45, edit_code .3
if you see, on first, does not, fall back, fallback, silently, but: debug_investigate .3
default, defaults, key, flag value, enabled, enable, disable, api key, endpoint url: config_settings .4
backend, driver, vector, upsert, collection, records, data file, dataset: data_storage .45
example, section, link, navigation, concept: write_docs .4
search, retrieval, graph, session, extract, pipeline of: explain_code .25
per pr, open a pr, submit a, maintainer, contributor, issue first, branch from: open_or_update_pr .6, create_task .2
logical change, imperative mood, before commit, hook: commit .5
job, ci job, trusted publishing, oidc: ci_pipeline .55
test, unit test, test suite, coverage, integration test, e2e test, test file, pytest, vitest, jest, fixture, mock, assertion, test case, tests: write_test .7, run_tests .5, change_test .45
run test, run the test, run all tests, test pass, tests must pass, go test, npm test, test runner, bun test: run_tests .85, write_test .4, change_test .35
write test, add test, new test, test first, tdd, test driven, regression test, failing test first: write_test .9, fix_bug .45, implement_feature .4
lint, linter, format, formatter, formatting, ruff, eslint, prettier, gofmt, golangci lint, black, mypy, typecheck, type check, line length, static check, pre commit: run_lint_build .8, edit_code .5
build, compile, bundle, tsc, build command, rebuild: run_lint_build .6, run_command .4
after every change, after every code change, after each change, whenever you change code, code style, convention, conventions, style guide, indentation, naming convention, idiomatic, functions, function, helper, class, method, module, import, imports, code, codebase, implementation, interface, type hint, typescript, source file, constant, dependency injection, pattern, api, singleton, async, parameter, argument, component, adapter: edit_code .55
new feature, feature, add support, new command, new provider, implement, implementing, extend, extension point, new endpoint: implement_feature .55, edit_code .4
bug, fix, bugfix, broken, regression, workaround, breaks: fix_bug .55, debug_investigate .4
error, exception, crash, fails, failure, stack trace, traceback, hang, timeout, deadlock, flaky, not found, gotcha, pitfall, troubleshooting, symptom, diagnose, debug, root cause, debugging: debug_investigate .6, fix_bug .35
refactor, restructure, extract, duplicate code, duplication, dry, backward compatible, backwards compatible, backward compatibility, breaking change, deprecated, legacy: refactor .6, edit_code .4
rename, move, renamed, moved: rename_move .5, refactor .3
delete, remove, dead code, unused, deletion: delete_code .45
new file, directory, folder, file name, filename, structure, layout, lives in, goes in, placed in, located, put new, create file, file structure: new_file .5, edit_code .3, explain_code .3
dependency, dependencies, package, install, lockfile, package manager, library, third party, requirements, npm install, pip install, version pin: add_dependency .65
command, script, cli command, run with, run the, start the server, docker, make target, npm run, bun run, uv run, terminal, shell, execute: run_command .55
architecture, overview, component of, consists of, module that, responsible for, entry point, is the, implements, provides, handles, contains: explain_code .45
explain, answer, question, short answer, concise, tone, response, respond, ask the user, clarify: answer_question .55
option, options, alternatives, choices, trade off, trade offs, recommend: offer_options .5
plan, planning, spec, design, proposal, roadmap, requirements document, design document, milestone, phase, estimates: plan_or_spec .6
following the plan, execute the plan, each step, step by step, implementation step, subtask, work plan: execute_plan .5
task, tasks, backlog, ticket, todo, issue, issue tracker, new task: create_task .45, update_task .4
task status, mark as, work log, worklog, task document, task spec: update_task .6
review, code review, reviewer, reviewing, audit: review_code .6
review comment, feedback, review feedback, reviewer comment: address_review .6
commit, commits, commit message, conventional commit, git commit, staged, co authored, signed off, commit scope: commit .9
push, force push, git push, pushed, remote branch: push .85
pull request, pr, prs, pr description, pr title, draft pr: open_or_update_pr .85, push .2
merge, rebase, squash, merge conflict, cherry pick, main branch, conflict: merge_rebase .6
release, version, changelog, publish, semver, tag, deploy, deployment, bump, ship: release .65
docs, documentation, readme, markdown, doc, documented, guide, write up, prose, heading, mdx: write_docs .75
rule, rules, agents.md, claude.md, cursor rule, skill, instructions for agents, system prompt: edit_rules .5
comment, comments, docstring, jsdoc, todo comment, docstrings: code_comments .75, edit_code .5
error handling, error message, raise, throw, catch, retry, fallback, exit code, error wrapping, swallow, graceful, error class: error_handling .7, edit_code .5
log, logging, logger, telemetry, analytics, metrics, tracing, slog, debug log, instrumentation, event: logging_analytics .6, edit_code .35
output, stdout, stderr, flag, flags, help text, user facing message, cli, terminal output, tui, emoji, progress bar: cli_output_ux .55, edit_code .35
ui, ux, button, page, layout, css, color, modal, dialog, theme, tailwind, responsive, accessibility, icon, font, design system, frontend, component library, view: ui_design .65, edit_code .35
config, configuration, setting, settings, environment variable, env var, env, option default, default value, toml, yaml, default: config_settings .65
database, schema, migration, sql, sqlite, postgres, table, storage, store, persist, vector store, index, orm, graph database, collection, cache, neo4j, redis: data_storage .65, edit_code .3
performance, slow, fast, latency, memory usage, throughput, benchmark, cost, concurrency, parallel, batch, optimize, n+1: performance .6
secret, security, auth, authentication, permission, token, privacy, encryption, credential, vulnerability, password, sanitize, api key, telemetry opt out, access control, injection: security_privacy .65
workspace, worktree, branch, session, checkout, git branch, feature branch, environment setup, virtual environment, local setup, clone: workspace_session .5
ci, workflow, pipeline, github action, github actions, build job, deploy job, runner: ci_pipeline .65
generated, autogenerated, do not edit, codegen, regenerate, lock file, snapshot, build artifact: generated_files .7, edit_code .3
subagent, sub agent, delegate, parallel agent, agent tool: delegate_agent .7
name, naming, called, term, terminology, wording, abbreviation, prefix, suffix, spelled, snake case, camelcase, kebab case: naming_terms .55, edit_code .3
parse, parser, json, format of, regex, jsonl, xml, encoding, timestamp, serialization, markdown rendering, utf, escape, date format, serialize: parsing_formats .5, edit_code .35
reproduce, reproduction, repro: reproduce_bug .7
"""
"""Of a memory: how surely an agent in that action should have one that speaks of it."""

ALWAYS_ANSWER = (
    r"\b(?:always|never|please|must|should|prefers?|wants?|likes?)\b[^.]{0,60}\b(?:answer|answers|reply|replies|respond|responses?|speak|talk to|address (?:me|the user)|call (?:me|the user)|write (?:to|back))\b"
    r"|\b(?:answer|reply|respond|speak)\b (?:\w+ ){0,3}(?:in|with|briefly|concisely|short|always|without)\b"
    r"|\b(?:my name is|the user(?:'s name)? is (?:called )?[A-Z]|call me|i am a|i'm a|pronouns)\b|\b(?:be|keep answers|keep responses|stay) (?:brief|concise|terse|short|direct)\b|\b(?:no|without) (?:emojis?|flattery|preamble|apolog\w+)\b"
)


# --- look-up

_MARKS = frozenset("?!.;:\n(),-")
_TELLERS = frozenset({"i'll", "ill", "i'd", "i've"})
_MAX_PHRASE = 4

Weights = tuple[tuple[str, float], ...]


PhraseTable = dict[tuple[str, ...], Weights]


def load_table(table: str) -> PhraseTable:
    """Read a table of `phrase, phrase: class weight, class weight` lines; phrases are kept as stems."""
    phrases: PhraseTable = {}
    for line in table.strip().splitlines():
        heads, _, tail = line.rpartition(": ")
        pairs = [pair.split() for pair in tail.split(", ")]
        weights = tuple((name, float(value)) for name, value in pairs)
        for head in heads.split(", "):
            key = tuple(light_stem(token) for token in PHRASE_TOKEN.findall(head))
            phrases[key] = weights
    return phrases


VERB_TABLE = load_table(VERBS)
CUE_TABLE = load_table(CUES)


_FIRST = frozenset(key[0] for key in (*VERB_TABLE, *CUE_TABLE))


@dataclass(slots=True)
class Evidence:
    """Chances per action class, gathered as independent evidence: 1 - product of (1 - weight)."""

    chances: dict[str, float] = field(default_factory=dict[str, float])
    phrases: list[str] = field(default_factory=list[str])
    denied: list[str] = field(default_factory=list[str])

    def add(self, weights: Weights, factor: float, phrase: Sequence[str] = ()) -> None:
        """Count `weights` times `factor` for their classes; `phrase` are the words that spoke for them."""
        chances = self.chances
        for name, weight in weights:
            chances[name] = 1.0 - (1.0 - chances.get(name, 0.0)) * (1.0 - weight * factor)
        if phrase and factor >= 0.5 and len(self.phrases) < 8:
            self.phrases.append(" ".join(phrase))

    def raise_to(self, name: str, chance: float) -> None:
        """Make `name` at least `chance`."""
        if chance > self.chances.get(name, 0.0):
            self.chances[name] = chance

    def ranked(self, *, least: float = 0.08, most: int = 12) -> Weights:
        """(class, chance), highest first, ties by name; chances are capped at 0.97 and rounded to three places."""
        likely = [(name, round(min(p, 0.97), 3)) for name, p in self.chances.items() if p >= least]
        return tuple(sorted(likely, key=lambda item: (-item[1], item[0]))[:most])


def read_words(prose: str, evidence: Evidence, *, scale: float = 1.0) -> None:
    """Add what the words of `prose` announce to `evidence`, every phrase once, longest phrase first."""
    words = PHRASE_TOKEN.findall(prose.lower().replace("’", "'"))
    stems = list(map(light_stem, words))
    factors: dict[tuple[str, ...], float] = {}
    after = 0
    for position, word in enumerate(stems):
        if position < after or word not in _FIRST:
            continue
        key = _longest(stems, position, VERB_TABLE, CUE_TABLE)
        if not key:
            continue
        size = len(key)
        after = position + size
        verb, cue = VERB_TABLE.get(key), CUE_TABLE.get(key)
        orders = verb is not None and _orders(words, position)
        factor = _factor(words, position, is_verb=verb is not None and (size > 1 or cue is None or orders))
        if factor <= 0.0:
            evidence.denied.append(" ".join(stems[position:after]))
        chosen = verb if verb is not None and (cue is None or orders) else cue
        before = factors.get(key, 0.0)
        if chosen is not None and factor > before:
            evidence.add(chosen, scale * (factor - before), words[position:after])
            factors[key] = factor


def _longest(stems: list[str], position: int, *tables: PhraseTable) -> tuple[str, ...]:
    """The longest phrase of `tables` that starts at `position`; empty where there is none."""
    for size in range(min(_MAX_PHRASE, len(stems) - position), 0, -1):
        key = tuple(stems[position : position + size])
        if any(key in table for table in tables):
            return key
    return ()


def read_table(prose: str, table: PhraseTable, evidence: Evidence) -> None:
    """Add what the phrases of `table` found in `prose` speak for, every phrase once, longest first. Knows no orders."""
    stems = [light_stem(word) for word in PHRASE_TOKEN.findall(prose.lower().replace("’", "'"))]
    seen_keys: set[tuple[str, ...]] = set()
    position = 0
    while position < len(stems):
        key = _longest(stems, position, table)
        if key and key not in seen_keys:
            seen_keys.add(key)
            evidence.add(table[key], 1.0, key)
        position += len(key) or 1


def _orders(words: list[str], position: int) -> bool:
    """Whether an order can stand at `position`: a clause starts there, or a word that leads to an order precedes."""
    if position == 0:
        return True
    before = words[position - 1]
    return before in _MARKS or before in ORDER_LEADS


def _factor(words: list[str], position: int, *, is_verb: bool) -> float:
    start = position
    least = max(0, position - 4)
    while start > least and words[start - 1] not in _MARKS:
        start -= 1
    lead = words[start:position]
    if _negated(lead):
        return 0.0 if is_verb else 0.35
    if lead and (
        not _TELLERS.isdisjoint(lead)
        or (
            lead[-1] in ("to", "me")
            and " ".join(lead[-3:]).endswith(("i am going to", "let me", "i'm going to"))
        )
    ):
        return 0.2  # the person will do it, or did
    if not is_verb:
        return 1.0
    word = words[position]
    if lead and lead[-1] in PAST_LEADS and word.endswith("ed"):
        return 0.25
    if _orders(words, position):
        return 1.0
    return 0.3 if word.endswith("ed") else 0.5


def _negated(lead: list[str]) -> bool:
    if NEGATIONS.isdisjoint(lead):
        return False
    for i, word in enumerate(lead):
        if word not in NEGATIONS:
            continue
        after = lead[i + 1 :]
        if word in ("don't", "dont", "not", "can't", "cannot") and after[:1] in (
            ["forget"],
            ["only"],
            ["hesitate"],
        ):
            return False
        if word in ("don't", "dont") and i > 0 and lead[i - 1] not in ORDER_LEADS:
            continue  # "the tests don't run" tells, it does not forbid
        if word == "no" and len(after) > 2:
            continue
        return True
    return False
