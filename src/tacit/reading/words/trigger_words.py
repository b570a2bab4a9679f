"""Words of a memory that say when it applies. Data only; `trigger` looks them up.

In: nothing. Out: one table, as in `action_words`: `phrase, phrase: class weight, class weight`. Weights are how surely
an agent in that action should have a memory that speaks of it.
"""

from __future__ import annotations

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

ALWAYS_ANSWER = (
    r"\b(?:always|never|please|must|should|prefers?|wants?|likes?)\b[^.]{0,60}\b(?:answer|answers|reply|replies|respond|responses?|speak|talk to|address (?:me|the user)|call (?:me|the user)|write (?:to|back))\b"
    r"|\b(?:answer|reply|respond|speak)\b (?:\w+ ){0,3}(?:in|with|briefly|concisely|short|always|without)\b"
    r"|\b(?:my name is|the user(?:'s name)? is (?:called )?[A-Z]|call me|i am a|i'm a|pronouns)\b|\b(?:be|keep answers|keep responses|stay) (?:brief|concise|terse|short|direct)\b|\b(?:no|without) (?:emojis?|flattery|preamble|apolog\w+)\b"
)
