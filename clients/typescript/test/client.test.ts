// The client against a server that stands in for the daemon: ways to it, deadlines, failures.

import assert from "node:assert/strict"
import { createHmac } from "node:crypto"
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer } from "node:net"
import { join } from "node:path"
import { afterEach, beforeEach, test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { Tacit, TacitError } from "@tacit/client"

interface Heard {
  method: string
  path: string
  headers: IncomingMessage["headers"]
  body: Record<string, unknown>
}

let home: string
let failures: TacitError[]
let servers: Server[]
let keyedServers: TcpServer[]
let heard: Heard[]
const onFailure = (error: TacitError) => void failures.push(error)

beforeEach(() => {
  home = mkdtempSync("/tmp/tc-")
  mkdirSync(join(home, "run"), { mode: 0o700 })
  failures = []
  heard = []
  servers = []
  keyedServers = []
})

afterEach(async () => {
  for (const server of servers) {
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  }
  for (const server of keyedServers) await new Promise((done) => server.close(done))
  rmSync(home, { recursive: true, force: true })
})

type Answer = (heard: Heard, response: ServerResponse) => void

async function serve(answer: Answer, at: string | number = join(home, "run", "daemon.sock")): Promise<number> {
  const server = createServer((request, response) => {
    let text = ""
    request.on("data", (part) => (text += part))
    request.on("end", () => {
      const body = text ? (JSON.parse(text) as Record<string, unknown>) : {}
      const one = { method: request.method!, path: request.url!, headers: request.headers, body }
      heard.push(one)
      answer(one, response)
    })
  })
  servers.push(server)
  await new Promise<void>((done) => (typeof at === "string" ? server.listen(at, done) : server.listen(at, "127.0.0.1", done)))
  return typeof at === "string" ? 0 : (server.address() as AddressInfo).port
}

const reply = (value: unknown, status = 200): Answer => (_, response) => response.writeHead(status).end(value === "" ? "" : JSON.stringify(value))
const problem = { code: "invalid_payload", detail: "Payload of plain: field 'cwd' is wrong.", hint: "It must be a text." }

test("an event is sent as the daemon reads it, and the answer comes back", async () => {
  await serve(reply({ context: "Rule.", surface: "prompt", memory_ids: ["mem_1"], tokens: 3 }))
  const tacit = new Tacit({ home, cwd: "/w/shop", agent: "a", token: "", deadlineMs: 5000, onFailure })
  const block = await tacit.session("s1").prompt("Hi", { previous: "Ready.", key: "p1" })
  assert.equal(block?.context, "Rule.")
  const [{ method, path, headers, body }] = heard as [Heard]
  assert.equal(`${method} ${path}`, "POST /hook/plain")
  assert.equal(headers["x-tacit-deadline-ms"], "4970")
  assert.equal(headers.authorization, undefined)
  const about = { version: 1, session: "s1", cwd: "/w/shop", agent: "a", key: "p1" }
  assert.deepEqual(body, { ...about, event: "prompt", text: "Hi", previous: "Ready.", message_id: "", capture: true })
  assert.deepEqual(failures, [])
})

test("nothing to say is undefined, and a notice alone is no block", async () => {
  const answers: unknown[] = ["", { notice: "Tacit on" }]
  await serve((one, response) => reply(answers.shift())(one, response))
  const session = new Tacit({ home, deadlineMs: 5000, onFailure }).session("s1")
  assert.equal(await session.start(), undefined)
  assert.equal(await session.start(), undefined)
  assert.deepEqual(failures, [])
})

test("each call has a key of its own", async () => {
  await serve(reply(""))
  const session = new Tacit({ home, deadlineMs: 5000 }).session("s1")
  await session.prompt("yes")
  await session.prompt("yes")
  assert.notEqual(heard[0]!.body["key"], heard[1]!.body["key"])
})

test("without a daemon a call returns undefined at once, reports, and starts nothing", async () => {
  const launcher = launcherThatWrites("started")
  assert.equal(await new Tacit({ home, onFailure }).session("s1").prompt("Hi"), undefined)
  assert.equal(await new Tacit({ home, onFailure }).remember("x"), undefined)
  assert.deepEqual(failures.map(({ code, status }) => [code, status]), [["daemon_unavailable", 0], ["daemon_unavailable", 0]])
  await sleep(300)
  assert.equal(existsSync(launcher), false)
})

test("asked to, it starts the daemon of its home", async () => {
  const written = launcherThatWrites("started")
  const tacit = new Tacit({ home, start: true, requestMs: 300, onFailure })
  await tacit.remember("x")
  for (let left = 100; left && !existsSync(written); left -= 1) await sleep(50)
  assert.equal(readFileSync(written, "utf8").trim(), `start ${home}`)
})

test("a strict client throws what went wrong", async () => {
  await serve(reply(problem, 400))
  const tacit = new Tacit({ home, strict: true, deadlineMs: 5000, onFailure })
  await assert.rejects(tacit.session("s1").prompt("Hi"), (error: TacitError) => {
    assert.deepEqual([error.code, error.status, error.message, error.hint], ["invalid_payload", 400, problem.detail, problem.hint])
    return error instanceof TacitError
  })
  assert.equal(failures.length, 1)
})

for (const [status, code] of [[503, "daemon_unavailable"], [504, "deadline_exceeded"], [500, "daemon_error"]] as const) {
  test(`an empty answer with status ${status} is ${code}`, async () => {
    await serve(reply("", status))
    assert.equal(await new Tacit({ home, deadlineMs: 5000, onFailure }).session("s1").prompt("Hi"), undefined)
    assert.deepEqual(failures.map((error) => [error.code, error.status]), [[code, status]])
  })
}

test("a daemon that hangs costs the deadline once, then nothing for a moment", async () => {
  await serve(() => {})
  const session = new Tacit({ home, deadlineMs: 150, onFailure }).session("s1")
  const began = performance.now()
  assert.equal(await session.prompt("Hi"), undefined)
  assert.equal(await session.prompt("Hi again"), undefined)
  assert.ok(performance.now() - began >= 145)
  assert.equal(heard.length, 1)
  assert.deepEqual(failures.map((error) => error.code), ["deadline_exceeded"])
  await session.capture({ text: "Done." })
  assert.equal(heard.length, 2, "what nothing else brings back is sent all the same")
  await sleep(3050)
  await session.prompt("Hi")
  assert.equal(heard.length, 3)
})

test("a person with a slow machine sets the deadline of events", async () => {
  await serve(reply(""))
  process.env["TACIT_HOOK_DEADLINE_MS"] = "9000"
  try {
    await new Tacit({ home, onFailure }).session("s1").prompt("Hi")
    await new Tacit({ home, onFailure, deadlineMs: 5000 }).session("s1").prompt("Hi")
  } finally {
    delete process.env["TACIT_HOOK_DEADLINE_MS"]
  }
  assert.deepEqual(heard.map(({ headers }) => headers["x-tacit-deadline-ms"]), ["8970", "4970"])
})

test("a deadline also ends an answer that comes byte by byte", async () => {
  await serve((_, response) => {
    response.writeHead(200)
    const drip = setInterval(() => response.write(" "), 20)
    response.on("close", () => clearInterval(drip))
  })
  assert.equal(await new Tacit({ home, onFailure }).search("x", { deadlineMs: 200 }), undefined)
  assert.equal(failures[0]?.code, "deadline_exceeded")
})

test("a signal ends a call", async () => {
  await serve(() => {})
  const controller = new AbortController()
  const asked = new Tacit({ home, onFailure }).search("x", { signal: controller.signal })
  controller.abort()
  assert.equal(await asked, undefined)
  assert.equal(failures[0]?.code, "aborted")
})

test("a broken answer and a callback that throws harm nobody", async () => {
  await serve((_, response) => response.end("{"))
  const tacit = new Tacit({
    home,
    deadlineMs: 5000,
    onFailure: (error) => {
      failures.push(error)
      throw new Error("the log is full")
    },
  })
  assert.equal(await tacit.session("s1").prompt("Hi"), undefined)
  assert.equal(failures[0]?.code, "daemon_error")
})

test("a home that others may write to is not trusted", async () => {
  await serve(reply({ context: "planted" }))
  chmodSync(join(home, "run"), 0o777)
  assert.equal(await new Tacit({ home, onFailure }).session("s1").prompt("Hi"), undefined)
  assert.match(failures[0]!.message, /open to others/)
  assert.equal(heard.length, 0)
})

test("without a socket the port of daemon.json is asked, with its token", async () => {
  const port = await serve(reply(""), 0)
  writeFileSync(join(home, "run", "daemon.json"), JSON.stringify({ pid: 1, http_port: port, token: "port-token" }))
  await new Tacit({ home, token: "", deadlineMs: 5000, onFailure }).session("s1").start()
  await new Tacit({ home, token: "personal", deadlineMs: 5000, onFailure }).session("s1").start()
  await new Tacit({ url: `http://127.0.0.1:${port}`, token: "given", deadlineMs: 5000, onFailure }).session("s1").start()
  assert.deepEqual(failures, [])
  assert.deepEqual(heard.map(({ headers }) => headers.authorization), ["Bearer port-token", "Bearer personal", "Bearer given"])
  assert.throws(() => new Tacit({ url: "localhost" }), { code: "invalid_input" })
})

/** A stand-in for a daemon on TCP: it proves that it knows `key`, and then speaks HTTP. */
async function serveKeyed(key: string, answer: string): Promise<{ port: number; asked: string[] }> {
  const asked: string[] = []
  const proof = (side: string, nonces: string) => createHmac("sha256", key).update(`${side} ${nonces}`).digest("hex")
  const server = createTcpServer((socket) => {
    let data = ""
    let nonces = ""
    socket.on("error", () => {})
    socket.on("data", (part) => {
      data += part.toString("latin1")
      const theirs = /^TACIT1 ([0-9a-f]{32})\n/.exec(data)?.[1]
      if (theirs && !nonces) {
        nonces = `${theirs} ${"ab".repeat(16)}`
        data = ""
        socket.write(`${proof("daemon", nonces)} ${"ab".repeat(16)}\n`)
      }
      if (!nonces || !data.startsWith(`${proof("client", nonces)}\n`) || !data.includes("\r\n\r\n{")) return
      asked.push(data.slice(65))
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`)
    })
  })
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  keyedServers.push(server)
  return { port: (server.address() as AddressInfo).port, asked }
}

test("a daemon on TCP is asked after both sides proved that they know the key", async () => {
  const key = "0f".repeat(32)
  const { port, asked } = await serveKeyed(key, '{"context": "Rule."}')
  const file = join(home, "run", "daemon.tcp")
  writeFileSync(file, `${port} ${key}\n`, { mode: 0o600 })
  const block = await new Tacit({ home, token: "", deadlineMs: 5000, onFailure }).session("s1").start()
  assert.deepEqual(failures, [])
  assert.equal(block?.context, "Rule.")
  assert.match(asked[0]!, /^POST \/hook\/plain HTTP\/1.1\r\n/)
  assert.doesNotMatch(asked[0]!, new RegExp(key))
})

test("another program on the port, and a key file that others may read, get nothing", async () => {
  const { port, asked } = await serveKeyed("1e".repeat(32), "{}")
  const file = join(home, "run", "daemon.tcp")
  writeFileSync(file, `${port} ${"0f".repeat(32)}\n`, { mode: 0o600 })
  assert.equal(await new Tacit({ home, deadlineMs: 5000, onFailure }).session("s1").start(), undefined)
  assert.match(failures[0]!.message, /another program has the daemon's port/)
  chmodSync(file, 0o644)
  assert.equal(await new Tacit({ home, deadlineMs: 5000, onFailure }).session("s1").start(), undefined)
  assert.match(failures[1]!.message, /open to others/)
  assert.deepEqual(asked, [])
})

test("a port that says nothing costs the deadline and leaves nothing open", async () => {
  const server = createTcpServer((socket) => void socket.resume().on("error", () => {}))
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  keyedServers.push(server)
  writeFileSync(join(home, "run", "daemon.tcp"), `${(server.address() as AddressInfo).port} ${"0f".repeat(32)}`, { mode: 0o600 })
  assert.equal(await new Tacit({ home, deadlineMs: 150, onFailure }).session("s1").start(), undefined)
  assert.equal(failures[0]?.code, "deadline_exceeded")
  const open = () => new Promise<number>((done) => server.getConnections((_, count) => done(count)))
  for (let left = 40; left && (await open()); left -= 1) await sleep(25)
  assert.equal(await open(), 0)
})

test("statements, searches and forgetting use the API", async () => {
  await serve((one, response) =>
    reply(one.method === "GET" ? { memories: [], hits: [] } : one.method === "DELETE" ? { memory: { id: "mem_1" } } : { changes: [], change_id: null })(one, response),
  )
  const tacit = new Tacit({ home, cwd: "/w/shop", token: "mine", onFailure })
  await tacit.remember("Run make lint.", { when: ["commit"], userWords: "lint first", key: "k1" })
  await tacit.search("lint & more", { limit: 3, kind: ["fact", "decision"] })
  await tacit.forget("mem_1/2", { reason: "wrong" })
  assert.deepEqual(failures, [])
  assert.deepEqual(heard.map(({ method, path }) => `${method} ${path}`), [
    "POST /v1/memories",
    "GET /v1/memories?text=lint+%26+more&cwd=%2Fw%2Fshop&limit=3&kind=fact&kind=decision",
    "DELETE /v1/memories/mem_1%2F2?reason=wrong",
  ])
  const said = { content: "Run make lint.", cwd: "/w/shop", source: "typescript", when: ["commit"], user_words: "lint first" }
  assert.deepEqual(heard[0]!.body, said)
  assert.equal(heard[0]!.headers["idempotency-key"], "k1")
  assert.equal(heard[0]!.headers.authorization, "Bearer mine")
})

function launcherThatWrites(name: string): string {
  const path = join(home, name)
  mkdirSync(join(home, "bin"))
  writeFileSync(join(home, "bin", "tacit-hook"), `#!/bin/sh\necho "$1 $TACIT_HOME" > ${path}\n`, { mode: 0o700 })
  return path
}
