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
/** An event of a program that puts the same texts into every request, as `POST /hook/library` reads it. */
export type LibraryEvent =
  | Exclude<AgentEvent, Schemas["MessageEndEvent"]>
  | Schemas["LibraryMessageEndEvent"]
  | Schemas["ReplayEvent"]
  | Schemas["PingEvent"]
export type LibraryReply = Schemas["LibraryReply"]
/** What to tell the model now; `context` is the text. */
export type Block = Schemas["AgentReply"] & { context: string }
/** What became of a statement. */
export type Change = Schemas["Changed"]["changes"][number]
/** A stored memory. */
export type Memory = Schemas["MemoryView"]
/** A memory that a search found. */
export type Hit = Schemas["Hits"]["hits"][number]

export interface TacitOptions {
  /** Folder of the memory; default: TACIT_HOME, else `~/.tacit`. */
  home?: string
  /** Address of a daemon's port, such as `http://127.0.0.1:7777`, instead of the one of `home`. */
  url?: string
  /** Personal token of the user, with which statements count as the user's; for `url` also the port's token. Default: TACIT_TOKEN. */
  token?: string
  /** Working folder; it names the project. Default: that of the process. "" = no project. */
  cwd?: string
  /** Name of the agent, where settings differ by agent. */
  agent?: string
  /** Start a daemon where none runs. Default: false. */
  start?: boolean
  /** Throw instead of returning nothing. Default: false. */
  strict?: boolean
  /** How many milliseconds an event of a session may take. Default: TACIT_HOOK_DEADLINE_MS, else 400, and 800 for the start. */
  deadlineMs?: number
  /** How many milliseconds `remember`, `search` and `forget` may take. Default: 30000. */
  requestMs?: number
  /** Hears of every failure, also when nothing is thrown. */
  onFailure?: (error: TacitError) => void
}

export interface CallOptions {
  /** How many milliseconds this call may take. */
  deadlineMs?: number
  /** Ends the call early. */
  signal?: AbortSignal
  /** The same call sent again with this text is done once. Default: a new one for each call. */
  key?: string
}

export interface RememberOptions extends CallOptions {
  /** When it applies, in words, such as `commit`; a list = any of them. */
  when?: string | string[]
  kind?: string
  scope?: string
  pinned?: boolean
  files?: string[]
  sensitivity?: "public" | "project" | "session" | "restricted"
  /** Ids of memories that it replaces. */
  replaces?: string[]
  /** The user's words about it, verbatim from a prompt: they prove a statement of an agent that has no token of the user. */
  userWords?: string
}

export interface SearchOptions extends CallOptions {
  /** Most memories. */
  limit?: number
  kind?: string[]
}

const DEADLINE_MS = 400
const START_MS = 800
const MOST_MS = 60_000
const REQUEST_MS = 30_000
/** This much of a deadline is left for the way back. */
const MARGIN_MS = 30
/** After an event without an answer nothing is asked for so long; the second, when it was not the first in a row. */
const REST_MS = 300
const REST_LONG_MS = 3_000
/** A request that may start a daemon waits so long for it. */
const READY_MS = 10_000
const START_AGAIN_MS = 30_000

/**
 * The client of a daemon. Without `strict` no method throws: a call that fails returns undefined, and `onFailure` hears why.
 * It holds no connection open, so it needs no closing.
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

  /** @throws TacitError `invalid_input` for a `url` that is none. */
  constructor(options: TacitOptions = {}) {
    this.home = homeFolder(options.home)
    this.cwd = options.cwd ?? process.cwd()
    this.agent = options.agent ?? ""
    this.strict = options.strict ?? false
    this.#options = options
    this.#token = options.token ?? process.env["TACIT_TOKEN"]?.trim() ?? ""
    this.#address = options.url === undefined ? undefined : portOf(options.url)
  }

  /** A conversation of your agent, known by its id. */
  session(id: string): AgentSession {
    return new AgentSession(this, id)
  }

  /** Tell of an event of an agent that keeps what it is given; `session` has a method for each. undefined = nothing to say. */
  async event(event: AgentEvent, options: CallOptions = {}): Promise<Block | undefined> {
    const reply = await this.#guarded(() => this.#told<Schemas["AgentReply"]>("plain", event, options))
    return reply?.context ? { ...reply, context: reply.context } : undefined
  }

  /**
   * Tell of an event of a program that puts the same texts into every request. {} = nothing to say; undefined = no answer.
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
    const found = await this.#asked<Schemas["Changed"]>("POST", "/v1/remember", { deadlineMs, signal }, body, headers)
    return found?.changes
  }

  /** Find memories by words and by meaning, best first, among those that are visible from `cwd`. */
  async search(text: string, options: SearchOptions = {}): Promise<Hit[] | undefined> {
    const { limit, kind = [], ...call } = options
    const query = new URLSearchParams({ text, cwd: this.cwd, ...(limit === undefined ? {} : { limit: String(limit) }) })
    for (const name of kind) query.append("kind", name)
    const found = await this.#asked<Schemas["Hits"]>("GET", `/v1/search?${query}`, call)
    return found?.hits
  }

  /** Stop recalling a memory; its history stays. The id, or a unique beginning or end of it. */
  async forget(id: string, { reason, ...call }: CallOptions & { reason?: string } = {}): Promise<Memory | undefined> {
    const query = reason === undefined ? "" : `?${new URLSearchParams({ reason })}`
    const found = await this.#asked<Schemas["OneMemory"]>("DELETE", `/v1/memories/${encodeURIComponent(id)}${query}`, call)
    return found?.memory
  }

  /** The answer to an event; {} = nothing to say, undefined = not asked, because the last answers failed to come. */
  async #told<T extends object>(host: string, event: AgentEvent | LibraryEvent, options: CallOptions): Promise<Partial<T> | undefined> {
    const lasting = event.event === "message_end" || event.event === "end" // nobody waits for a text, and nothing else brings it back
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

  /** A call's value; of a failure undefined, unless failures are thrown. */
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

  /** Tell `onFailure` of a failure. What the callback throws is dropped. */
  report(failure: TacitError): void {
    try {
      this.#options.onFailure?.(failure)
    } catch {
      // the agent is not harmed by its own log
    }
  }

  #send(method: string, path: string, call: { deadlineMs: number; signal?: AbortSignal | undefined }, body?: unknown, headers: Record<string, string> = {}): Promise<Reply> {
    const address = this.#address ?? addressOf(this.home)
    const token = this.#token || ("token" in address ? address.token : "")
    const authority: Record<string, string> = token ? { Authorization: `Bearer ${token}` } : {}
    return exchange(address, { method, path, body, headers: { ...authority, ...headers }, ...call })
  }

  /** Start a daemon in the background, at most every half minute. */
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

/** The milliseconds that a person set for a slow machine, as for the hooks of hosts. */
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
    // said below
  }
  throw new TacitError("invalid_input", `\`url\` is ${JSON.stringify(url)}.`, { hint: "Expected http://127.0.0.1:PORT." })
}
