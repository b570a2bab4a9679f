import { Button, Group, Modal, Slider } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../../api/client";
import { queryClient } from "../../api/queryClient";
import type { TunedLevel } from "../../api/types";
import { ProblemBox } from "../../ui/Answer";
import { say } from "../../ui/said";
import { percentOf, plural } from "../../ui/words";

/** Fit the levels before a prompt to this store and to what was said; nothing is written before the person agrees. */
export function Tune() {
  const [opened, box] = useDisclosure(false);
  const [bound, setBound] = useState(0.12);
  const tune = useMutation({
    mutationFn: (apply: boolean) => body(api.POST("/v1/tuning", { body: { bound, apply } })),
    onSuccess: (report) => {
      if (!report.applied) return;
      say("The levels are fitted to this store now", "Settings show them; `recall.level` chooses one.");
      void queryClient.invalidateQueries({ queryKey: ["settings"] });
      box.close();
    },
    meta: { quiet: true },
  });
  const report = tune.data;
  return (
    <>
      <Button variant="default" onClick={() => { tune.reset(); box.open(); }}>
        Tune the levels
      </Button>
      <Modal opened={opened} onClose={box.close} title="Tune the levels before a prompt">
        <p className="sub">Learns from your own store and from what you said of injections. You choose how often a prompt that deserves nothing may get something at the level balanced; quiet allows less than half of it, eager about twice.</p>
        <p className="tune-bound">
          At most <b className="num">{percentOf(bound)}</b> of such prompts
        </p>
        <Slider min={0.01} max={0.5} step={0.01} value={bound} onChange={setBound} thumbLabel="Greatest share of wrongful injections" label={null} mb="md" />
        {tune.error !== null && <ProblemBox error={tune.error} />}
        {report !== undefined && (
          <div className="tune-report" role="status">
            {report.note !== "" ? (
              <p>{report.note}</p>
            ) : (
              <>
                <p>
                  From {plural(report.prompts, "prompt")} and {plural(report.pairs, "pair")} that deserve nothing:
                </p>
                <LevelTable levels={report.levels} inUse={report.level} />
                {report.explicit !== null && (
                  <p>
                    Your own threshold of <b className="num">{report.explicit.toFixed(2)}</b> wins over every level. Revert recall.thresholds.prompt in the settings to let the level decide.
                  </p>
                )}
              </>
            )}
          </div>
        )}
        <Group gap={8} mt="md">
          <Button variant={report === undefined ? "filled" : "default"} loading={tune.isPending} onClick={() => tune.mutate(false)}>
            {report === undefined ? "See what it would change" : "Ask again"}
          </Button>
          {report !== undefined && report.note === "" && report.levels.some((level) => level.after !== level.before) && (
            <Button loading={tune.isPending} onClick={() => tune.mutate(true)}>
              Use these levels
            </Button>
          )}
        </Group>
      </Modal>
    </>
  );
}

/** Each level before and after. */
function LevelTable({ levels, inUse }: { levels: TunedLevel[]; inUse: string }) {
  const change = (before: string, after: string) => (before === after ? after : `${before} → ${after}`);
  return (
    <table className="tune-levels">
      <thead>
        <tr>
          <th scope="col">level</th>
          <th scope="col">threshold</th>
          <th scope="col">wrongful</th>
          <th scope="col">get something</th>
          <th scope="col">would differ</th>
        </tr>
      </thead>
      <tbody>
        {levels.map((level) => (
          <tr key={level.name} data-chosen={level.name === inUse || undefined}>
            <th scope="row">{level.name}</th>
            <td className="num">{change(level.before.toFixed(2), level.after.toFixed(2))}</td>
            <td className="num">{change(percentOf(level.rate_before), percentOf(level.rate_after))}</td>
            <td className="num">{change(percentOf(level.handed_before), percentOf(level.handed_after))}</td>
            <td className="num">{plural(level.changed, "prompt")}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
