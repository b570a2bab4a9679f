// One HTTP request to the daemon. The deadline holds for the whole request. No connection is kept.

import { request as send, type ClientRequestArgs } from "node:http"
import type { Socket } from "node:net"
import { TacitError } from "./errors.js"
import type { Address } from "./home.js"
import { connectProven } from "./proof.js"

export interface Outgoing {
  method: string
  path: string
  body?: unknown
  headers?: Record<string, string>
  deadlineMs: number
  signal?: AbortSignal | undefined
}

export interface Reply {
  status: number
  body: string
}

/**
 * Send a request and read the whole reply.
 *
 * @throws TacitError `daemon_unavailable` if no daemon answers or the connection breaks, `deadline_exceeded` after `deadlineMs`,
 *   `aborted` by `signal`.
 */
export function exchange(address: Address, { method, path, body, headers, deadlineMs, signal }: Outgoing): Promise<Reply> {
  const sent = body === undefined ? "" : JSON.stringify(body)
  return new Promise((resolve, reject) => {
    let connection: Socket | undefined
    const request = send({
      ...wayTo(address, (opened) => (connection = opened)),
      method,
      path,
      headers: {
        Connection: "close",
        "Content-Length": Buffer.byteLength(sent),
        ...(sent ? { "Content-Type": "application/json" } : {}),
        ...headers,
      },
    })
    const fail = (error: TacitError) => {
      settle()
      request.destroy()
      connection?.destroy()
      reject(error)
    }
    const timer = setTimeout(
      () => fail(new TacitError("deadline_exceeded", `The daemon did not answer within ${deadlineMs} ms.`)),
      deadlineMs,
    )
    const aborted = () => fail(new TacitError("aborted", "The request was aborted.", { cause: signal?.reason }))
    const settle = () => {
      clearTimeout(timer)
      signal?.removeEventListener("abort", aborted)
    }
    const broken = (cause: Error) => {
      const code = (cause as NodeJS.ErrnoException).code ?? cause.message
      fail(new TacitError("daemon_unavailable", `The daemon does not answer: ${code}.`, { hint: "`tacit doctor` says why.", cause }))
    }
    if (signal?.aborted) return aborted()
    signal?.addEventListener("abort", aborted)
    request.on("error", broken)
    request.on("response", (response) => {
      const parts: Buffer[] = []
      response.on("data", (part: Buffer) => parts.push(part))
      response.on("error", broken)
      response.on("end", () => {
        settle()
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts).toString("utf8") })
      })
    })
    request.end(sent)
  })
}

/** Return the options with which `node:http` connects. `opened` is called with a connection that must be closed with the request. */
function wayTo(address: Address, opened: (connection: Socket) => void): ClientRequestArgs {
  if ("socketPath" in address) return { socketPath: address.socketPath, host: "tacit", agent: false }
  if ("host" in address) return { host: address.host, port: address.port, agent: false }
  return {
    host: "tacit",
    createConnection: (_, done) => {
      opened(connectProven(address, done))
      return undefined as unknown as Socket // the socket is passed to `done` after both proofs
    },
  }
}
