export { Tacit } from "./client.js"
export type {
  AgentEvent,
  Block,
  CallOptions,
  Change,
  Hit,
  LibraryEvent,
  LibraryReply,
  Memory,
  RememberOptions,
  SearchOptions,
  TacitOptions,
} from "./client.js"
export { TacitError } from "./errors.js"
export { AgentSession } from "./session.js"
export type { Message, ToolCall } from "./session.js"
