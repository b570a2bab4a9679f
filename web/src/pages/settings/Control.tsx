import { JsonInput, MultiSelect, NumberInput, Select, Switch, TagsInput, TextInput } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { isRefusal } from "../../api/client";
import { useKinds } from "../../api/queries";
import type { SettingRow } from "../../api/types";

interface Props {
  row: SettingRow;
  labelledBy: string;
  set: Send;
}

/** Sends a value; `failed` hears why it was not taken. */
type Send = (value: unknown, failed?: (error: Error) => void) => void;

const KIND_LISTS = /(^|\.)(pinned_kinds|kinds)$/;

/** The right input for a setting's type. What is typed is sent when the field is left, or with Enter. */
export function Control({ row, labelledBy, set }: Props) {
  const { about, value } = row;
  const kinds = useKinds();
  const label = { "aria-labelledby": labelledBy };
  switch (about.type) {
    case "boolean":
      return <Switch {...label} checked={value === true} onChange={(event) => set(event.currentTarget.checked)} />;
    case "choice":
      return <Select {...label} data={about.choices} value={value as string | null} onChange={(next) => set(next)} clearable={about.nullable} allowDeselect={false} />;
    case "integer":
    case "number":
      return <NumberField {...{ row, labelledBy, set }} />;
    case "list": {
      const rows = value as string[];
      const choices = about.choices.length > 0 ? about.choices : KIND_LISTS.test(row.key) ? kinds.map((kind) => kind.name) : [];
      if (choices.length > 0) return <MultiSelect {...label} data={[...new Set([...choices, ...rows])]} value={rows} onChange={(next) => set(next)} searchable placeholder={rows.length === 0 ? "none" : ""} />;
      return <TagsInput {...label} size="xs" value={rows.map(String)} onChange={(next) => set(next)} placeholder={rows.length === 0 ? "none" : ""} />;
    }
    case "mapping":
      return <MappingField {...{ row, labelledBy, set }} />;
    default:
      if (about.choices.length > 0) return <Select {...label} data={about.choices} value={value as string} onChange={(next) => set(next)} allowDeselect={false} />;
      return <TextField {...{ row, labelledBy, set }} />;
  }
}

/**
 * Sends with Enter, and when the field is left, but then no value again that was just refused: the click that reverts it leaves the field, too.
 * A value that never got so far as to be judged is sent again.
 */
function useSending<T>(stored: unknown, set: Send): { enter: (value: T) => void; leave: (value: T) => void } {
  const last = useRef<{ value: T } | null>(null);
  useEffect(() => {
    last.current = null;
  }, [stored]);
  const enter = (value: T) => {
    const sent = { value };
    last.current = sent;
    set(value, (error) => {
      if (!isRefusal(error) && last.current === sent) last.current = null;
    });
  };
  return { enter, leave: (value) => last.current?.value !== value && enter(value) };
}

function NumberField({ row, labelledBy, set }: Props) {
  const [text, setText] = useState<string | number>(row.value as number | string);
  useEffect(() => setText((row.value as number | null) ?? ""), [row.value]);
  const { enter, leave } = useSending<number | null>(row.value, set);
  const send = (by: (value: number | null) => void) => {
    if (text === "" && row.about.nullable) return row.value !== null && by(null);
    if (text !== "" && Number(text) !== row.value) by(Number(text));
    return undefined;
  };
  const { minimum, maximum } = row.about;
  const unit = minimum === 0 && maximum === 1;
  return (
    <NumberInput
      aria-labelledby={labelledBy}
      value={text}
      onChange={setText}
      onBlur={() => send(leave)}
      onKeyDown={(event) => event.key === "Enter" && send(enter)}
      step={unit ? 0.01 : 1}
      clampBehavior="none"
      decimalScale={row.about.type === "integer" ? 0 : 6}
      placeholder={row.about.nullable ? "none" : ""}
    />
  );
}

function TextField({ row, labelledBy, set }: Props) {
  const stored = String(row.value ?? "");
  const [text, setText] = useState(stored);
  useEffect(() => setText(stored), [stored]);
  const { enter, leave } = useSending<string>(stored, set);
  const send = (by: (value: string) => void) => text !== stored && by(text);
  return <TextInput aria-labelledby={labelledBy} value={text} onChange={(event) => setText(event.currentTarget.value)} onBlur={() => send(leave)} onKeyDown={(event) => event.key === "Enter" && send(enter)} placeholder="(empty)" />;
}

function MappingField({ row, labelledBy, set }: Props) {
  const stored = JSON.stringify(row.value);
  const [text, setText] = useState(stored);
  useEffect(() => setText(stored), [stored]);
  const { leave } = useSending<string>(stored, (words, failed) => set(JSON.parse(words as string), failed));
  const send = () => {
    if (text === stored) return;
    try {
      leave(text);
    } catch {
      // The field says so itself; nothing is sent.
    }
  };
  return <JsonInput aria-labelledby={labelledBy} size="xs" autosize minRows={1} value={text} onChange={setText} onBlur={send} validationError="This is not JSON" styles={{ input: { fontFamily: "var(--mono)" } }} />;
}
