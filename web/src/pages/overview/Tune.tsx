import { Button, Group, Modal, Slider } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../../api/client";
import { queryClient } from "../../api/queryClient";
import { ProblemBox } from "../../ui/Answer";
import { say } from "../../ui/said";
import { percentOf, plural } from "../../ui/words";

/** Fit the threshold of prompts to this store and to what was said; nothing is written before the person agrees. */
export function Tune() {
  const [opened, box] = useDisclosure(false);
  const [bound, setBound] = useState(0.1);
  const tune = useMutation({
    mutationFn: (apply: boolean) => body(api.POST("/v1/tune", { body: { bound, apply } })),
    onSuccess: (report) => {
      if (!report.applied) return;
      say(`The threshold is ${report.after.toFixed(2)} now`, "Settings show it as yours; revert takes it back.");
      void queryClient.invalidateQueries({ queryKey: ["settings"] });
      box.close();
    },
    meta: { quiet: true },
  });
  const report = tune.data;
  return (
    <>
      <Button variant="default" onClick={() => { tune.reset(); box.open(); }}>
        Tune the threshold
      </Button>
      <Modal opened={opened} onClose={box.close} title="Tune the threshold of prompts" closeButtonProps={{ "aria-label": "Close" }}>
        <p className="sub">Learns from your own store and from what you said of injections. You choose how often a prompt that deserves nothing may get something.</p>
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
                  <b className="num">{report.before.toFixed(2)}</b> → <b className="num">{report.after.toFixed(2)}</b>, from {plural(report.prompts, "prompt")} and{" "}
                  {plural(report.pairs, "pair")}
                </p>
                <p>
                  Wrongful: {percentOf(report.rate_before)} → {percentOf(report.rate_after)}. Prompts that get something: {percentOf(report.handed_before)} →{" "}
                  {percentOf(report.handed_after)}; {plural(report.changed, "stored prompt")} would differ.
                </p>
              </>
            )}
          </div>
        )}
        <Group gap={8} mt="md">
          <Button variant={report === undefined ? "filled" : "default"} loading={tune.isPending} onClick={() => tune.mutate(false)}>
            {report === undefined ? "See what it would change" : "Ask again"}
          </Button>
          {report !== undefined && report.note === "" && report.after !== report.before && (
            <Button loading={tune.isPending} onClick={() => tune.mutate(true)}>
              Use {report.after.toFixed(2)}
            </Button>
          )}
        </Group>
      </Modal>
    </>
  );
}
