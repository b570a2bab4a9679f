import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { errorOf, TacitError } from "./errors.js"
import { addressOf, homeFolder, launcherOf, type Address } from "./home.js"
import { exchange, type Reply } from "./http.js"
import type { components } from "./schema.js"
import { AgentSession } from "./session.js"

type Schemas = components["schemas"]

/** An event of an agent, as `POST /hook/plain` reads it. */
export type AgentEvent =
  | Schemas["StartEvent"]
  | Schemas["PromptEvent"]
  | Schemas["ToolStartEvent"]
  | Schemas["ToolEndEvent"]
  | Schemas["ToolFailedEvent"]
  | Schemas["CompactingEvent"]
  | Schemas["SubagentEvent"]
  | Schemas["MessageEndEvent"]
  | Schemas["EndEvent"]
/** An event of a program that inserts the same texts into every request, as `POST /hook/library` reads it. */
export type LibraryEvent =
  | Exclude<AgentEvent, Schemas["MessageEndEvent"]>
  | Schemas["LibraryMessageEndEvent"]
  | Schemas["ReplayEvent"]
  | Schemas["PingEvent"]
export type LibraryReply = Schemas["LibraryReply"]
/** The text for the model now, in `context`. */
export type Block = Schemas["AgentReply"] & { context: string }
/** A change that a statement caused. */
export type Change = Schemas["Changed"]["changes"][number]
/** A stored memory. */
export type Memory = Schemas["MemoryView"]
/** A memory that a search found. */
export type Hit = Schemas["RankPlaces"] & { memory: Memory }

export interface TacitOptions {
  /** Folder of the memory; default: TACIT_HOME, else `~/.tacit`. */
  home?: string
  /** Address of a daemon's port, such as `http://127.0.0.1:7777`, instead of the daemon of `home`. */
  url?: string
  /** Personal token of the user, with which statements count as the user's; for `url` also the port's token. Default: TACIT_TOKEN. */
  token?: string
  /** Working folder; it names the project. Default: that of the process. "" = no project. */
  cwd?: string
  /** Name of the agent, which may have its own settings. */
  agent?: string
  /** Start a daemon if none runs. Default: false. */
  start?: boolean
  /** Throw an error instead of returning undefined. Default: false. */
  strict?: boolean
  /** Longest time of an event of a session in milliseconds. Default: TACIT_HOOK_DEADLINE_MS, else 400, and 800 for the start. */
  deadlineMs?: number
  /** Longest time of `remember`, `search` and `forget` in milliseconds. Default: 30000. */
  requestMs?: number
  /** Called with every failure, also when nothing is thrown. */
  onFailure?: (error: TacitError) => void
}

export interface CallOptions {
  /** Longest time of this call in milliseconds. */
  deadlineMs?: number
  /** Ends the call early. */
  signal?: AbortSignal
  /** A call that is sent again with the same key is carried out once. Default: a new key for each call. */
  key?: string
}

export interface RememberOptions extends CallOptions {
  /** When the statement applies, in words, such as `commit`; a list = any of them. */
  when?: string | string[]
  kind?: string
  scope?: string
  pinned?: boolean
  files?: string[]
  sensitivity?: "public" | "project" | "session" | "restricted"
  /** Ids of memories that it replaces. */
  replaces?: string[]
  /** The user's words about it, verbatim from a prompt. They prove a statement of an agent without a token of the user. */
  userWords?: string
}

export interface SearchOptions extends CallOptions {
  /** The largest number of memories. */
  limit?: number
  kind?: string[]
}

const DEADLINE_MS = 400
const START_MS = 800
const MOST_MS = 60_000
const REQUEST_MS = 30_000
/** The part of a deadline that is reserved for the transfer of the answer, in milliseconds. */
const MARGIN_MS = 30
/** The pause after an event without an answer, in milliseconds; the second value applies after several such events in a row. */
const REST_MS = 300
const REST_LONG_MS = 3_000
/** The time that a request waits for a daemon that it started, in milliseconds. */
const READY_MS = 10_000
const START_AGAIN_MS = 30_000

/**
 * The client of a daemon. Without `strict`, no method throws: a call that fails returns undefined, and `onFailure` gets the error.
 * It keeps no connection open, so there is nothing to close.
 */
export class Tacit {
  readonly home: string
  readonly cwd: string
  readonly agent: string
  readonly strict: boolean
  readonly #address: Address | undefined
  readonly #options: TacitOptions
  readonly #token: string
  #restUntil = 0
  #misses = 0
  #startedAt = Number.NEGATIVE_INFINITY

  /** @throws TacitError `invalid_input` if `url` is not valid. */
  constructor(options: TacitOptions = {}) {
    this.home = homeFolder(options.home)
    this.cwd = options.cwd ?? process.cwd()
    this.agent = options.agent ?? ""
    this.strict = options.strict ?? false
    this.#options = options
    this.#token = options.token ?? process.env["TACIT_TOKEN"]?.trim() ?? ""
    this.#address = options.url === undefined ? undefined : portOf(options.url)
  }

  /** Return the conversation of your agent with this id. */
  session(id: string): AgentSession {
    return new AgentSession(this, id)
  }

  /** Send an event of an agent that keeps the texts in its history. `session` has a method for each event. undefined = there is no text. */
  async event(event: AgentEvent, options: CallOptions = {}): Promise<Block | undefined> {
    const reply = await this.#guarded(() => this.#told<Schemas["AgentReply"]>("plain", event, options))
    return reply?.context ? { ...reply, context: reply.context } : undefined
  }

  /**
   * Send an event of a program that inserts the same texts into every request. {} = there is no text; undefined = there was no answer.
   * For code such as the middleware of `@tacit/client/ai-sdk`.
   */
  async libraryEvent(event: LibraryEvent, options: CallOptions = {}): Promise<LibraryReply | undefined> {
    return this.#guarded(() => this.#told<LibraryReply>("library", event, options))
  }

  /** Store a statement. An empty list = nothing was stored. */
  async remember(content: string, options: RememberOptions = {}): Promise<Change[] | undefined> {
    const { key, deadlineMs, signal, userWords, ...fields } = options
    const body = { content, cwd: this.cwd, source: "typescript", ...fields, ...(userWords === undefined ? {} : { user_words: userWords }) }
    const headers = { "Idempotency-Key": key ?? randomUUID() }
    const found = await this.#asked<Schemas["Changed"]>("POST", "/v1/memories", { deadlineMs, signal }, body, headers)
    return found?.changes
  }

  /** Find memories by words and by meaning, best first, among those that are visible from `cwd`. */
  async search(text: string, options: SearchOptions = {}): Promise<Hit[] | undefined> {
    const { limit, kind = [], ...call } = options
    const query = new URLSearchParams({ text, cwd: this.cwd, ...(limit === undefined ? {} : { limit: String(limit) }) })
    for (const name of kind) query.append("kind", name)
    const found = await this.#asked<Schemas["ListedMemories"]>("GET", `/v1/memories?${query}`, call)
    return found?.memories.map((memory, at) => ({ ...found.hits[at]!, memory }))
  }

  /** Stop recalling a memory; its history stays. `id` may also be a unique beginning or end of the id. */
  async forget(id: string, { reason, ...call }: CallOptions & { reason?: string } = {}): Promise<Memory | undefined> {
    const query = reason === undefined ? "" : `?${new URLSearchParams({ reason })}`
    const found = await this.#asked<Schemas["OneMemory"]>("DELETE", `/v1/memories/${encodeURIComponent(id)}${query}`, call)
    return found?.memory
  }

  /** Return the answer to an event; {} = there is no text, undefined = there was no answer, or the event was not sent because of a pause. */
  async #told<T extends object>(host: string, event: AgentEvent | LibraryEvent, options: CallOptions): Promise<Partial<T> | undefined> {
    const lasting = event.event === "message_end" || event.event === "end" // sent also during a pause: no request waits for the answer, and the event would be lost
    if (!this.strict && !lasting && Date.now() < this.#restUntil) return undefined
    const usualMs = namedDeadlineMs() ?? (event.event === "start" ? START_MS : DEADLINE_MS)
    const deadlineMs = options.deadlineMs ?? this.#options.deadlineMs ?? usualMs
    const headers = { "X-Tacit-Deadline-Ms": String(Math.max(50, Math.round(deadlineMs - MARGIN_MS))) }
    let reply: Reply
    try {
      reply = await this.#send("POST", `/hook/${host}`, { deadlineMs, signal: options.signal }, event, headers)
    } catch (error) {
      this.#misses += 1
      this.#restUntil = Date.now() + (this.#misses > 1 ? REST_LONG_MS : REST_MS)
      if (this.#options.start && isAbsent(error)) this.#startDaemon()
      throw error
    }
    this.#misses = 0
    return valueOf<Partial<T>>(reply) ?? {}
  }

  async #asked<T>(
    method: string,
    path: string,
    { deadlineMs, signal }: CallOptions,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<T | undefined> {
    return this.#guarded(async () => {
      const began = Date.now()
      const wholeMs = deadlineMs ?? this.#options.requestMs ?? REQUEST_MS
      for (;;) {
        const leftMs = Math.max(1, began + wholeMs - Date.now())
        try {
          return valueOf<T>(await this.#send(method, path, { deadlineMs: leftMs, signal }, body, headers))
        } catch (error) {
          const waits = this.#options.start && isAbsent(error) && Date.now() < began + Math.min(READY_MS, wholeMs)
          if (!waits) throw error
        }
        this.#startDaemon()
        await new Promise((done) => setTimeout(done, 50))
      }
    })
  }

  /** Return the value of a call; after a failure undefined, unless failures are thrown. */
  async #guarded<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      const failure = error instanceof TacitError ? error : new TacitError("client_error", `The client failed: ${error}.`, { cause: error })
      this.report(failure)
      if (this.strict) throw failure
      return undefined
    }
  }

  /** Call `onFailure` with a failure. Errors of the callback are ignored. */
  report(failure: TacitError): void {
    try {
      this.#options.onFailure?.(failure)
    } catch {
      // an error in the callback must not stop the agent
    }
  }

  #send(method: string, path: string, call: { deadlineMs: number; signal?: AbortSignal | undefined }, body?: unknown, headers: Record<string, string> = {}): Promise<Reply> {
    const address = this.#address ?? addressOf(this.home)
    const token = this.#token || ("token" in address ? address.token : "")
    const authority: Record<string, string> = token ? { Authorization: `Bearer ${token}` } : {}
    return exchange(address, { method, path, body, headers: { ...authority, ...headers }, ...call })
  }

  /** Start a daemon in the background, at most once in half a minute. */
  #startDaemon(): void {
    if (Date.now() - this.#startedAt < START_AGAIN_MS) return
    this.#startedAt = Date.now()
    const launcher = launcherOf(this.home)
    if (!existsSync(launcher)) {
      const hint = "Run `tacit install` once, or start the daemon yourself."
      this.report(new TacitError("daemon_unavailable", `The daemon cannot be started: there is no ${launcher}.`, { hint }))
      return
    }
    const child = spawn(launcher, ["start"], { detached: true, stdio: "ignore", env: { ...process.env, TACIT_HOME: this.home } })
    child.on("error", (cause) => this.report(new TacitError("daemon_unavailable", `${launcher} cannot be run: ${cause.message}.`, { cause })))
    child.unref()
  }
}

/** Return the deadline that the environment sets for a slow machine, in milliseconds; hooks of hosts use the same variable. */
function namedDeadlineMs(): number | undefined {
  const named = process.env["TACIT_HOOK_DEADLINE_MS"] ?? ""
  return /^[1-9]\d{0,8}$/.test(named) ? Math.min(Number(named), MOST_MS) : undefined
}

function valueOf<T>({ status, body }: Reply): T | undefined {
  if (status >= 400) throw errorOf(status, body)
  if (!body) return undefined
  try {
    return JSON.parse(body) as T
  } catch (cause) {
    throw new TacitError("daemon_error", "The daemon's answer is no JSON.", { status, cause })
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof TacitError && error.code === "daemon_unavailable" && error.status === 0
}

function portOf(url: string): Address {
  try {
    const parsed = new URL(url)
    if (parsed.protocol === "http:" && parsed.port) return { host: parsed.hostname, port: Number(parsed.port), token: "" }
  } catch {
    // the error is thrown below
  }
  throw new TacitError("invalid_input", `\`url\` is ${JSON.stringify(url)}.`, { hint: "Expected http://127.0.0.1:PORT." })
}
