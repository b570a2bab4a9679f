import { randomUUID } from "node:crypto"
import type { AgentEvent, Block, CallOptions, Tacit } from "./client.js"
import type { components } from "./schema.js"

type Schemas = components["schemas"]

/** A tool call. `args` are the arguments as the model wrote them; `paths`, `command` and `text` say what they mean if their names are unusual. */
export interface ToolCall {
  tool: string
  callId?: string
  args?: Record<string, unknown>
  paths?: string[]
  command?: string
  text?: string
}

/** A message of a conversation: role, content, tool calls and results in the form of the Chat Completions or Messages API. */
export type Message = { role: string; content?: unknown; [field: string]: unknown }

/**
 * A conversation of an agent that keeps the texts in its own history. Every method returns the text for the model,
 * or undefined. Create one with `Tacit.session`.
 */
export class AgentSession {
  readonly id: string
  readonly #tacit: Tacit

  constructor(tacit: Tacit, id: string) {
    this.#tacit = tacit
    this.id = id
  }

  /** The session starts. Insert the answer at the end of the system prompt. */
  start({ source = "startup", parent, ...call }: CallOptions & { source?: Schemas["StartEvent"]["source"]; parent?: string } = {}) {
    return this.#tell({ event: "start", source, ...(parent === undefined ? {} : { parent }) }, call)
  }

  /**
   * The user sent a prompt; `previous` is the end of the agent's message before it. Insert the answer after the prompt.
   * Tacit learns explicit statements of the user in it, unless `capture` is false.
   */
  prompt(
    text: string,
    { previous = "", messageId = "", capture = true, ...call }: CallOptions & { previous?: string; messageId?: string; capture?: boolean } = {},
  ) {
    return this.#tell({ event: "prompt", text, previous, message_id: messageId, capture }, call)
  }

  /** A call is about to run. Insert the answer before the call or, if your agent cannot wait, after its result. */
  before(tool: ToolCall, call: CallOptions = {}) {
    return this.#tell({ event: "tool_start", ...callFields(tool) }, call)
  }

  /** A call ended with its `output` or with an `error`. Insert the answer after it. */
  after(tool: ToolCall & ({ output: string } | { error: string }), call: CallOptions = {}) {
    const event =
      "error" in tool
        ? { event: "tool_failed" as const, error: tool.error, ...callFields(tool) }
        : { event: "tool_end" as const, output: tool.output, ...callFields(tool) }
    return this.#tell(event, call)
  }

  /** The conversation is about to be compacted. */
  async compacting({ automatic = false, ...call }: CallOptions & { automatic?: boolean } = {}): Promise<void> {
    await this.#tell({ event: "compacting", automatic }, call)
  }

  /** A summary replaced the conversation. Insert the answer at the end of the new system prompt. */
  compacted(call: CallOptions = {}) {
    return this.start({ ...call, source: "compact" })
  }

  /** The agent's turn is over. Tacit may learn from the conversation so far; it is read at once and not stored in full. */
  async capture({ text, messages, final = true, ...call }: CallOptions & { text?: string; messages?: Message[]; final?: boolean }): Promise<void> {
    const said = text ?? lastWords(messages ?? [])
    await this.#tell({ event: "message_end", text: said, final, ...(messages ? { messages } : {}) }, call)
  }

  /** The session is over; `deleted` deletes Tacit's record of it as well. */
  async end({ reason = "closed", deleted = false, ...call }: CallOptions & { reason?: string; deleted?: boolean } = {}): Promise<void> {
    await this.#tell({ event: "end", reason, deleted }, call)
  }

  #tell(event: DistributiveOmit<AgentEvent, "session" | "version" | "cwd" | "agent">, call: CallOptions): Promise<Block | undefined> {
    const about = { version: 1 as const, session: this.id, cwd: this.#tacit.cwd, agent: this.#tacit.agent }
    return this.#tacit.event({ ...about, ...event, key: call.key ?? randomUUID() }, call)
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

function callFields({ tool, callId = "", args, paths, command, text }: ToolCall) {
  return {
    tool,
    call_id: callId,
    ...(args === undefined ? {} : { args }),
    ...(paths === undefined ? {} : { paths }),
    ...(command === undefined ? {} : { command }),
    ...(text === undefined ? {} : { text }),
  }
}

function lastWords(messages: Message[]): string {
  const last = messages.findLast((message) => message.role === "assistant")
  return typeof last?.content === "string" ? last.content.slice(-4000) : ""
}
