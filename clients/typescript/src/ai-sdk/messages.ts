// Reads the messages of an AI SDK prompt, and adds blocks to them. Never changes a message.

// The types have only the fields that are read here, so that they fit every version of the SDK's provider interface since V2.

import { createHash, type Hash } from "node:crypto"
import type { Message as Said } from "../session.js"

/** A part of a message, of an answer or of a stream. */
export interface Part {
  type: string
}

export type Message = { role: "system"; content: string } | { role: "user" | "assistant" | "tool"; content: Part[] }

type ToolCall = Part & { toolCallId: string; toolName: string; input: unknown; providerExecuted?: boolean | undefined }
type ToolResult = Part & { toolCallId: string; output: Output }
export type Output =
  | { type: "text" | "error-text"; value: string }
  | { type: "json" | "error-json"; value: unknown }
  | { type: "content"; value: Part[] }
  | { type: "execution-denied"; reason?: string | undefined }

const GAP = "\n\n"
const MAX_RESULT_CHARS = 16_000
const KEPT_RESULT_CHARS = 4_000

export interface Call {
  callId: string
  tool: string
  args: Record<string, unknown>
}

export interface Outcome {
  callId: string
  text: string
  failed: boolean
}

/** The parts of one message that the memory uses. `digest` identifies a user's message by its content; "" = it has no text of the user. */
export interface Facts {
  role: Message["role"]
  text: string
  digest: string
  calls: Call[]
  results: Outcome[]
}

export function read(message: Message): Facts {
  const facts: Facts = { role: message.role, text: "", digest: "", calls: [], results: [] }
  if (message.role === "system") return { ...facts, text: message.content }
  const texts: string[] = []
  for (const part of message.content) {
    if (isText(part)) texts.push(part.text)
    else if (isCall(part)) facts.calls.push({ callId: part.toolCallId, tool: part.toolName, args: asObject(part.input) })
    else if (message.role === "tool" && isResult(part)) {
      const failed = part.output.type === "error-text" || part.output.type === "error-json"
      facts.results.push({ callId: part.toolCallId, text: textOf(part.output).slice(0, MAX_RESULT_CHARS), failed })
    }
  }
  facts.text = texts.join("\n")
  if (message.role === "user" && facts.text.trim()) facts.digest = digestOf(message.content)
  return facts
}

/** Return the parts of an answer as one message of the agent. */
export function readAnswer(parts: Part[]): Facts {
  const answer = read({ role: "assistant", content: parts })
  return { ...answer, text: parts.map((part) => (isText(part) ? part.text : "")).join("") }
}

/** Return the names under which the blocks of each message are kept: a result has the name of its call, a text that of its digest. Repeated texts differ. */
export function slotsOf(messages: Facts[]): string[][] {
  const counts = new Map<string, number>()
  return messages.map(({ results, digest }) => {
    const names = results.map(({ callId }) => callSlot(callId))
    if (digest) {
      const count = (counts.get(digest) ?? 0) + 1
      counts.set(digest, count)
      names.push(count === 1 ? digest : `${digest}#${count}`)
    }
    return names
  })
}

export const callSlot = (callId: string): string => `call:${callId}`

/** Return `message` with the texts of its slots: after a tool's result, or as the last part of the user's message. */
export function place(message: Message, slots: string[], textAt: (slot: string) => string): Message {
  if (message.role === "tool") {
    const content = message.content.map((part) => {
      const text = isResult(part) ? textAt(callSlot(part.toolCallId)) : ""
      return text && isResult(part) ? { ...part, output: withText(part.output, text) } : part
    })
    return content.some((part, at) => part !== message.content[at]) ? { ...message, content } : message
  }
  const text = message.role === "user" ? slots.map(textAt).filter(Boolean).join(GAP) : ""
  if (message.role !== "user" || !text) return message
  return { ...message, content: [...message.content, textPart(text)] }
}

/** Return the conversation in the form that capture reads: texts, tool calls and shortened results; no pictures, no blocks. */
export function transcript(messages: Facts[]): Said[] {
  return messages.flatMap(({ role, text, calls, results }): Said[] => {
    if (role === "tool") {
      return results.map(({ callId, text, failed }) => ({
        role: "tool",
        tool_call_id: callId,
        is_error: failed,
        content: text.slice(0, KEPT_RESULT_CHARS),
      }))
    }
    if (role === "user" && text) return [{ role, content: text }]
    if (role !== "assistant" || !(text || calls.length)) return []
    const said = text ? [{ type: "text", text }] : []
    const used = calls.map(({ callId, tool, args }) => ({ type: "tool_use", id: callId, name: tool, input: args }))
    return [{ role, content: [...said, ...used] }]
  })
}

/** Return the arguments of a call as an object. In a model's answer, the SDK has them as JSON text. */
function asObject(input: unknown): Record<string, unknown> {
  if (typeof input === "string") {
    try {
      return asObject(JSON.parse(input))
    } catch {
      return { input }
    }
  }
  return typeof input === "object" && input !== null && !Array.isArray(input) ? (input as Record<string, unknown>) : { input }
}

const isText = (part: Part): part is Part & { text: string } => part.type === "text" && "text" in part
const isResult = (part: Part): part is ToolResult => part.type === "tool-result" && "output" in part
/** Return whether the program runs a call itself. The results of other calls never come back as messages. */
const isCall = (part: Part): part is ToolCall => part.type === "tool-call" && !("providerExecuted" in part && part.providerExecuted)
const textPart = (text: string) => ({ type: "text", text })

function withText(output: Output, text: string): Output {
  switch (output.type) {
    case "text":
    case "error-text":
      return { ...output, value: output.value + GAP + text }
    case "json":
      return { type: "text", value: JSON.stringify(output.value) + GAP + text }
    case "error-json":
      return { type: "error-text", value: JSON.stringify(output.value) + GAP + text }
    case "content":
      return { ...output, value: [...output.value, textPart(text)] }
    default:
      return output
  }
}

function textOf(output: Output): string {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value
    case "json":
    case "error-json":
      return JSON.stringify(output.value)
    case "content":
      return output.value.map((part) => (isText(part) ? part.text : "")).join("\n")
    default:
      return output.reason ?? "The call was not allowed."
  }
}

/** Return a digest of the content of a message without its provider options, as sixteen hexadecimal digits. */
function digestOf(content: unknown): string {
  const hash = createHash("sha256")
  feed(hash, content)
  return hash.digest("hex").slice(0, 16)
}

function feed(hash: Hash, value: unknown): void {
  if (value instanceof Uint8Array) hash.update("b").update(value)
  else if (value instanceof URL) hash.update("u").update(value.href)
  else if (Array.isArray(value)) {
    hash.update("[")
    for (const item of value) feed(hash, item)
    hash.update("]")
  } else if (typeof value === "object" && value !== null) {
    hash.update("{")
    for (const [name, field] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (name === "providerOptions" || field === undefined) continue
      hash.update(JSON.stringify(name))
      feed(hash, field)
    }
    hash.update("}")
  } else hash.update(JSON.stringify(value) ?? "")
}
