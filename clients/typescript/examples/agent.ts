import { spawnSync } from "node:child_process"
import { createInterface } from "node:readline"
import { Tacit } from "@tacit/client"

interface Call { id: string; function: { name: string; arguments: string } }
interface Said { role: string; content: string; tool_calls?: Call[]; tool_call_id?: string }

const tacit = new Tacit({ agent: "example", onFailure: (error) => console.error(error.message) })
const session = tacit.session(`example-${crypto.randomUUID()}`)
const tools = [{ type: "function", function: { name: "bash", parameters: { type: "object", properties: { command: { type: "string" } } } } }]
const lines = (...texts: (string | undefined)[]) => texts.filter(Boolean).join("\n\n")

async function ask(messages: Said[]): Promise<Said> {
  const body = JSON.stringify({ model: "any", messages, tools })
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${process.env["MODEL_KEY"]}` }
  const reply = await fetch(`${process.env["MODEL_URL"]}/v1/chat/completions`, { method: "POST", headers, body })
  return ((await reply.json()) as { choices: [{ message: Said }] }).choices[0].message
}

async function run(call: Call): Promise<Said> {
  const args = JSON.parse(call.function.arguments) as { command: string }
  const tool = { tool: "bash", callId: call.id, args }
  const rule = await session.before(tool)
  const done = spawnSync(args.command, { shell: true, encoding: "utf8" })
  const output = `Exit code ${done.status}\n${done.stdout}${done.stderr}`
  const note = await session.after(done.status ? { ...tool, error: output } : { ...tool, output })
  return { role: "tool", tool_call_id: call.id, content: lines(rule?.context, output, note?.context) }
}

const messages: Said[] = [{ role: "system", content: lines("You are a coding agent.", (await session.start())?.context) }]
for await (const prompt of createInterface({ input: process.stdin })) {
  messages.push({ role: "user", content: lines(prompt, (await session.prompt(prompt))?.context) })
  let answer = await ask(messages)
  for (; answer.tool_calls; answer = await ask(messages)) {
    messages.push(answer)
    for (const call of answer.tool_calls) messages.push(await run(call))
  }
  messages.push(answer)
  console.log(answer.content)
  await session.capture({ messages: messages.map((message) => ({ ...message })) })
}
await session.end()
