// What the messages of an AI SDK prompt say, and how a block is added to one. No message that came in is changed.

import { createHash, type Hash } from "node:crypto"
import type { LanguageModelV3Message, LanguageModelV3ToolResultOutput } from "@ai-sdk/provider"
import type { Message } from "../session.js"

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

/** The parts of one message that the memory uses. `digest` names a user's message by what it holds; "" = no words of the user. */
export interface Facts {
  role: LanguageModelV3Message["role"]
  text: string
  digest: string
  calls: Call[]
  results: Outcome[]
}

export function read(message: LanguageModelV3Message): Facts {
  const facts: Facts = { role: message.role, text: "", digest: "", calls: [], results: [] }
  if (message.role === "system") return { ...facts, text: message.content }
  const texts: string[] = []
  for (const part of message.content) {
    if (part.type === "text") texts.push(part.text)
    else if (part.type === "tool-call" && !part.providerExecuted) {
      facts.calls.push({ callId: part.toolCallId, tool: part.toolName, args: asObject(part.input) })
    } else if (part.type === "tool-result" && message.role === "tool") {
      const failed = part.output.type === "error-text" || part.output.type === "error-json"
      facts.results.push({ callId: part.toolCallId, text: textOf(part.output).slice(0, MAX_RESULT_CHARS), failed })
    }
  }
  facts.text = texts.join("\n")
  if (message.role === "user" && facts.text.trim()) facts.digest = digestOf(message.content)
  return facts
}

/** The names under which the blocks of each message are kept: results by their call, words by what they are; words said twice differ. */
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

/** `message` with the texts of its slots: behind a tool's result, or as the last part of the user's words. */
export function place(message: LanguageModelV3Message, slots: string[], textAt: (slot: string) => string): LanguageModelV3Message {
  if (message.role === "tool") {
    const content = message.content.map((part) => {
      const text = part.type === "tool-result" ? textAt(callSlot(part.toolCallId)) : ""
      return text && part.type === "tool-result" ? { ...part, output: withText(part.output, text) } : part
    })
    return content.some((part, at) => part !== message.content[at]) ? { ...message, content } : message
  }
  const text = message.role === "user" ? slots.map(textAt).filter(Boolean).join(GAP) : ""
  if (message.role !== "user" || !text) return message
  return { ...message, content: [...message.content, { type: "text", text }] }
}

/** The conversation as capture reads it: words, tool calls and results, shortened; no pictures, no blocks. */
export function transcript(messages: Facts[]): Message[] {
  return messages.flatMap(({ role, text, calls, results }): Message[] => {
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

/** The arguments of a call as an object; the SDK gives a model's answer with them as JSON text. */
export function asObject(input: unknown): Record<string, unknown> {
  if (typeof input === "string") {
    try {
      return asObject(JSON.parse(input))
    } catch {
      return { input }
    }
  }
  return typeof input === "object" && input !== null && !Array.isArray(input) ? (input as Record<string, unknown>) : { input }
}

function withText(output: LanguageModelV3ToolResultOutput, text: string): LanguageModelV3ToolResultOutput {
  switch (output.type) {
    case "text":
    case "error-text":
      return { ...output, value: output.value + GAP + text }
    case "json":
      return { type: "text", value: JSON.stringify(output.value) + GAP + text }
    case "error-json":
      return { type: "error-text", value: JSON.stringify(output.value) + GAP + text }
    case "content":
      return { ...output, value: [...output.value, { type: "text", text }] }
    default:
      return output
  }
}

function textOf(output: LanguageModelV3ToolResultOutput): string {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value
    case "json":
    case "error-json":
      return JSON.stringify(output.value)
    case "content":
      return output.value.map((part) => (part.type === "text" ? part.text : "")).join("\n")
    default:
      return output.reason ?? "The call was not allowed."
  }
}

/** Sixteen hexadecimal digits over what a message holds, without what providers are told beside it. */
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
