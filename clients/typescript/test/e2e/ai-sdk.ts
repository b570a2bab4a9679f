// The middleware in front of real providers of the AI SDK and a stub model; tests/e2e/test_e2e_typescript.py looks at the requests.

import assert from "node:assert/strict"
import { test } from "node:test"
import { createAnthropic } from "@ai-sdk/anthropic"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import type { LanguageModelV3 } from "@ai-sdk/provider"
import { Tacit } from "@tacit/client"
import { flush, memory } from "@tacit/client/ai-sdk"
import { generateText, jsonSchema, stepCountIs, streamText, tool, wrapLanguageModel, type ModelMessage } from "ai"

const url = `${process.env["MODEL_URL"]}/v1`
const bare: LanguageModelV3 =
  process.env["MODEL_API"] === "anthropic"
    ? createAnthropic({ baseURL: url, apiKey: "none" })("stub")
    : createOpenAICompatible({ name: "stub", baseURL: url })("stub")
const tools = {
  bash: tool({
    description: "Run a command.",
    inputSchema: jsonSchema<{ command: string }>({ type: "object", properties: { command: { type: "string" } } }),
    execute: ({ command }) => {
      if (command === "make schema") throw new Error("Exit code 1\nModuleNotFoundError: No module named 'orders_schema'")
      return { stdout: "ok" }
    },
  }),
}
const prompts = [
  "Good morning!",
  "Announce the release of version 2.4 to our users.",
  "Renew the table definitions.",
  "From now on, name every feature branch after its ticket, such as SHOP-12-cart.",
]

test("a conversation keeps its blocks, also in a new process", async () => {
  const messages: ModelMessage[] = []
  for (const [at, prompt] of prompts.entries()) {
    // Every turn has a client of its own, as if each came to another process.
    const tacit = new Tacit({ strict: true, deadlineMs: 20_000, token: "" })
    const model = wrapLanguageModel({ model: bare, middleware: memory(tacit, { session: "chat-7", capture: true }) })
    messages.push({ role: "user", content: prompt })
    const sent = { model, tools, messages: structuredClone(messages), system: "You are terse.", stopWhen: stepCountIs(4) }
    if (at % 2) {
      const result = streamText(sent)
      await result.consumeStream()
      messages.push(...(await result.response).messages)
      assert.ok((await result.text).length)
    } else {
      const result = await generateText(sent)
      messages.push(...result.response.messages)
      assert.ok(result.text.length)
    }
    assert.doesNotMatch(JSON.stringify(messages), /tacit-memory/, "the program's own messages stay as they are")
    await flush()
    if (at === 0) await learnMeanwhile()
  }
})

/** What the user says elsewhere while the conversation goes on: it is not in its start pack. */
async function learnMeanwhile(): Promise<void> {
  const tacit = new Tacit({ strict: true })
  await tacit.remember("Releases are announced in the channel harbor, in Portuguese.", { when: "release" })
  const fails = "`make schema` fails with `ModuleNotFoundError: No module named 'orders_schema'` until `make generate` has run."
  await tacit.remember(fails, { kind: "error_pattern" })
}

test("without `capture` nothing is learned, not even what is stated outright", async () => {
  const tacit = new Tacit({ strict: true, deadlineMs: 20_000, token: "" })
  const model = wrapLanguageModel({ model: bare, middleware: memory(tacit, { session: "quiet" }) })
  const said = "Remember that deployment is Kubernetes with Helm on GCP, run by deploy/release.sh."
  await generateText({ model, prompt: `${said} STUB_TEXT noted` })
  await flush()
})
