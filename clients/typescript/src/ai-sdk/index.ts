import type { Tacit } from "../client.js"
import { TacitError } from "../errors.js"
import { Conversation } from "./conversation.js"
import { place, read, readAnswer, transcript, type Facts, type Message, type Part } from "./messages.js"

export interface MemoryOptions {
  /** Your id of the conversation, such as the id of the chat. All requests of a conversation have the same id. */
  session: string
  /** Learn from the conversation: explicit statements of the user in a prompt, and more after each turn. Default: false. */
  capture?: boolean
  /** Longest time of one event in milliseconds. Default: that of the client. */
  deadlineMs?: number
}

/** A middleware of the AI SDK; its types fit those of versions 5 to 7. */
export interface MemoryMiddleware {
  readonly specificationVersion: "v3"
  transformParams<P extends { prompt: Message[] }>(options: { params: P }): Promise<P>
  wrapGenerate<R extends { content: Part[] }>(options: { doGenerate: () => PromiseLike<R>; params: { prompt: Message[] } }): Promise<R>
  wrapStream<R extends { stream: ReadableStream<Part> }>(options: { doStream: () => PromiseLike<R>; params: { prompt: Message[] } }): Promise<R>
}

const MAX_CONVERSATIONS = 200
const conversations = new WeakMap<Tacit, Map<string, Conversation>>()
const pending = new Set<Promise<unknown>>()

/**
 * A middleware for `wrapLanguageModel` of the AI SDK: it adds the memories of `tacit` to the requests of one conversation.
 *
 * The start pack comes at the end of your last leading system message, and a block after its prompt or tool result. Every block
 * has the same bytes in every later request, so prompt caches stay valid. Your messages are not changed. Without an answer in time,
 * the request is sent without a block; with a `strict` client it fails.
 */
export function memory(tacit: Tacit, { session, capture = false, deadlineMs }: MemoryOptions): MemoryMiddleware {
  const conversation = conversationOf(tacit, session)
  const asked = new WeakMap<Message[], Facts[]>()

  /** Send a turn that ended to the daemon. A turn with another tool call has not ended. */
  const learn = (prompt: Message[], content: Part[]): void => {
    const before = asked.get(prompt)
    const answer = readAnswer(content)
    if (!capture || !before || answer.calls.length || !answer.text) return
    const sent = conversation.finish(answer.text, transcript([...before, answer])).catch(() => undefined)
    pending.add(sent)
    void sent.finally(() => pending.delete(sent))
  }

  return {
    specificationVersion: "v3",
    async transformParams({ params }) {
      const call = { capture, ...(deadlineMs === undefined ? {} : { deadlineMs }) }
      try {
        const facts = params.prompt.map(read)
        const { system, slots, textAt } = await conversation.advance(facts, call)
        const prompt = params.prompt.map((message, at) => place(message, slots[at]!, textAt))
        if (system) placeSystem(prompt, system)
        asked.set(prompt, facts)
        return { ...params, prompt }
      } catch (error) {
        if (tacit.strict) throw error
        tacit.report(new TacitError("client_error", `The messages could not be read: ${error}.`, { cause: error }))
        return params
      }
    },
    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate()
      learn(params.prompt, result.content)
      return result
    },
    async wrapStream({ doStream, params }) {
      const result = await doStream()
      if (!capture) return result
      const content: Part[] = []
      const watch = new TransformStream<Part, Part>({
        transform(part, controller) {
          controller.enqueue(part)
          if (part.type === "text-delta" && "delta" in part) content.push({ type: "text", text: part.delta } as Part)
          else if (part.type === "tool-call") content.push(part)
          else if (part.type === "finish") learn(params.prompt, content)
        },
      })
      return { ...result, stream: result.stream.pipeThrough(watch) }
    },
  }
}

/** Wait until all finished turns were sent to the daemon. Call it before a short-lived process ends. */
export async function flush(): Promise<void> {
  await Promise.all(pending)
}

function conversationOf(tacit: Tacit, session: string): Conversation {
  const known = conversations.get(tacit) ?? new Map<string, Conversation>()
  conversations.set(tacit, known)
  const found = known.get(session) ?? new Conversation(tacit, session)
  known.delete(session)
  known.set(session, found)
  if (known.size > MAX_CONVERSATIONS) known.delete(known.keys().next().value!)
  return found
}

/** Add the start pack to the last system message at the beginning of the prompt: some models refuse a second system message. */
function placeSystem(prompt: Message[], system: string): void {
  const first = prompt.findIndex((message) => message.role !== "system")
  const at = (first < 0 ? prompt.length : first) - 1
  const own = prompt[at]
  if (own?.role === "system") prompt[at] = { ...own, content: `${own.content}\n\n${system}` }
  else prompt.unshift({ role: "system", content: system })
}
