import { Button } from "@mantine/core";
import { useEffect, useRef } from "react";
import { type BegunJob, renewHealth, useBeginJob, useJobs } from "../../api/queries";
import type { Job } from "../../api/types";
import { ProblemBox } from "../../ui/Answer";
import { agoOf, plural } from "../../ui/words";

const NAMES: Record<Job["name"], { title: string; unit: string }> = {
  backup: { title: "Backup", unit: "page" },
  check: { title: "Check of the store", unit: "step" },
  import: { title: "Import", unit: "statement" },
  purge: { title: "Purge", unit: "byte" },
  reindex: { title: "Renewing vectors", unit: "vector" },
  rescan: { title: "Search for secrets", unit: "byte" },
};

/** The long work that can be begun here. While it runs its button keeps the focus, but does nothing. */
export function BeginJobs() {
  const asked = useJobs();
  const begin = useBeginJob();
  const press = (name: BegunJob) => {
    // What was heard last says nothing of a daemon that is gone.
    const runs = asked.isSuccess && asked.data.some((one) => one.name === name && one.state === "running");
    const busy = runs || (begin.isPending && begin.variables === name);
    return { "aria-disabled": busy, "data-disabled": busy || undefined, onClick: () => !busy && begin.mutate(name) };
  };
  return (
    <>
      <Button variant="default" {...press("check")}>
        Check the store
      </Button>
      <Button variant="default" {...press("reindex")}>
        Renew vectors
      </Button>
    </>
  );
}

/** How far long work is, whoever began it, and how the last of it ended. */
export function Jobs() {
  const asked = useJobs();
  const jobs = asked.data ?? [];
  // Short work has ended before it is seen to run.
  const ended = jobs.map((one) => `${one.name} ${one.ended_ms ?? ""}`).join();
  const before = useRef(ended);
  useEffect(() => {
    if (ended !== before.current) renewHealth(); // its counts are others now
    before.current = ended;
  }, [ended]);
  if (asked.error !== null) return <ProblemBox error={asked.error} again={() => void asked.refetch()} />;
  if (jobs.length === 0) return null;
  return (
    <div className="jobs">
      {jobs.map((job) => (
        <section key={job.name} className="panel job" data-state={job.state} aria-label={NAMES[job.name].title}>
          <h2>{NAMES[job.name].title}</h2>
          {job.state === "running" && <progress {...(job.whole > 0 && { value: job.done, max: job.whole })} aria-label={NAMES[job.name].title} />}
          <p aria-live={job.state === "running" ? "off" : "polite"}>{standingOf(job)}</p>
          {job.problems.length > 0 && (
            <ul>
              {job.problems.map((problem) => (
                <li key={problem}>{problem}</li>
              ))}
            </ul>
          )}
        </section>
      ))}
    </div>
  );
}

function standingOf(job: Job): string {
  const { unit } = NAMES[job.name];
  if (job.state === "running") return job.whole > 0 ? `${job.done.toLocaleString("en-US")} of ${plural(job.whole, unit)}` : "waits to begin";
  const ended = agoOf(job.ended_ms ?? job.began_ms);
  if (job.state === "failed") return `It failed after ${plural(job.done, unit)}, ${ended}. ${job.error} ${job.hint}`;
  if (job.name === "check") return job.problems.length === 0 ? `The store is sound; looked at ${ended}.` : `${plural(job.problems.length, "problem")}, found ${ended}.`;
  return job.done === 0 ? `Every vector was of this embedder already; looked at ${ended}.` : `Renewed ${plural(job.done, unit)}, ${ended}.`;
}
