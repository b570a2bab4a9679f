// Runs one scenario on the plugin with a scripted daemon and prints what happened as JSON.
// usage: node opencode_driver.mjs PLUGIN.mjs SCENARIO
import { pathToFileURL } from "node:url"

const [, , file, name] = process.argv
const sent = []
let answer = () => ({})
let down = false

const waits = [] // milliseconds that each request may take
const limit = AbortSignal.timeout.bind(AbortSignal)
AbortSignal.timeout = (ms) => {
  waits.push(ms)
  return limit(ms)
}

globalThis.fetch = (url, options) => {
  const payload = JSON.parse(options.body)
  sent.push(payload)
  if (down) return Promise.reject(Object.assign(new Error("no socket"), { code: "FailedToOpenSocket" }))
  return new Promise((resolve, reject) => {
    options.signal.addEventListener("abort", () => reject(options.signal.reason))
    const reply = answer(payload)
    if (reply === "never") return
    const body = reply === undefined ? "" : typeof reply === "string" ? reply : JSON.stringify(reply)
    resolve({ ok: true, text: async () => body })
  })
}

let copies = 0
const load = async () => {
  delete globalThis[Symbol.for("tacit.opencode")]
  return (await import(pathToFileURL(file).href + "?copy=" + copies++)).default
}
const client = { session: { get: async ({ path }) => ({ data: { id: path.id, directory: "/w", parentID: path.id === "child" ? "s1" : undefined } }) } }
const open = async () => (await load()).server({ client, directory: "/w" })
const events = (kind) => sent.filter((payload) => payload.event === kind)
const copy = (value) => JSON.parse(JSON.stringify(value))

const user = (id, text = "hi") => ({ info: { id, role: "user", sessionID: "s1" }, parts: [{ id: "prt_" + id, type: "text", text }] })
const tool = (id, call, state, tool = "read") => ({ info: { id, role: "assistant", sessionID: "s1" }, parts: [{ id: "prt_" + id, type: "tool", tool, callID: call, state }] })
const say = (hooks, id, session = "s1", text = "hi") =>
  hooks["chat.message"]({ sessionID: session }, { message: { id, agent: "build" }, parts: [{ type: "text", text }, { type: "text", text: "machine", synthetic: true }] })
const system = async (hooks, first = "You are x <env> y", session = "s1") => {
  const output = { system: [first] }
  await hooks["experimental.chat.system.transform"]({ sessionID: session, model: {} }, output)
  return output.system
}
const messages = async (hooks, list) => {
  const output = { messages: copy(list) }
  await hooks["experimental.chat.messages.transform"]({}, output)
  return output.messages
}
const scripted = (payload) => {
  if (payload.event === "session.start") return { system: "START" }
  if (payload.event === "compacted") return { system: "AFTER" }
  if (payload.event === "subagent") return { system: "SUB" }
  if (payload.event === "prompt") return { text: "FOR " + payload.messageID }
  if (payload.event === "tool.failed") return { text: "FIX " + payload.callID }
  if (payload.event === "tool.after") return { text: "RULE " + payload.callID }
  if (payload.event === "replay") return { texts: { m1: "FOR m1", "call:c1": "FIX c1", "call:c2": "RULE c2" } }
}

const scenarios = {
  async shape() {
    const module = await import(pathToFileURL(file).href)
    return { names: Object.keys(module), id: module.default.id, server: typeof module.default.server, setup: typeof module.default.setup }
  },
  async hooks() {
    return Object.keys(await open())
  },
  async start_text() {
    answer = scripted
    const hooks = await open()
    await hooks.event({ event: { type: "session.created", properties: { info: { id: "s1", directory: "/w" } } } })
    await say(hooks, "m1")
    return {
      first: await system(hooks), second: await system(hooks),
      title: await system(hooks, "You are a title generator"), compaction: await system(hooks, "Summarise"),
      starts: events("session.start"), prompts: events("prompt"),
    }
  },
  async prompt_text() {
    answer = scripted
    const hooks = await open()
    await say(hooks, "m1")
    const first = await messages(hooks, [user("m1")])
    await say(hooks, "m2")
    const second = await messages(hooks, [user("m1"), user("m2")])
    return { first, second, again: await messages(hooks, [user("m1"), user("m2")]), replays: events("replay").length }
  },
  async tool_texts() {
    answer = scripted
    const hooks = await open()
    await say(hooks, "m1")
    await hooks.event({ event: { type: "message.part.updated", properties: { part: { ...tool("a1", "c1", { status: "error", input: { filePath: "/x" }, error: "gone" }).parts[0], sessionID: "s1" } } } })
    const output = { title: "", output: "fine", metadata: { exit: 3 } }
    await hooks["tool.execute.after"]({ tool: "bash", sessionID: "s1", callID: "c2", args: { command: "make" } }, output)
    const list = [user("m1"), tool("a1", "c1", { status: "error", input: {}, error: "gone" }), tool("a2", "c2", { status: "completed", output: "fine" }, "bash"), tool("a3", "c3", { status: "error", input: {}, error: "late" })]
    const first = await messages(hooks, list)
    return { output, first, again: await messages(hooks, list), failed: events("tool.failed").length, after: events("tool.after") }
  },
  async replay() {
    answer = scripted
    const list = [user("m1"), tool("a1", "c1", { status: "error", input: {}, error: "gone" }), tool("a2", "c2", { status: "completed", output: "fine" }, "bash"), user("old"), tool("a3", "c9", { status: "completed", output: "x" })]
    const hooks = await open()
    const first = await messages(hooks, list)
    return { first, again: await messages(hooks, list), replays: events("replay"), failed: events("tool.failed").length, starts: (await system(hooks), events("session.start")) }
  },
  async compaction() {
    answer = scripted
    const hooks = await open()
    await say(hooks, "m1")
    const before = await system(hooks)
    await hooks["experimental.session.compacting"]({ sessionID: "s1" }, { context: [] })
    const clone = await messages(hooks, [user("m1")])
    await hooks["experimental.text.complete"]({ sessionID: "s1", messageID: "sum" }, { text: "summary" })
    await hooks.event({ event: { type: "session.compacted", id: "evt_1", properties: { sessionID: "s1" } } })
    return { before, clone, after: await system(hooks), again: await system(hooks), compacted: events("compacted"), idle: (await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s1" } } }), events("idle").length) }
  },
  async message_end() {
    const hooks = await open()
    await say(hooks, "m1")
    await hooks["experimental.text.complete"]({ sessionID: "s1", messageID: "a1" }, { text: "x".repeat(9000) + "Shall I?" })
    await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s1" } } })
    await say(hooks, "m2", "s1", "yup")
    return { idle: events("idle")[0], prompt: events("prompt")[1] }
  },
  async subagent() {
    answer = scripted
    const hooks = await open()
    await say(hooks, "m1", "child", "look around")
    await say(hooks, "m2", "child", "go on")
    return { system: await system(hooks, "<env>", "child"), kinds: sent.map((payload) => payload.event).filter((kind) => kind !== "ping"), first: events("subagent")[0] }
  },
  async slow_fork() {
    answer = scripted
    const later = (ms, value) => new Promise((done) => setTimeout(() => done({ data: value }), ms))
    const [made, copied] = [{ id: "s1", title: "talk", time: { created: 1, updated: 2 } }, { id: "f1", title: "talk (fork #1)", time: { created: 3, updated: 4 } }]
    const prompt = (id) => [{ info: { id, role: "user", time: { created: 10 } } }]
    const slow = { get: () => later(400, copied), list: () => later(0, [made, copied]), messages: ({ path }) => later(0, prompt(path.id === "f1" ? "copy" : "m1")) }
    const hooks = await (await load()).server({ client: { session: slow }, directory: "/w" })
    await say(hooks, "m2", "f1")
    return events("session.start")
  },
  async deleted() {
    answer = scripted
    const hooks = await open()
    await say(hooks, "m1")
    await hooks.event({ event: { type: "session.deleted", properties: { info: { id: "s1", directory: "/w" } } } })
    await new Promise((done) => setTimeout(done, 20))
    await say(hooks, "m9")
    return { told: events("deleted"), starts: events("session.start").length }
  },
  async silent_daemon() {
    answer = () => "never"
    const hooks = await open()
    waits.length = 0 // what it asks for at its start has time until the first prompt
    await say(hooks, "m1")
    const prompt = [...waits]
    const lines = await system(hooks)
    const first = await messages(hooks, [user("m1")])
    return { prompt, whole: waits, lines, first }
  },
  async no_daemon() {
    down = true
    const hooks = await open()
    waits.length = 0
    await say(hooks, "m1")
    const lines = await system(hooks)
    const first = await messages(hooks, [user("m1")])
    return { asked: waits.length, lines, first }
  },
  async late_answer() {
    answer = (payload) => (payload.event === "prompt" ? "never" : scripted(payload))
    const hooks = await open()
    await say(hooks, "m1")
    await new Promise((done) => setTimeout(done, 320))
    return { first: await messages(hooks, [user("m1")]) }
  },
  async garbage() {
    const results = []
    for (const reply of ["{broken", "[]", "null", "7", '{"system":7,"text":[],"texts":4,"notice":{}}']) {
      answer = () => reply
      const hooks = await open()
      await say(hooks, "m1")
      results.push(await system(hooks), await messages(hooks, [user("m1")]))
      for (const hook of Object.values(hooks)) for (const input of [undefined, null, {}, { event: {} }, { sessionID: 4 }]) await hook(input, input)
    }
    return results
  },
  async bounded() {
    answer = scripted
    const hooks = await open()
    for (let n = 0; n < 205; n++) await system(hooks, "<env>", "s" + n)
    await system(hooks, "<env>", "s204")
    const kept = events("session.start").length
    await system(hooks, "<env>", "s0")
    return { kept, after: events("session.start").length }
  },
  async every_call() {
    let turn = 0
    answer = (payload) => (payload.event === "prompt" ? { system: "MEMORY " + ++turn, mode: "system_every_call" } : {})
    const hooks = await open()
    await say(hooks, "m1")
    const first = await system(hooks)
    await say(hooks, "m2")
    return { first, second: await system(hooks), again: await system(hooks), messages: await messages(hooks, [user("m1"), user("m2")]) }
  },
  async second_copy() {
    const one = await open()
    const two = await (await import(pathToFileURL(file).href + "?other")).default.server({ client, directory: "/w" })
    return { one: Object.keys(one).length, two: Object.keys(two).length }
  },
  async goodbye() {
    const hooks = await open()
    await say(hooks, "m1")
    await hooks.dispose()
    return events("end")
  },
  async huge_tool() {
    const hooks = await open()
    await hooks["tool.execute.after"]({ tool: "write", sessionID: "s1", callID: "c", args: { filePath: "/w/a", content: "x".repeat(5e6) } }, { output: "y".repeat(5e6), metadata: {} })
    return { size: JSON.stringify(events("tool.after")[0]).length }
  },
  async version_two() {
    answer = scripted
    const hooks = {}
    const room = (prefix) => ({ hook: async (kind, run) => { hooks[prefix + kind] = run } })
    await (await load()).setup({ location: { directory: "/w" }, session: room("session."), tool: room("tool.") })
    const ask = async (kind) => { const event = { sessionID: "s1", kind, system: [] }; await hooks["session.context"](event); return event.system }
    await hooks["session.prompt"]({ sessionID: "s1", messageID: "m1", prompt: { text: "hi" } })
    const first = await ask("primary")
    await hooks["tool.execute.after"]({ sessionID: "s1", tool: "bash", callID: "c1", status: "error", input: {}, error: new Error("bad") })
    return { first, second: await ask(undefined), title: await ask("title"), empty: await (await load()).setup({}) === undefined, garbage: await hooks["session.context"](undefined) === undefined }
  },
}

setInterval(() => {}, 1000) // the timers of AbortSignal.timeout alone do not keep node alive
const result = await scenarios[name]()
console.log(JSON.stringify(result))
process.exit(0)
