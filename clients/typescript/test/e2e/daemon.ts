// The client against a real daemon with the shipped model; tests/e2e/test_e2e_typescript.py starts it and runs this.

import assert from "node:assert/strict"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { Tacit, type Hit } from "@tacit/client"

const url = process.env["DAEMON_URL"]
const tacit = new Tacit({ strict: true, deadlineMs: 20_000, ...(url ? { url, home: "/nowhere" } : {}) })
const contents = (hits: Hit[] | undefined) => (hits ?? []).map(({ memory }) => memory.content).join("\n")

test("a session gets what it needs at each moment", async () => {
  await tacit.remember("Run `make lint` before every commit.", { when: "commit" })
  const session = tacit.session("moments")
  assert.match((await session.start())?.context ?? "", /make lint/)
  await tacit.remember("Releases are announced in the channel harbor, in Portuguese.", { when: "release" })
  await tacit.remember("`make schema` fails with `ModuleNotFoundError: No module named 'orders_schema'` until `make generate` has run.", { kind: "error_pattern" })
  const asked = { previous: "All of it works now.", key: "p1" }
  const block = await session.prompt("Announce the release of version 2.4 to our users.", asked)
  assert.match(block?.context ?? "", /harbor/)
  assert.equal(block?.surface, "prompt")
  const again = await session.prompt("Announce the release of version 2.4 to our users.", asked)
  assert.equal(again?.context, block?.context)
  const call = { tool: "bash", callId: "c1", args: { command: "make schema" } }
  const note = await session.before(call)
  assert.match(note?.context ?? "", /make generate/)
  assert.equal(note?.surface, "action")
  await tacit.remember("`npm run seed` fails with `ECONNREFUSED 127.0.0.1:5433` until `docker compose up db` has run.", { kind: "error_pattern" })
  const error = "Exit code 1\nError: connect ECONNREFUSED 127.0.0.1:5433"
  const fix = await session.after({ tool: "bash", callId: "c3", args: { command: "npm run demo-data" }, error })
  assert.match(fix?.context ?? "", /docker compose up db/)
  assert.equal(fix?.surface, "failure")
  assert.equal(await session.after({ tool: "bash", callId: "c2", args: { command: "ls" }, output: "Makefile" }), undefined)
  await session.compacting()
  assert.match((await session.compacted())?.context ?? "", /make lint/)
  await session.end()
})

test("memories are found by meaning and forgotten", async () => {
  const [change] = (await tacit.remember("We chose PostgreSQL over MySQL because of its JSON support.")) ?? []
  assert.equal(change?.change, "add")
  assert.match(contents(await tacit.search("which database do we use?")), /PostgreSQL/)
  assert.ok(change && "memory" in change && change.memory)
  await tacit.forget(change.memory.id, { reason: "we moved" })
  assert.doesNotMatch(contents(await tacit.search("which database do we use?")), /PostgreSQL/)
})

test("a conversation that is handed over is learned from", async () => {
  const session = tacit.session("captured")
  await session.start()
  const said = "From now on, name every feature branch after its ticket, such as SHOP-12-cart."
  await session.capture({ messages: [{ role: "user", content: said }, { role: "assistant", content: "I will name them so." }] })
  await session.end()
  for (let left = 60; left && !/SHOP-12/.test(contents(await tacit.search("how are branches named?"))); left -= 1) await sleep(250)
  assert.match(contents(await tacit.search("how are branches named?")), /SHOP-12/)
})

test("what the daemon refuses says what would be right", async () => {
  await assert.rejects(tacit.event({ event: "promt", session: "s" } as never), {
    code: "invalid_payload",
    status: 400,
    message: /field 'event' is wrong: it is 'promt'/,
    hint: /one of start, prompt.*bring-your-own-agent\.md/,
  })
  await assert.rejects(tacit.forget("mem_none"), { code: "not_found", status: 404 })
})
