import { ActionIcon, CopyButton, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import { useMemo } from "react";
import type { Trace } from "../api/types";

interface Props {
  trace: Trace;
  lit: string | undefined;
  setLit: (id: string | undefined) => void;
}

/** The exact text that the agent was given; a line lights up with its memory. */
export function BlockText({ trace, lit, setLit }: Props) {
  const lines = useMemo(() => linesOf(trace), [trace]);
  if (trace.block === "") return null;
  return (
    <section className="panel block" aria-label="Block">
      <div className="block-head">
        <div>
          <h2>The exact block</h2>
          <p className="sub">
            {trace.tokens} of {trace.budget_tokens} tokens, byte for byte as the agent got it.
          </p>
        </div>
        <CopyButton value={trace.block}>
          {({ copied, copy }) => (
            <Tooltip label={copied ? "Copied" : "Copy"}>
              <ActionIcon variant="default" onClick={copy} aria-label="Copy the block">
                {copied ? <IconCheck size={15} /> : <IconCopy size={15} />}
              </ActionIcon>
            </Tooltip>
          )}
        </CopyButton>
      </div>
      <pre tabIndex={0} aria-label="Text of the block">
        {lines.map((line, at) => (
          <span
            key={at}
            className="block-line"
            data-memory={line.memory || undefined}
            data-lit={(line.memory !== "" && line.memory === lit) || undefined}
            onMouseEnter={() => line.memory !== "" && setLit(line.memory)}
            onMouseLeave={() => setLit(undefined)}
          >
            <i aria-hidden>{at + 1}</i>
            {line.text}
            {"\n"}
          </span>
        ))}
      </pre>
    </section>
  );
}

/** Each line of the block with the memory it tells, found by its words: the block itself names no ids. */
function linesOf(trace: Trace): { text: string; memory: string }[] {
  const known = trace.candidates
    .filter((one) => trace.injected.includes(one.memory_id))
    .map((one) => ({ id: one.memory_id, start: plain(one.content).slice(0, 40) }));
  let last = "";
  return trace.block.split("\n").map((text) => {
    const words = plain(text);
    const found = known.find((one) => words.includes(one.start));
    if (found !== undefined) last = found.id;
    else if (text.startsWith("<") || text.startsWith("-") || text.startsWith("#") || !text.startsWith(" ")) last = "";
    return { text, memory: found?.id ?? last };
  });
}

function plain(text: string): string {
  return text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&").replace(/\s+/g, " ");
}
