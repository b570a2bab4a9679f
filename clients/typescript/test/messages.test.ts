// What is read of the messages of an AI SDK prompt, and where a block stands in them.

import assert from "node:assert/strict"
import { test } from "node:test"
import type { LanguageModelV3Message, LanguageModelV3ToolResultOutput } from "@ai-sdk/provider"
import { place, read, slotsOf, transcript } from "../src/ai-sdk/messages.js"

const user = (text: string, more: object = {}): LanguageModelV3Message => ({ role: "user", content: [{ type: "text", text }], ...more })
const result = (output: LanguageModelV3ToolResultOutput): LanguageModelV3Message => ({
  role: "tool",
  content: [{ type: "tool-result", toolCallId: "c1", toolName: "bash", output }],
})
const block = () => "BLOCK"

test("a message is named by what it holds, not by what providers are told beside it", () => {
  const name = (message: LanguageModelV3Message) => read(message).digest
  assert.equal(name(user("Hi")), name(user("Hi", { providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } })))
  assert.notEqual(name(user("Hi")), name(user("Ho")))
  const picture = (data: Uint8Array): LanguageModelV3Message => ({
    role: "user",
    content: [{ type: "text", text: "Hi" }, { type: "file", mediaType: "image/png", data }],
  })
  assert.notEqual(name(picture(new Uint8Array([1]))), name(picture(new Uint8Array([2]))))
  assert.equal(name({ role: "user", content: [{ type: "file", mediaType: "image/png", data: "aGk=" }] }), "")
})

test("words said twice are two messages, and results go by their call", () => {
  const [first, second, third] = slotsOf([read(user("yes")), read(user("yes")), read(result({ type: "text", value: "ok" }))])
  assert.equal(second![0], `${first![0]}#2`)
  assert.deepEqual(third, ["call:c1"])
})

test("a block stands behind a prompt and behind every kind of result, and nothing that came in changes", () => {
  const said = user("Hi")
  const before = structuredClone(said)
  assert.deepEqual(place(said, ["s"], block), { role: "user", content: [{ type: "text", text: "Hi" }, { type: "text", text: "BLOCK" }] })
  assert.deepEqual(said, before)
  assert.equal(place(said, ["s"], () => ""), said)
  const placed = (output: LanguageModelV3ToolResultOutput) => {
    const { content } = place(result(output), ["call:c1"], block) as ReturnType<typeof result> & { role: "tool" }
    assert.ok(content[0]!.type === "tool-result")
    return content[0]!.output
  }
  assert.deepEqual(placed({ type: "text", value: "ok" }), { type: "text", value: "ok\n\nBLOCK" })
  assert.deepEqual(placed({ type: "json", value: { a: 1 } }), { type: "text", value: '{"a":1}\n\nBLOCK' })
  assert.deepEqual(placed({ type: "error-text", value: "no" }), { type: "error-text", value: "no\n\nBLOCK" })
  assert.deepEqual(placed({ type: "error-json", value: [1] }), { type: "error-text", value: "[1]\n\nBLOCK" })
  assert.deepEqual(placed({ type: "content", value: [] }), { type: "content", value: [{ type: "text", text: "BLOCK" }] })
})

test("capture gets words, calls and results", () => {
  const called: LanguageModelV3Message = {
    role: "assistant",
    content: [{ type: "reasoning", text: "hm" }, { type: "tool-call", toolCallId: "c1", toolName: "bash", input: { command: "ls" } }],
  }
  const told = transcript([user("Hi"), called, result({ type: "error-text", value: "no" })].map(read))
  assert.deepEqual(told, [
    { role: "user", content: "Hi" },
    { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "bash", input: { command: "ls" } }] },
    { role: "tool", tool_call_id: "c1", is_error: true, content: "no" },
  ])
})
