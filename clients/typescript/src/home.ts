// Finds the address of the daemon of a home by the rules of `tacit.config.home`. Only reads files.

import { createHash } from "node:crypto"
import { lstatSync, readFileSync, statSync, type Stats } from "node:fs"
import { homedir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { TacitError } from "./errors.js"
import { readKeyFile, type KeyedPort } from "./proof.js"

const MAX_SOCKET_BYTES = 100
const WRITABLE_BY_OTHERS = 0o022
const OPEN_TO_OTHERS = 0o077

/** An address of a daemon: a Unix socket, a port where both sides prove that they know a key, or a port that requires a token. */
export type Address = { socketPath: string } | KeyedPort | { host: string; port: number; token: string }

/** Return the folder of a home: the given one, else TACIT_HOME, else `~/.tacit`. */
export function homeFolder(named?: string): string {
  const given = named || process.env["TACIT_HOME"] || "~/.tacit"
  return resolve(given === "~" || given.startsWith("~/") ? join(homedir(), given.slice(1)) : given)
}

/** Return the launcher of a home, which `tacit install` writes. It can start the daemon. */
export function launcherOf(home: string): string {
  return join(home, "bin", process.platform === "win32" ? "tacit-hook.exe" : "tacit-hook")
}

/**
 * Return the address of the daemon of `home` from the files that it wrote: a port with a key, its Unix socket, or a port with a token.
 *
 * @throws TacitError `daemon_unavailable` if no daemon listens, or if another user could have written these files.
 */
export function addressOf(home: string): Address {
  const socketPath = socketOf(home)
  if (process.platform !== "win32") checkTrust(home, socketPath)
  const keyed = readKeyFile(join(home, "run", "daemon.tcp"))
  if (keyed) return keyed
  if (process.platform !== "win32" && exists(socketPath)) return { socketPath }
  const port = loopbackPort(home)
  if (port) return port
  throw new TacitError("daemon_unavailable", `No daemon listens for the home ${home}.`, {
    hint: "Start one with `tacit list`, or pass `start: true`.",
  })
}

function socketOf(home: string): string {
  const socket = join(home, "run", "daemon.sock")
  if (process.platform === "win32" || Buffer.byteLength(socket) <= MAX_SOCKET_BYTES) return socket
  const digest = createHash("sha256").update(home).digest("hex").slice(0, 12)
  return `/tmp/tacit-${process.getuid?.()}-${digest}/daemon.sock`
}

function loopbackPort(home: string): Address | undefined {
  try {
    const facts = JSON.parse(readFileSync(join(home, "run", "daemon.json"), "utf8")) as { http_port?: unknown; token?: unknown }
    if (typeof facts.http_port !== "number" || facts.http_port <= 0 || typeof facts.token !== "string") return undefined
    return { host: "127.0.0.1", port: facts.http_port, token: facts.token }
  } catch {
    return undefined
  }
}

/** Refuse a home, `run/` or socket folder in which another user could have started their own daemon. */
function checkTrust(home: string, socketPath: string): void {
  check(home, WRITABLE_BY_OTHERS, statSync)
  check(join(home, "run"), WRITABLE_BY_OTHERS, lstatSync)
  const folder = dirname(socketPath)
  if (folder !== join(home, "run")) check(folder, OPEN_TO_OTHERS, lstatSync)
}

function check(folder: string, mask: number, look: (path: string) => Stats): void {
  let found: Stats
  try {
    found = look(folder)
  } catch {
    return // it does not exist, so no daemon listens in it
  }
  if (found.isDirectory() && found.uid === process.getuid?.() && !(found.mode & mask)) return
  throw new TacitError("daemon_unavailable", `The folder ${folder} belongs to someone else or is open to others.`, {
    hint: "Make it yours alone (chmod 700), or set TACIT_HOME to another folder.",
  })
}

function exists(path: string): boolean {
  try {
    lstatSync(path)
    return true
  } catch {
    return false
  }
}
