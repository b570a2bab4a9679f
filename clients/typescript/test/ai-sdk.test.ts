// The middleware around a model in this process: streams, failures of the memory, and what is handed over for capture.

import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { Tacit, type TacitError } from "@tacit/client"
import { flush, memory } from "@tacit/client/ai-sdk"
import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamPart, LanguageModelV3Usage } from "@ai-sdk/provider"
import { generateText, streamText, wrapLanguageModel, type ModelMessage } from "ai"

type Event = Record<string, unknown> & { event: string }
const usage: LanguageModelV3Usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}
const finishReason = { unified: "stop", raw: "stop" } as const

/** A model that says "one two three", slowly where it streams, and keeps what it was asked. */
function slowModel(gapMs = 0) {
  const asked: LanguageModelV3CallOptions[] = []
  const model: LanguageModelV3 = {
    specificationVersion: "v3",
    provider: "test",
    modelId: "slow",
    supportedUrls: {},
    async doGenerate(options) {
      asked.push(options)
      return { content: [{ type: "text", text: "one two three" }], finishReason, usage, warnings: [] }
    },
    async doStream(options) {
      asked.push(options)
      const words: LanguageModelV3StreamPart[] = ["one", " two", " three"].map((delta) => ({ type: "text-delta", id: "t", delta }))
      const parts: LanguageModelV3StreamPart[] = [
        { type: "stream-start", warnings: [] },
        { type: "text-start", id: "t" },
        ...words,
        { type: "text-end", id: "t" },
        { type: "finish", finishReason, usage },
      ]
      const stream = new ReadableStream<LanguageModelV3StreamPart>({
        async pull(controller) {
          const part = parts.shift()
          if (!part) return controller.close()
          if (part.type === "text-delta") await sleep(gapMs)
          controller.enqueue(part)
        },
      })
      return { stream }
    },
  }
  return { model, asked }
}

/** A stand-in for the daemon that answers by event. */
async function withDaemon(answers: (event: Event) => unknown, work: (home: string, events: Event[]) => Promise<void>): Promise<void> {
  const home = mkdtempSync("/tmp/tc-")
  mkdirSync(join(home, "run"), { mode: 0o700 })
  const events: Event[] = []
  const server = createServer((request, response) => {
    let text = ""
    request.on("data", (part) => (text += part))
    request.on("end", () => {
      const event = JSON.parse(text) as Event
      events.push(event)
      const answer = answers(event)
      response.end(answer === undefined ? "" : JSON.stringify(answer))
    })
  })
  await new Promise<void>((done) => server.listen(join(home, "run", "daemon.sock"), done))
  try {
    await work(home, events)
  } finally {
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
    rmSync(home, { recursive: true, force: true })
  }
}

const texts = (options: LanguageModelV3CallOptions) => JSON.stringify(options.prompt)
const byEvent = ({ event }: Event) => (event === "start" ? { system: "PACK" } : event === "prompt" ? { text: "BLOCK" } : undefined)

test("a stream is passed on as it comes", async () => {
  await withDaemon(byEvent, async (home) => {
    const { model, asked } = slowModel(120)
    const wrapped = wrapLanguageModel({ model, middleware: memory(new Tacit({ home, deadlineMs: 5000 }), { session: "s", capture: true }) })
    const arrived: number[] = []
    for await (const _ of streamText({ model: wrapped, prompt: "Hi" }).textStream) arrived.push(performance.now())
    assert.equal(arrived.length, 3)
    assert.ok(arrived[2]! - arrived[0]! > 150, "the first word came long before the last")
    assert.match(texts(asked[0]!), /PACK.*Hi.*BLOCK/)
  })
})

test("without a daemon the request goes out as it is", async () => {
  const failures: TacitError[] = []
  const { model, asked } = slowModel()
  const tacit = new Tacit({ home: "/tmp/tc-there-is-none", onFailure: (error) => void failures.push(error) })
  const prompt = [{ role: "user" as const, content: "Hi" }]
  const bare = await generateText({ model, messages: prompt })
  const wrapped = await generateText({ model: wrapLanguageModel({ model, middleware: memory(tacit, { session: "s", capture: true }) }), messages: prompt })
  assert.equal(wrapped.text, bare.text)
  assert.deepEqual(asked[1]!.prompt, asked[0]!.prompt)
  await flush()
  assert.ok(failures.every((error) => error.code === "daemon_unavailable") && failures.length)
})

test("with a strict client a request without memory fails", async () => {
  const { model, asked } = slowModel()
  const tacit = new Tacit({ home: "/tmp/tc-there-is-none", strict: true })
  const wrapped = wrapLanguageModel({ model, middleware: memory(tacit, { session: "s" }) })
  await assert.rejects(generateText({ model: wrapped, prompt: "Hi", maxRetries: 0 }), { code: "daemon_unavailable" })
  assert.equal(asked.length, 0)
})

test("a turn is handed over only where that was chosen", async () => {
  await withDaemon(byEvent, async (home, events) => {
    const tacit = new Tacit({ home, deadlineMs: 5000 })
    const { model } = slowModel()
    for (const capture of [false, true]) {
      const wrapped = wrapLanguageModel({ model, middleware: memory(tacit, { session: `s-${capture}`, capture }) })
      await generateText({ model: wrapped, prompt: "Hi" })
      await flush()
    }
    const ended = events.filter(({ event }) => event === "message_end")
    assert.deepEqual(ended.map(({ session, text, messages }) => ({ session, text, messages })), [
      {
        session: "s-true",
        text: "one two three",
        messages: [
          { role: "user", content: "Hi" },
          { role: "assistant", content: [{ type: "text", text: "one two three" }] },
        ],
      },
    ])
  })
})

test("a message that went out bare stays bare, and a summary in place of the messages begins anew", async () => {
  let late = true
  await withDaemon((event) => (event.event === "prompt" && late ? undefined : byEvent(event)), async (home, events) => {
    const { model, asked } = slowModel()
    const wrapped = wrapLanguageModel({ model, middleware: memory(new Tacit({ home, deadlineMs: 5000 }), { session: "s" }) })
    const messages: ModelMessage[] = [{ role: "user", content: "first" }]
    await generateText({ model: wrapped, messages })
    late = false
    messages.push({ role: "assistant", content: "one" }, { role: "user", content: "second" })
    await generateText({ model: wrapped, messages })
    const counts = asked[1]!.prompt.map((message) => (JSON.stringify(message).match(/BLOCK/g) ?? []).length)
    assert.deepEqual(counts, [0, 0, 0, 1], "the start pack, the first prompt, the answer, the second prompt")
    await generateText({ model: wrapped, messages: [{ role: "user", content: "A summary. Go on." }] })
    assert.deepEqual(events.filter(({ event }) => event === "start").map(({ source }) => source), ["startup", "compact"])
  })
})
