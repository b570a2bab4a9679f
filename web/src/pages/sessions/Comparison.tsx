import { SegmentedControl } from "@mantine/core";
import { useState } from "react";
import { useHoldout } from "../../api/data";
import type { Holdout } from "../../api/types";
import { Answer } from "../../ui/Answer";
import { Empty } from "../../ui/Empty";
import { Head } from "../../ui/Head";
import { Rows } from "../../ui/Rows";
import { percentOf, plural } from "../../ui/words";

const DAY_MS = 86_400_000;

/** Sessions with memory beside those that the holdout left without. */
export function Component() {
  const [days, setDays] = useState("90");
  const [now] = useState(() => Math.floor(Date.now() / DAY_MS + 1) * DAY_MS);
  const holdout = useHoldout(now - Number(days) * DAY_MS);
  return (
    <>
      <Head title="With and without memory" text="The holdout leaves a share of the sessions without memory. What differs between both groups is what memory is worth to you." />
      <SegmentedControl aria-label="Time" value={days} onChange={setDays} data={[{ value: "30", label: "30 days" }, { value: "90", label: "90 days" }, { value: "365", label: "One year" }]} mb={10} />
      <Answer of={holdout}>{(of) => (of.contrasts.length === 0 ? <NoTrial share={of.share} /> : <Contrasts of={of} />)}</Answer>
    </>
  );
}

function NoTrial({ share }: { share: number }) {
  return share === 0 ? (
    <Empty title="No session goes without memory" text="Set recall.holdout, for example to 0.2, to compare with a fifth of the sessions without memory." to="/settings?find=recall.holdout" link="To the setting" />
  ) : (
    <Empty title="There is nothing to compare yet" text={`${percentOf(share)} of the sessions go without memory. The comparison begins when sessions of both groups have ended.`} />
  );
}

function Contrasts({ of }: { of: Holdout }) {
  return (
    <>
      <p>
        {plural(of.sessions_with, "session")} with memory, {plural(of.sessions_without, "session")} without. {of.share > 0 && `${percentOf(of.share)} of the sessions go without now. `}
        {of.enough ? "Tokens are estimated from the hosts' data." : "Too few to tell: 20 of each are needed."}
      </p>
      <Rows name="With and without memory" columns={["a session has", "with", "without", "difference", "95 % interval", "clear"]}>
        {of.contrasts.map((one) => (
          <tr key={one.measure}>
            <th scope="row">{one.measure.replace(/ a session$/, "")}</th>
            <td data-name="with" className="num">{one.with_memory.toFixed(2)}</td>
            <td data-name="without" className="num">{one.without.toFixed(2)}</td>
            <td data-name="difference" className="num">{signed(one.difference)}</td>
            <td data-name="95 % interval" className="num">{signed(one.low)} to {signed(one.high)}</td>
            <td data-name="clear">{one.clear ? <b>{one.difference < 0 ? "yes: fewer with memory" : "yes: more with memory"}</b> : "no: it may be chance"}</td>
          </tr>
        ))}
      </Rows>
    </>
  );
}

function signed(value: number): string {
  return `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toFixed(2)}`;
}
