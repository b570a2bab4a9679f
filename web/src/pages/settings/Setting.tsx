import { ActionIcon, Tooltip } from "@mantine/core";
import { IconArrowBackUp, IconHelpCircle } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import { ProblemError } from "../../api/client";
import { useRevert, useSet, type Place } from "../../api/queries";
import type { SettingRow } from "../../api/types";
import { Words } from "../../ui/Words";
import { Control } from "./Control";
import type { Asking } from "./questions";
import { differs, isOwn, LAYER_WORDS, shown, wins } from "./layers";

/** One setting: what it means, its value, whose value that is. `asking` = it stands among the plain questions; `children` stand below its meaning. */
export function Setting({ row, place, asking, id, children }: { row: SettingRow; place: Place; asking?: Asking; id: string; children?: ReactNode }) {
  const [why, setWhy] = useState(false);
  const set = useSet(place);
  const revert = useRevert(place);
  const { about } = row;
  const own = isOwn(row, place);
  const [changed, setChanged] = useState(false);
  const [problem, setProblem] = useState<Error | null>(null); // stays until the next answer: no button moves under a click
  const answered = { onError: setProblem, onSuccess: () => (setProblem(null), setChanged(true)) };
  return (
    <li className="setting" data-own={own || undefined}>
      <div className="setting-words">
        <p className="setting-name">
          <span id={`name-${id}`} className={asking === undefined ? "mono" : undefined}>{asking?.question ?? row.key.split(".").at(-1)}</span>
          <span className="from" data-own={own || undefined}>
            {whoseWords(row, place, own)}
          </span>
        </p>
        <p className="setting-about">
          {asking === undefined ? <Words text={about.about} /> : asking.cost}
          {rangeOf(row) !== "" && <span className="faint">{asking?.cost === "" ? "" : " · "}{rangeOf(row)}</span>}
        </p>
        {about.restart && changed && (
          <p className="setting-restart" role="status">
            Restart needed: run <code>tacit stop</code>; the next session starts the daemon with it.
          </p>
        )}
        {asking === undefined && about.guidance !== "" && <p className="guidance"><Words text={about.guidance} /></p>}
        {children}
        {problem !== null && (
          <p className="setting-problem" role="alert">
            {problem instanceof ProblemError ? `${problem.problem.detail} ${problem.problem.hint}` : String(problem)}
          </p>
        )}
      </div>
      <div className="setting-control">
        <Control row={row} labelledBy={`name-${id}`} set={(value, failed) => set.mutate({ key: row.key, value }, { ...answered, onError: (error) => (setProblem(error), failed?.(error)) })} />
      </div>
      <div className="setting-tools">
        {own && (
          <Tooltip label={`Revert to ${place.holder === "user" ? "the default" : "what everybody uses"}`}>
            <ActionIcon variant="subtle" color="gray" aria-label={`Revert ${row.key}`} loading={revert.isPending} onClick={() => revert.mutate(row.key, answered)}>
              <IconArrowBackUp size={16} />
            </ActionIcon>
          </Tooltip>
        )}
        <Tooltip label={asking === undefined ? "Why it has this value" : `${row.key}: why it has this value`}>
          <ActionIcon variant={why ? "light" : "subtle"} color="gray" aria-label={`Why ${row.key} has this value`} aria-expanded={why} onClick={() => setWhy(!why)}>
            <IconHelpCircle size={16} />
          </ActionIcon>
        </Tooltip>
      </div>
      {why && (
        <ol className="why" aria-label={`Layers of ${row.key}, the highest first`}>
          {[...row.origins].reverse().map((origin, at) => (
            <li key={origin.layer + origin.place} data-won={at === 0 || undefined}>
              <span>
                {LAYER_WORDS[origin.layer]}
                {at === 0 && " won"}
              </span>
              <b>{shown(origin.value)}</b>
              {origin.place !== "" && <span className="mono faint">{origin.place}</span>}
            </li>
          ))}
        </ol>
      )}
    </li>
  );
}

function rangeOf({ about }: SettingRow): string {
  const { minimum, maximum, above_minimum } = about;
  if (minimum !== null && maximum !== null) return above_minimum ? `above ${minimum}, at most ${maximum}` : `${minimum} to ${maximum}`;
  if (minimum !== null) return above_minimum ? `above ${minimum}` : `at least ${minimum}`;
  return maximum !== null ? `at most ${maximum}` : "";
}

function whoseWords(row: SettingRow, place: Place, own: boolean): string {
  if (own && !wins(row, place)) return `override, but ${LAYER_WORDS[row.layer]} wins`;
  if (own) return place.holder === "user" ? "yours" : "override";
  return place.holder !== "user" || (row.layer !== "level" && !differs(row)) ? "using default" : `from ${LAYER_WORDS[row.layer]}`;
}
