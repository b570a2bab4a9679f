// A daemon that listens on loopback TCP: a private file holds port and key, and both sides prove that they can read it before any
// HTTP is sent. So another program that gets the port after the end of a daemon learns nothing. See tacit/system/transport.py.

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import { lstatSync, readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { TacitError } from "./errors.js"

const ANSWER = /^([0-9a-f]{64}) ([0-9a-f]{32})\n$/
const ANSWER_BYTES = 98

export interface KeyedPort {
  port: number
  key: string
}

/**
 * Read port and key of the daemon that wrote `file`; undefined = no daemon listens on TCP.
 *
 * @throws TacitError `daemon_unavailable` if the file is damaged, belongs to another user, or others have rights to it.
 */
export function readKeyFile(file: string): KeyedPort | undefined {
  let text: string
  try {
    const found = lstatSync(file)
    const own = process.platform === "win32" || (found.uid === process.getuid?.() && !(found.mode & 0o077))
    if (!found.isFile() || !own) throw unusable(file, "belongs to someone else or is open to others")
    text = readFileSync(file, "latin1")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
  const [, port, key] = /^(\d{1,5}) ([0-9a-f]{64})\n?$/.exec(text) ?? []
  if (!port || !key) throw unusable(file, "names no port")
  return { port: Number(port), key }
}

/** Connect and exchange proofs. `done` is called with the socket, ready for HTTP. The socket is returned at once, so that it can be closed early. */
export function connectProven({ port, key }: KeyedPort, done: (error: Error | null, socket: Socket) => void): Socket {
  const mine = randomBytes(16).toString("hex")
  const proof = (side: string, theirs: string) => createHmac("sha256", key).update(`${side} ${mine} ${theirs}`).digest("hex")
  const socket = connect({ port, host: "127.0.0.1", noDelay: true })
  let answer = Buffer.alloc(0)
  const end = (error: Error | null) => {
    socket.off("data", hear).off("end", refuse).off("error", end)
    if (error) socket.destroy()
    done(error, socket)
  }
  const refuse = () => end(new Error("another program has the daemon's port"))
  const hear = (part: Buffer) => {
    answer = Buffer.concat([answer, part])
    if (answer.length < ANSWER_BYTES) return
    const [, said, theirs] = ANSWER.exec(answer.toString("latin1")) ?? []
    if (!said || !theirs || !timingSafeEqual(Buffer.from(said), Buffer.from(proof("daemon", theirs)))) return refuse()
    socket.write(`${proof("client", theirs)}\n`)
    end(null)
  }
  socket.on("connect", () => void socket.write(`TACIT1 ${mine}\n`))
  socket.on("data", hear).on("end", refuse).on("error", end)
  return socket
}

function unusable(file: string, why: string): TacitError {
  return new TacitError("daemon_unavailable", `${file} ${why}.`, { hint: "Start the daemon again." })
}
