import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { Tacit } from "@tacit/client"
import { flush, memory } from "@tacit/client/ai-sdk"
import { streamText, wrapLanguageModel, type ModelMessage } from "ai"

const tacit = new Tacit({ onFailure: (error) => console.error(error.message) })
const provider = createOpenAICompatible({ name: "local", baseURL: `${process.env["MODEL_URL"]}/v1` })
const model = wrapLanguageModel({
  model: provider("any"),
  middleware: memory(tacit, { session: "chat-7", capture: true }),
})

const messages: ModelMessage[] = []
for (const prompt of process.argv.slice(2)) {
  messages.push({ role: "user", content: prompt })
  const result = streamText({ model, messages })
  for await (const text of result.textStream) process.stdout.write(text)
  process.stdout.write("\n")
  messages.push(...(await result.response).messages)
}
await flush()
