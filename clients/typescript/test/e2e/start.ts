// A program that asks for a daemon where none runs; tests/e2e/test_e2e_typescript.py looks whether one came.

import assert from "node:assert/strict"
import { test } from "node:test"
import { Tacit } from "@tacit/client"

test("a request that may start the daemon waits for it", async () => {
  assert.equal(await new Tacit().remember("The canary runs in Lisbon."), undefined)
  const changes = await new Tacit({ start: true, strict: true }).remember("The canary runs in Lisbon.")
  assert.equal(changes?.[0]?.change, "add")
})
