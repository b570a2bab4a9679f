/** A failure: `code` is stable, `hint` says what to do, `status` is the daemon's HTTP status (0 = there was no answer). */
export class TacitError extends Error {
  override readonly name = "TacitError"
  readonly code: string
  readonly hint: string
  readonly status: number

  constructor(code: string, message: string, { hint = "", status = 0, cause }: { hint?: string; status?: number; cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.hint = hint
    this.status = status
  }
}

/** Return the error that a reply with a status of 400 or more describes. */
export function errorOf(status: number, body: string): TacitError {
  try {
    const problem = JSON.parse(body) as { code?: unknown; detail?: unknown; hint?: unknown }
    if (typeof problem.code === "string" && typeof problem.detail === "string") {
      return new TacitError(problem.code, problem.detail, { hint: typeof problem.hint === "string" ? problem.hint : "", status })
    }
  } catch {
    // without a problem in JSON, the status describes the error
  }
  if (status === 503) return new TacitError("daemon_unavailable", "The daemon is busy.", { hint: "Ask again in a moment.", status })
  if (status === 504) return new TacitError("deadline_exceeded", "The daemon did not finish before the deadline.", { status })
  return new TacitError("daemon_error", `The daemon answered with status ${status}.`, { hint: "`tacit status --log` has the details.", status })
}
