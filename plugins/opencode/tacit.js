// Tacit for OpenCode. This file carries bytes between OpenCode and the Tacit daemon; every decision is the daemon's.
//
// It never throws, never waits longer than the deadlines below, holds at most 200 sessions, needs no package, and
// leaves the title and compaction requests alone. It does nothing with TACIT_HEADLESS=1: then Tacit itself runs the client.
// Without a daemon the agent works as if Tacit were not there.
// OpenCode 1.x uses `server`, OpenCode 2.x uses `setup`. Any export but the default one would disable the plugin.

import { spawn } from "node:child_process"
import { createHash, createHmac, randomBytes, randomUUID, timingSafeEqual } from "node:crypto"
import { lstatSync, readFileSync } from "node:fs"
import { connect } from "node:net"
import { homedir } from "node:os"
import { join, resolve } from "node:path"

// `tacit install opencode` fills this line in; TACIT_HOME wins over it.
const INSTALLED = { home: "", launcher: "" }

const NAMED = process.env.TACIT_HOOK_DEADLINE_MS || ""
const NAMED_MS = /^\d+$/.test(NAMED) ? Math.min(Number(NAMED), 60000) : 0 // as for the hooks of other hosts
const PROMPT_MS = NAMED_MS > 0 ? NAMED_MS : 400
const MOST_PROMPT_MS = 4000
const START_MS = NAMED_MS > 0 ? NAMED_MS : 800
const TOOL_MS = NAMED_MS > 0 ? NAMED_MS : 400
const REST_MS = 300 // after an unanswered request nothing is asked for so long ...
const REST_LONG_MS = 3000 // ... and so long when it was not the first one in a row
const BUSY_MS = 900 // with a silence of so long before its proof this process was busy, and the daemon gave up
const SPAWN_AGAIN_MS = 30000
const MAX_SESSIONS = 200
const WINDOWS = process.platform === "win32"
const HEADLESS = process.env.TACIT_HEADLESS === "1"
const FORKED = / \(fork #\d+\)$/
const MAX_ORIGINS = 5 // sessions that are looked into for the origin of a fork
const MAX_TEXTS = 4000
const MAX_REPLAY = 400
const MAX_CHARS = 16000
const OURS = /^tacit_memory_(add|update|forget|get)$/
const WATCHED = new Set(["read", "edit", "write", "multiedit", "patch", "apply_patch", "bash", "shell"])

const instance = "plg_" + randomUUID()
const sessions = new Map()
const inFlight = new Set()
let restUntil = 0
let missesInARow = 0
let spawnedAt = 0

// ---------------------------------------------------------------------------------------------- the way to the daemon

function home() {
  const named = process.env.TACIT_HOME || INSTALLED.home || join(homedir(), ".tacit")
  return resolve(named.startsWith("~/") ? join(homedir(), named.slice(2)) : named)
}

function socketPath() {
  const root = home()
  const path = join(root, "run", "daemon.sock")
  if (WINDOWS || Buffer.byteLength(path) <= 100) return path
  const digest = createHash("sha256").update(root).digest("hex").slice(0, 12)
  const folder = `/tmp/tacit-${process.getuid()}-${digest}`
  const found = lstatSync(folder) // throws when it is absent: then there is no daemon
  if (!found.isDirectory() || found.uid !== process.getuid() || found.mode & 0o077) throw new Error("not private")
  return join(folder, "daemon.sock")
}

// Port and key of a daemon that listens on TCP, by the rule that tacit/system/transport.py documents; undefined = none does.
function keyFile() {
  const path = join(home(), "run", "daemon.tcp")
  try {
    const found = lstatSync(path)
    if (!found.isFile() || (!WINDOWS && (found.uid !== process.getuid() || found.mode & 0o077))) throw new Error("not private")
    const [, port, key] = /^(\d{1,5}) ([0-9a-f]{64})\s*$/.exec(readFileSync(path, "latin1"))
    return { port: Number(port), key }
  } catch (error) {
    if (error?.code === "ENOENT") return undefined
    throw error
  }
}

// How long a prompt waits: as long as the daemon says that its settings allow, if that is more than usual.
function promptMs() {
  if (NAMED_MS > 0) return NAMED_MS
  try {
    const told = readFileSync(join(home(), "run", "prompt_ms"), "utf8")
    return /^\d{1,8}$/.test(told) ? Math.max(PROMPT_MS, Math.min(Number(told), MOST_PROMPT_MS)) : PROMPT_MS
  } catch {
    return PROMPT_MS
  }
}

function startDaemon() {
  const own = join(home(), "bin", WINDOWS ? "tacit-hook.exe" : "tacit-hook")
  const launcher = process.env.TACIT_HOME ? own : INSTALLED.launcher || own
  if (Date.now() - spawnedAt < SPAWN_AGAIN_MS) return
  spawnedAt = Date.now()
  try {
    const child = spawn(launcher, ["opencode"], { detached: true, windowsHide: true, stdio: ["pipe", "ignore", "ignore"] })
    child.on("error", () => {})
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify({ event: "ping" }))
    child.unref()
  } catch {}
}

async function send(payload, ms) {
  const headers = { "content-type": "application/json", "x-tacit-deadline-ms": String(Math.max(50, ms - 30)) }
  const body = JSON.stringify(payload)
  const tcp = keyFile()
  if (tcp) return await sendOverTcp(tcp, headers, body, ms)
  return await fetch("http://tacit/hook/opencode", { unix: socketPath(), method: "POST", headers, body, signal: AbortSignal.timeout(ms) })
}

// One request on loopback TCP. The daemon shows first that it knows the key: another program on its port gets no payload.
function sendOverTcp({ port, key }, headers, body, ms) {
  const mine = randomBytes(16).toString("hex")
  const proof = (side, theirs) => createHmac("sha256", key).update(`${side} ${mine} ${theirs}`).digest("hex")
  const lines = ["POST /hook/opencode HTTP/1.1", "host: tacit", `content-length: ${Buffer.byteLength(body)}`, "connection: close", ...Object.entries(headers).map((pair) => pair.join(": "))]
  return new Promise((resolve, reject) => {
    const connection = connect({ port, host: "127.0.0.1", noDelay: true })
    const fail = (error) => { clearTimeout(timer); connection.destroy(); reject(error) }
    const absent = () => fail(Object.assign(new Error("another program has the daemon's port"), { code: "ENOENT" }))
    const late = () => fail(Object.assign(new Error("timed out"), { name: "TimeoutError" }))
    const timer = setTimeout(late, ms)
    const began = Date.now()
    let data = Buffer.alloc(0)
    let proven = false
    connection.on("error", fail)
    connection.on("connect", () => connection.write(`TACIT1 ${mine}\n`))
    connection.on("data", (part) => {
      data = Buffer.concat([data, part])
      if (proven || data.length < 98) return
      const theirs = data.toString("latin1", 65, 97)
      if (!timingSafeEqual(data.subarray(0, 64), Buffer.from(proof("daemon", theirs)))) return absent()
      proven = true
      data = data.subarray(98)
      connection.write(`${proof("client", theirs)}\n${[...lines, "", ""].join("\r\n")}${body}`)
    })
    connection.on("end", () => {
      if (!proven) return Date.now() - began > BUSY_MS ? late() : absent() // a daemon waits for the proof only so long
      const end = data.indexOf("\r\n\r\n")
      const head = data.toString("latin1", 0, Math.max(end, 0))
      const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(head) ?? []
      const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? []
      const text = data.subarray(end + 4)
      if (!status || text.length !== Number(length)) return fail(new Error("no complete reply"))
      clearTimeout(timer)
      connection.destroy()
      resolve({ ok: status === "200", text: async () => text.toString("utf8") })
    })
  })
}

// The reply as an object ({} = the daemon has nothing to say), or undefined when there was no answer.
async function ask(payload, ms) {
  if (Date.now() < restUntil) return undefined
  try {
    let response
    try {
      response = await send(payload, ms)
    } catch (error) {
      if (error?.name === "TimeoutError" || error?.code === "FailedToOpenSocket" || error?.code === "ENOENT") throw error
      response = await send(payload, ms) // a kept connection to a daemon that has gone; requests are idempotent
    }
    missesInARow = 0
    if (!response.ok) return undefined
    const body = await response.text()
    const reply = body ? JSON.parse(body) : {}
    return reply && typeof reply === "object" ? reply : undefined
  } catch (error) {
    missesInARow += 1
    restUntil = Date.now() + (missesInARow > 1 ? REST_LONG_MS : REST_MS)
    if (error?.name !== "TimeoutError") startDaemon()
    return undefined
  }
}

// A daemon that has to be started has until the first prompt. Start-up keeps this process busy, so nothing is read
// into a slow answer here.
function wake() {
  const sent = (async () => send({ event: "ping" }, 5000))().catch((error) => {
    if (error?.name !== "TimeoutError") startDaemon()
  })
  inFlight.add(sent)
  sent.finally(() => inFlight.delete(sent))
}

function tell(payload, ms = 2000) {
  const sent = ask(payload, ms).catch(() => {})
  inFlight.add(sent)
  sent.finally(() => inFlight.delete(sent))
}

const within = (promise, ms) =>
  Promise.race([promise, new Promise((done) => { const timer = setTimeout(done, ms); timer.unref?.() })])

const guarded = (hook) => async (...args) => {
  try {
    return await hook(...args)
  } catch {
    return undefined
  }
}

// ------------------------------------------------------------------------------------------------ what a session holds

function session(id) {
  let found = sessions.get(id)
  if (found) sessions.delete(id)
  else {
    found = {
      id, parentID: undefined, directory: undefined, agent: undefined,
      looked: false, // whether parentID is known
      start: undefined, // the request that will bring the system text; undefined = answered
      starting: undefined, system: "",
      texts: new Map(), // message id, or "call:" and call id -> text; an entry that is there is decided
      failures: new Map(), // call id -> promise
      compacting: false, lastText: "", lastMessageID: undefined,
    }
    found.start = { event: "session.start", source: "resume", id: instance }
  }
  sessions.set(id, found)
  if (sessions.size > MAX_SESSIONS) sessions.delete(sessions.keys().next().value)
  return found
}

function decide(s, name, text) {
  s.texts.set(name, typeof text === "string" ? text : "")
  if (s.texts.size > MAX_TEXTS) s.texts.delete(s.texts.keys().next().value)
}

// The history is bounded: of all texts only those of the named messages stay.
function bound(s, history) {
  if (!Array.isArray(history)) return
  const stays = new Set(history)
  for (const name of s.texts.keys()) if (!stays.has(name)) s.texts.set(name, "")
}

const facts = (s) => ({ sessionID: s.id, parentID: s.parentID, directory: s.directory, agent: s.agent })

const cut = (text) =>
  typeof text !== "string" || text.length <= MAX_CHARS ? text : text.slice(0, MAX_CHARS / 2) + "\n[...]\n" + text.slice(-MAX_CHARS / 2)

function cutArgs(args) {
  if (!args || typeof args !== "object") return {}
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, cut(value)]))
}

function takeSystem(s, reply) {
  if (typeof reply?.system === "string") s.system = reply.system
}

// The stable text of the system prompt: asked for once, again after a compaction or a restart of this plugin.
async function ready(s) {
  if (!s.start) return
  s.starting ??= (async () => {
    const request = s.start
    const reply = await ask({ ...facts(s), ...request }, START_MS)
    if (reply) {
      s.system = typeof reply.system === "string" ? reply.system : ""
      if (s.start === request) s.start = undefined
    }
    return reply
  })().finally(() => { s.starting = undefined })
  const reply = await s.starting
  if (reply?.notice) s.notify?.(reply.notice)
}

const callOf = (part) => part.callID ?? part.callId ?? part.id

function failed(s, part) {
  const callID = callOf(part)
  const name = "call:" + callID
  if (s.texts.has(name) || s.failures.has(callID)) return s.failures.get(callID)
  const payload = { ...facts(s), event: "tool.failed", tool: part.tool, callID, args: cutArgs(part.state?.input), error: cut(String(part.state?.error ?? "")) }
  const asked = ask(payload, TOOL_MS)
    .then((reply) => { if (reply) decide(s, name, reply.text) })
    .finally(() => s.failures.delete(callID))
  s.failures.set(callID, asked)
  return asked
}

// -------------------------------------------------------------------------------------------------------- OpenCode 1.x

const isError = (part) => part?.type === "tool" && part.state?.status === "error"
const isDone = (part) => part?.type === "tool" && part.state?.status === "completed" && WATCHED.has(part.tool)

// Names without a decision: `wanted` from the daemon's record, `fresh` failures that it has not seen yet.
function undecided(s, messages) {
  const newest = messages.findLastIndex((message) => message.info?.role === "assistant")
  const wanted = []
  const fresh = []
  messages.forEach((message, at) => {
    if (message.info?.role === "user" && !s.texts.has(message.info.id)) wanted.push(message.info.id)
    for (const part of message.parts ?? []) {
      if (!(isError(part) || isDone(part)) || s.texts.has("call:" + callOf(part))) continue
      if (at >= newest && isError(part)) fresh.push(part)
      else wanted.push("call:" + callOf(part))
    }
  })
  return { wanted: wanted.slice(-MAX_REPLAY), fresh }
}

// Bytes that were handed over before this plugin was (re)loaded, or whose answer came too late.
async function replay(s, wanted) {
  if (!wanted.length) return
  const reply = await ask({ ...facts(s), event: "replay", messageIDs: wanted }, PROMPT_MS)
  if (!reply) return
  for (const name of wanted) decide(s, name, reply.texts?.[name])
}

function withTexts(s, message) {
  let parts = message.parts ?? []
  const text = message.info?.role === "user" ? s.texts.get(message.info.id) : ""
  const id = "prt_tacit_" + message.info?.id
  if (text && !parts.some((part) => part.id === id)) {
    parts = [...parts, { id, sessionID: s.id, messageID: message.info.id, type: "text", text, synthetic: true }]
  }
  parts = parts.map((part) => {
    const field = isError(part) ? "error" : isDone(part) ? "output" : ""
    const added = field ? s.texts.get("call:" + callOf(part)) : ""
    if (!added || typeof part.state[field] !== "string" || part.state[field].endsWith(added)) return part
    return { ...part, state: { ...part.state, [field]: part.state[field] + "\n\n" + added } }
  })
  return { ...message, parts }
}

const server = async (input) => {
  if (HEADLESS) return {}
  // Installed for the user and for the project as well: the first copy works, the others do nothing.
  const working = Symbol.for("tacit.opencode")
  globalThis[working] ??= instance
  if (globalThis[working] !== instance) return {}

  const client = input?.client
  const mine = new Set() // sessions of this folder; one file may serve several folders
  const notify = (message) => {
    try {
      Promise.resolve(client?.tui?.showToast?.({ body: { title: "Tacit", message, variant: "info" } })).catch(() => {})
    } catch {}
  }

  // A fork begins with copies of another session's messages: same moments, other ids. Where they came from is asked once.
  async function originOf(fork) {
    const read = async (id) => (await client.session.messages({ path: { id } }))?.data ?? []
    const prompts = (messages) => messages.filter((message) => message.info?.role === "user").map((message) => message.info)
    const copies = prompts(await read(fork.id))
    const older = ((await client.session.list())?.data ?? []).filter((one) => one.id !== fork.id && one.time.created < fork.time.created)
    for (const one of older.sort((a, b) => b.time.updated - a.time.updated).slice(0, MAX_ORIGINS)) {
      const originals = prompts(await read(one.id))
      const made = new Map(originals.map((info) => [info.time.created, info.id]))
      const both = copies.filter((info) => made.has(info.time.created)).slice(-MAX_REPLAY)
      if (!both.length) continue
      return { forkOf: one.id, originals: both.map((info) => made.get(info.time.created)), copies: both.map((info) => info.id), turnsBack: originals.length - copies.length }
    }
  }

  async function known(id) {
    const s = session(id)
    mine.add(id)
    s.directory ??= input?.directory
    s.notify = notify
    if (!s.looked) {
      const found = await within(client.session.get({ path: { id } }).catch(() => undefined), START_MS)
      if (found?.data) {
        s.looked = true
        s.parentID = found.data.parentID
        s.directory = found.data.directory ?? s.directory
        const origin = FORKED.test(found.data.title ?? "") && s.start ? await within(originOf(found.data).catch(() => undefined), START_MS) : undefined
        if (origin && s.start) s.start = { event: "session.start", source: "fork", ...origin }
      }
    }
    return s
  }

  function created(info) {
    const s = session(info.id)
    mine.add(info.id)
    s.looked = !FORKED.test(info.title ?? "")
    s.parentID = info.parentID
    s.directory = info.directory ?? input?.directory
    s.notify = notify
    if (s.start) s.start = { event: "session.start", source: "startup", id: instance }
  }

  function happened(event) {
    const about = event?.properties ?? {}
    switch (event?.type) {
      case "session.created":
        if (about.info?.id) created(about.info)
        break
      case "session.compacted": {
        const s = session(about.sessionID)
        s.compacting = false
        s.texts.clear()
        s.start = { event: "compacted", id: event.id ?? instance + Date.now() }
        break
      }
      case "session.idle": {
        const s = sessions.get(about.sessionID)
        if (s?.lastText && !s.parentID) tell({ ...facts(s), event: "idle", messageID: s.lastMessageID, text: s.lastText })
        break
      }
      case "session.deleted": {
        const id = about.info?.id ?? about.sessionID
        if (!id) break
        sessions.delete(id)
        mine.delete(id)
        tell({ event: "deleted", sessionID: id, parentID: about.info?.parentID, directory: about.info?.directory ?? input?.directory })
        break
      }
      case "message.part.updated":
        if (isError(about.part)) failed(session(about.part.sessionID ?? about.sessionID), about.part)?.catch(() => {})
        break
    }
  }

  wake()

  return {
    event: guarded(async ({ event }) => happened(event)),

    "chat.message": guarded(async (message, output) => {
      const s = await known(message.sessionID)
      s.compacting = false
      s.agent = message.agent ?? output.message?.agent ?? s.agent
      const text = output.parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n")
      const messageID = output.message?.id ?? message.messageID
      if (s.parentID && s.start) {
        const reply = await ask({ ...facts(s), event: "subagent", messageID, text }, START_MS)
        if (reply) {
          s.start = undefined
          takeSystem(s, reply)
          decide(s, messageID, reply.text)
        }
        return
      }
      await ready(s)
      const reply = await ask({ ...facts(s), event: "prompt", messageID, text, previous: s.lastText }, promptMs())
      if (!reply) return
      takeSystem(s, reply)
      decide(s, messageID, reply.text)
      bound(s, reply.history)
      if (reply.notice) notify(reply.notice)
    }),

    "experimental.chat.system.transform": guarded(async (request, output) => {
      // Only the agent's own requests have an <env> section; title and compaction requests have none.
      if (!request.sessionID || !output.system[0]?.includes("<env>")) return
      const s = await known(request.sessionID)
      await ready(s)
      // Into the last text: a text of its own would be a second system message, which the templates of some models refuse.
      if (s.system) output.system[output.system.length - 1] += "\n\n" + s.system
    }),

    "experimental.chat.messages.transform": guarded(async (_, output) => {
      const id = output.messages.at(-1)?.info?.sessionID
      if (!id) return
      const s = await known(id)
      if (s.compacting) return
      await Promise.all(s.failures.values())
      const { wanted, fresh } = undecided(s, output.messages)
      await Promise.all([replay(s, wanted), ...fresh.map((part) => failed(s, part))])
      // The title request of a first prompt, begun just before, takes its own list of these messages when it first runs: let it.
      if (output.messages.filter((message) => message.info?.role === "user").length === 1) await new Promise((done) => setTimeout(done, 1))
      output.messages.forEach((message, at) => { output.messages[at] = withTexts(s, message) })
    }),

    // Several sessions may be open in this folder: the daemon learns for which of them a call of ours counts.
    "tool.execute.before": guarded(async (call, output) => {
      if (!OURS.test(call.tool)) return
      const s = await known(call.sessionID)
      await ask({ ...facts(s), event: "tool.before", tool: call.tool, callID: call.callID, args: output.args ?? {} }, TOOL_MS)
    }),

    "tool.execute.after": guarded(async (call, output) => {
      if (!WATCHED.has(call.tool) || typeof output.output !== "string") return
      const s = await known(call.sessionID)
      const exit = output.metadata?.exit
      const payload = { ...facts(s), event: "tool.after", tool: call.tool, callID: call.callID, args: cutArgs(call.args), output: cut(output.output) }
      const reply = await ask(Number.isInteger(exit) ? { ...payload, exit } : payload, TOOL_MS)
      if (reply) decide(s, "call:" + call.callID, reply.text)
    }),

    "experimental.session.compacting": guarded(async (request) => {
      const s = session(request.sessionID)
      s.compacting = true
      tell({ ...facts(s), event: "compacting" })
    }),

    "experimental.text.complete": guarded(async (request, output) => {
      const s = session(request.sessionID)
      if (s.compacting || typeof output.text !== "string") return
      s.lastText = output.text.slice(-4000)
      s.lastMessageID = request.messageID
    }),

    dispose: guarded(async () => {
      await within(Promise.allSettled([...inFlight]), 500)
      const open = [...mine].map((id) => sessions.get(id)).filter((s) => s && !s.parentID)
      await within(Promise.allSettled(open.map((s) => ask({ ...facts(s), event: "end", id: instance, reason: "dispose" }, 500))), 600)
      for (const id of mine) sessions.delete(id)
      mine.clear()
    }),
  }
}

// -------------------------------------------------------------------------------------------------------- OpenCode 2.x
// Written from its documentation; it stores nothing either. What a turn brought stands behind the stable text.

const setup = async (ctx) => {
  if (HEADLESS) return
  const directory = ctx?.location?.directory
  const turns = new Map() // session id -> texts of the newest turn
  const of = (event) => {
    const s = session(event.sessionID)
    s.looked = true
    s.directory ??= directory
    s.agent = typeof event.agent === "string" ? event.agent : s.agent
    return s
  }
  const add = (id, text) => { if (text) turns.set(id, [...(turns.get(id) ?? []), text].slice(-20)) }
  const hook = async (room, name, run) => {
    try { await room?.hook?.(name, guarded(run)) } catch {}
  }

  wake()

  await hook(ctx?.session, "prompt", async (event) => {
    const s = of(event)
    turns.delete(s.id)
    await ready(s)
    const text = event.prompt?.text ?? event.text
    if (typeof text !== "string") return
    const reply = await ask({ ...facts(s), event: "prompt", messageID: event.messageID, text, previous: s.lastText }, promptMs())
    takeSystem(s, reply)
    add(s.id, reply?.text)
  })

  await hook(ctx?.session, "context", async (event) => {
    if (event.kind !== undefined && event.kind !== "primary") return
    const s = of(event)
    await ready(s)
    for (const text of [s.system, ...(turns.get(s.id) ?? [])]) if (text) event.system.push({ type: "text", text })
  })

  await hook(ctx?.session, "compaction", async (event) => {
    const s = of(event)
    turns.delete(s.id)
    s.start = { event: "compacted", id: event.id ?? instance + Date.now() }
  })

  await hook(ctx?.tool, "execute.after", async (event) => {
    if (!WATCHED.has(event.tool)) return
    const s = of(event)
    const call = { ...facts(s), tool: event.tool, callID: event.callID, args: cutArgs(event.input) }
    const reply = event.status === "error"
      ? await ask({ ...call, event: "tool.failed", error: cut(String(event.error?.message ?? event.error ?? "")) }, TOOL_MS)
      : await ask({ ...call, event: "tool.after", output: typeof event.output === "string" ? cut(event.output) : "" }, TOOL_MS)
    add(s.id, reply?.text)
  })
}

export default { id: "tacit", server, setup }
