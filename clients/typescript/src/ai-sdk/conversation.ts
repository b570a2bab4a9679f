// One conversation whose messages the program keeps: the block of every message, the same bytes in every request.
// A message that was sent without a block stays without one. Mirrors `tacit.library.conversation`.

import type { CallOptions, LibraryEvent, LibraryReply, Tacit } from "../client.js"
import { callSlot, slotsOf, type Call, type Facts, type Outcome } from "./messages.js"

const MAX_TEXTS = 4000
const MAX_REPLAY = 400
const PREVIOUS_CHARS = 4000

/** The texts of a request: for the system prompt, and for messages by slot. */
export interface Placement {
  system: string
  slots: string[][]
  textAt: (slot: string) => string
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never
type Told = DistributiveOmit<Exclude<LibraryEvent, { event: "ping" }>, "session" | "version" | "cwd" | "agent">
/** Options of an event, and whether Tacit may learn explicit statements of the user in a prompt. */
type Asking = CallOptions & { capture: boolean }
type Source = Extract<LibraryEvent, { event: "start" }>["source"]

export class Conversation {
  readonly #tacit: Tacit
  readonly #id: string
  readonly #decided = new Map<string, string>()
  readonly #prompts = new Set<string>()
  #system = ""
  #start: Source | undefined = "startup"
  #epoch = 0
  #turn: Promise<unknown> = Promise.resolve()

  constructor(tacit: Tacit, id: string) {
    this.#tacit = tacit
    this.#id = id
  }

  /** Send the events for the new messages of a request, and return the block of every message. Handles one request at a time. */
  advance(messages: Facts[], call: Asking): Promise<Placement> {
    const placed = this.#turn.then(() => this.#advance(messages, call))
    this.#turn = placed.catch(() => undefined)
    return placed
  }

  /** Report that the turn is over, so that the daemon may learn from the conversation. */
  async finish(text: string, messages: Extract<Told, { event: "message_end" }>["messages"]): Promise<void> {
    await this.#tell({ event: "message_end", text: text.slice(-PREVIOUS_CHARS), final: true, messages: messages ?? [] }, { deadlineMs: 5000 })
  }

  async #advance(messages: Facts[], call: Asking): Promise<Placement> {
    const slots = slotsOf(messages)
    this.#noticeCompaction(slots)
    if (this.#start) await this.#begin(call)
    const newest = lastAnswer(messages)
    const previous = messages[newest]?.text.slice(-PREVIOUS_CHARS) ?? ""
    await this.#replay(slots.slice(0, Math.max(newest, 0)).flat(), call)
    const calls = new Map(messages.flatMap((message) => message.calls).map((made) => [made.callId, made]))
    const lastPrompt = messages.findLastIndex((message) => message.digest)
    for (let at = newest + 1; at < messages.length; at += 1) {
      const message = messages[at]!
      for (const result of message.results) await this.#result(result, calls.get(result.callId), call)
      const slot = message.digest ? slots[at]!.at(-1)! : ""
      if (slot) await this.#prompt(slot, message.text, previous, at === lastPrompt, call)
    }
    return { system: this.#system, slots, textAt: (slot) => this.#decided.get(slot) ?? "" }
  }

  /** Detect a compaction: if none of the earlier messages is left, a summary replaced them, and memories may be repeated. */
  #noticeCompaction(slots: string[][]): void {
    const current = slots.flat().filter((slot) => !slot.startsWith("call:"))
    if (!this.#prompts.size || !current.length || current.some((slot) => this.#prompts.has(slot))) return
    this.#epoch += 1
    this.#start = "compact"
    this.#decided.clear()
    this.#prompts.clear()
  }

  async #begin(call: CallOptions): Promise<void> {
    const source = this.#start
    const key = source === "compact" ? `start:compact:${this.#epoch}` : "start:startup"
    const reply = await this.#tell({ event: "start", source, key }, call)
    if (!reply) return // the next request sends the event again
    this.#system = reply.system ?? ""
    this.#start = undefined
  }

  /** Decide about messages that are new to this process. An earlier process may have given them blocks. */
  async #replay(slots: string[], call: CallOptions): Promise<void> {
    const unknown = slots.filter((slot) => !this.#decided.has(slot))
    for (const slot of slots) if (!slot.startsWith("call:")) this.#prompts.add(slot)
    if (!unknown.length) return
    const reply = await this.#tell({ event: "replay", message_ids: unknown.slice(-MAX_REPLAY) }, call)
    for (const slot of unknown) this.#decide(slot, reply?.texts?.[slot])
  }

  async #prompt(slot: string, text: string, previous: string, isNewest: boolean, call: Asking): Promise<void> {
    this.#prompts.add(slot)
    if (this.#decided.has(slot)) return
    if (!isNewest) return this.#replay([slot], call)
    const about = { text, message_id: slot, previous, capture: call.capture }
    const reply = await this.#tell({ event: "prompt", key: `prompt:${this.#epoch}:${slot}`, ...about }, call)
    if (reply?.system !== undefined) this.#system = reply.system // some presets change the system text with every prompt
    this.#decide(slot, reply?.text)
    await this.#bound(slot, call)
  }

  /** Remove the blocks that exceed the limit of the settings. */
  async #bound(newest: string, call: CallOptions): Promise<void> {
    const older = [...this.#decided].filter(([slot, text]) => text && slot !== newest).map(([slot]) => slot).slice(-MAX_REPLAY)
    const reply = older.length ? await this.#tell({ event: "replay", message_ids: older }, call) : undefined
    if (!reply) return
    for (const slot of older) if (!reply.texts?.[slot]) this.#decided.set(slot, "")
  }

  async #result({ callId, text, failed }: Outcome, made: Call | undefined, call: CallOptions): Promise<void> {
    const slot = callSlot(callId)
    if (this.#decided.has(slot)) return
    const about = { tool: made?.tool || "tool", call_id: callId, args: made?.args ?? {} }
    const reply = failed
      ? await this.#tell({ event: "tool_failed", key: `tool_failed:${this.#epoch}:${callId}`, error: text, ...about }, call)
      : await this.#tell({ event: "tool_end", key: `tool_end:${this.#epoch}:${callId}`, output: text, ...about }, call)
    this.#decide(slot, reply?.text)
  }

  #decide(slot: string, text: string | undefined): void {
    this.#decided.set(slot, text ?? "")
    if (this.#decided.size > MAX_TEXTS) this.#decided.delete(this.#decided.keys().next().value!)
  }

  #tell(event: Told, call: CallOptions): Promise<LibraryReply | undefined> {
    const about = { version: 1 as const, session: this.#id, cwd: this.#tacit.cwd, agent: this.#tacit.agent }
    return this.#tacit.libraryEvent({ ...about, ...event }, call)
  }
}

/** Return the position of the newest message of the agent before another message; -1 = none. One at the end is a prefilled answer. */
function lastAnswer(messages: Facts[]): number {
  let end = messages.length
  while (end && messages[end - 1]!.role === "assistant") end -= 1
  return messages.slice(0, end).findLastIndex((message) => message.role === "assistant")
}
