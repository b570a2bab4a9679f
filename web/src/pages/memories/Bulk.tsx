import { Button, Group, Select } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { firstMemories, MOST_PICKED, useChangeEach, useDecideAll, useKinds, useProjects, type ForEach, type MemoryFilter } from "../../api/queries";
import type { Memory } from "../../api/types";
import { briefOf, sayChanged, sayProblem } from "../../ui/said";
import { countOf, plural, wordsOf } from "../../ui/words";

/** Say what was done to each of some memories, with one Undo for all of it, and what was refused. */
export function sayEach(did: string, memories: Memory[], { changed, refused }: { changed: string[]; refused: unknown[] }): void {
  const first = memories[0];
  if (changed.length > 0) sayChanged(`${did}: ${memories.length === 1 && first !== undefined ? briefOf(first.content) : plural(changed.length, "memory", "memories")}`, changed);
  if (refused.length === 0) return;
  if (memories.length === 1) sayProblem(refused[0]);
  else sayProblem(new Error(`${plural(refused.length, "memory was", "memories were")} changed by somebody else since you chose, or cannot be changed so. Nothing was done to them.`));
}

/** What can be done to all chosen memories at once. */
export function Bulk({ picked, filter, total, pick }: { picked: Memory[]; filter: MemoryFilter; total: number; pick: (memories: Memory[]) => void }) {
  const change = useChangeEach();
  const decide = useDecideAll();
  const kinds = useKinds();
  const projects = useProjects();
  const [busy, setBusy] = useState("");
  const more = useMutation({ mutationFn: async () => (await firstMemories(filter)).slice(0, total), onSuccess: pick });
  const live = picked.filter((one) => one.status === "active" || one.status === "quarantined");
  const waiting = picked.filter((one) => one.status === "quarantined");

  /** Only to those that it changes: what is so already gets no new version. */
  const each = (did: string, memories: Memory[], act: ForEach) => {
    setBusy(did);
    change.mutate({ memories, act }, { onSuccess: (done) => { sayEach(did, memories, done); pick([]); }, onSettled: () => setBusy("") });
  };
  const review = (action: "accept" | "reject") =>
    decide.mutate(
      { action, many: { ids: waiting.map((one) => one.id) } },
      { onSuccess: ({ decided, change_id }) => { sayChanged(`${action === "accept" ? "Accepted" : "Refused"}: ${plural(decided, "memory", "memories")}`, change_id); pick([]); } },
    );
  const put = (did: string, memories: Memory[], parts: Exclude<ForEach, "forget">["parts"]) => each(did, memories, { parts });
  const pinned = live.filter((one) => one.pinned);
  const loose = live.filter((one) => !one.pinned);
  const button = { size: "compact-xs", variant: "default", disabled: busy !== "" } as const;
  return (
    <div className="bulk" role="toolbar" aria-label="What to do with the chosen memories">
      <b aria-live="polite">{countOf(picked.length)} chosen</b>
      <Group gap={6}>
        {waiting.length > 0 && (
          <>
            <Button {...button} onClick={() => review("accept")}>Accept {countOf(waiting.length)}</Button>
            <Button {...button} onClick={() => review("reject")}>Refuse {countOf(waiting.length)}</Button>
          </>
        )}
        {loose.length > 0 && <Button {...button} loading={busy === "Pinned"} onClick={() => put("Pinned", loose, { pinned: true })}>Pin {countOf(loose.length)}</Button>}
        {pinned.length > 0 && <Button {...button} loading={busy === "Unpinned"} onClick={() => put("Unpinned", pinned, { pinned: false })}>Unpin {countOf(pinned.length)}</Button>}
        {live.length > 0 && (
          <>
            <Select aria-label="Set the kind" placeholder="Set the kind" value={null} disabled={busy !== ""} data={kinds.map(({ name }) => ({ value: name, label: wordsOf(name) }))} onChange={(kind) => kind !== null && put(`Now ${wordsOf(kind)}`, live.filter((one) => one.kind !== kind), { kind })} searchable w={130} />
            <Select
              aria-label="Set the scope"
              placeholder="Set the scope"
              value={null}
              disabled={busy !== ""}
              data={[{ value: "universal", label: "universal" }, ...(projects.data ?? []).map((row) => ({ value: row.scope, label: row.project.name }))]}
              onChange={(scope, option) => scope !== null && put(`Now in ${option.label}`, live.filter((one) => one.scope !== scope), { scope })}
              searchable
              w={130}
            />
            <Button {...button} c="var(--bad)" loading={busy === "Forgotten"} onClick={() => each("Forgotten", live, "forget")}>Forget {countOf(live.length)}</Button>
          </>
        )}
        {picked.length < Math.min(total, MOST_PICKED) && (
          <Button {...button} variant="subtle" loading={more.isPending} onClick={() => more.mutate()}>
            {total <= MOST_PICKED ? `Choose all ${countOf(total)}` : `Choose the first ${MOST_PICKED} of ${countOf(total)}`}
          </Button>
        )}
        <Button {...button} variant="subtle" onClick={() => pick([])}>Choose none</Button>
      </Group>
    </div>
  );
}
