import "./memories.css";
import { ActionIcon, Button, MultiSelect, Popover, Select, TextInput, Tooltip } from "@mantine/core";
import { IconArrowBackUp, IconCalendarTime, IconPlus, IconSearch } from "@tabler/icons-react";
import { useState } from "react";
import { useNavigate, useParams } from "react-router";
import { useKinds, useProjects, type MemoryFilter } from "../../api/queries";
import type { Status } from "../../api/types";
import { useFilters } from "../../ui/filters";
import { Head } from "../../ui/Head";
import { SavedFilters } from "../../ui/SavedFilters";
import { takeBackLast, useLastOwnChange } from "../../ui/said";
import { whenOf, wordsOf } from "../../ui/words";
import { AddMemory } from "./AddMemory";
import { MemoryDrawer } from "./MemoryDrawer";
import { MemoryList } from "./MemoryList";
import { SENSITIVITIES, type Sensitivity } from "./sensitivity";

const STATES: { value: Status | "all"; label: string }[] = [
  { value: "active", label: "active" },
  { value: "quarantined", label: "waits for review" },
  { value: "superseded", label: "superseded" },
  { value: "retired", label: "forgotten" },
  { value: "all", label: "every state" },
];
const ORDERS = [
  { value: "best", label: "best match first" },
  { value: "created", label: "newest first" },
  { value: "updated", label: "changed last" },
  { value: "importance", label: "most important" },
  { value: "used", label: "most used" },
];
const LEAST: Record<string, string> = { created: "oldest first", updated: "unchanged longest", importance: "least important", used: "never or least used" };
const DIGEST = "digest";

export function Component() {
  const { id } = useParams();
  const { params, setParams, put, text, setText, words } = useFilters();
  const navigate = useNavigate();
  const [adding, setAdding] = useState(false);
  const projects = useProjects();
  const known = useKinds();
  const own = useLastOwnChange();
  const kinds = params.getAll("kind");
  const scope = params.get("scope");
  const status = (params.get("status") ?? "active") as Status | "all";
  const searching = words !== "";
  const order = params.get("order") ?? (searching ? "best" : "created");
  const ascending = order !== "best" && params.get("ascending") === "yes";
  const sensitivity = params.get("sensitivity") as Sensitivity | null;
  const asOf = params.get("as_of");
  const filter: MemoryFilter = {
    ...(order !== "best" && (order !== "created" || searching || ascending) && { order: order as NonNullable<MemoryFilter["order"]> }),
    ...(ascending && { ascending }),
    status: [status],
    ...(searching && { text: words }),
    ...(kinds.length > 0 ? { kind: kinds } : known.length > 0 && { kind: known.map(({ name }) => name).filter((name) => name !== DIGEST) }),
    ...(scope !== null && { scope: [scope] }),
    ...(sensitivity !== null && { sensitivity: [sensitivity] }),
    ...(asOf !== null && { as_of_ms: Number(asOf) }),
  };

  const sort = (to: string, least: boolean) =>
    setParams(
      (now) => {
        now.set("order", to);
        if (least) now.set("ascending", "yes");
        else now.delete("ascending");
        return now;
      },
      { replace: true },
    );
  const open = (memoryId: string | undefined) => void navigate({ pathname: memoryId === undefined ? "/memories" : `/memories/${memoryId}`, search: params.toString() });

  return (
    <>
      <Head title="Memories" text={asOf === null ? "Everything on record. Each change is a version that can be taken back." : `As it was known, and held, on ${whenOf(Number(asOf))}.`}>
        {own !== undefined && (
          <Tooltip label={own.title}>
            <Button variant="default" leftSection={<IconArrowBackUp size={15} />} onClick={() => void takeBackLast()}>
              Undo your last change
            </Button>
          </Tooltip>
        )}
        <Button leftSection={<IconPlus size={15} />} onClick={() => setAdding(true)}>
          Remember
        </Button>
      </Head>
      <div className="filters" role="search">
        <TextInput data-search aria-label="Search memories" placeholder="Search: words in any order" leftSection={<IconSearch size={14} />} value={text} onChange={(event) => setText(event.currentTarget.value)} w={220} />
        <MultiSelect aria-label="Kinds" placeholder={kinds.length === 0 ? "Every kind but digests" : ""} data={known.map(({ name }) => ({ value: name, label: wordsOf(name) }))} value={kinds} onChange={(values) => put("kind", values)} clearable searchable maw={340} miw={150} />
        <Select
          aria-label="Scope"
          placeholder="Every scope"
          clearable
          data={[{ value: "universal", label: "universal" }, ...(projects.data ?? []).map((row) => ({ value: row.scope, label: `${row.project.name} (${row.active})` }))]}
          value={scope}
          onChange={(value) => put("scope", value)}
          w={160}
        />
        <Select aria-label="State" data={STATES} value={status} onChange={(value) => put("status", value)} w={140} allowDeselect={false} />
        <Select aria-label="Sensitivity" placeholder="Every sensitivity" clearable data={SENSITIVITIES} value={sensitivity} onChange={(value) => put("sensitivity", value)} w={160} />
        <Select aria-label="Order" data={ORDERS.filter((one) => one.value !== "best" || searching).map((one) => (ascending && one.value === order ? { ...one, label: LEAST[order] ?? one.label } : one))} value={order} onChange={(value) => value !== null && sort(value, false)} w={150} allowDeselect={false} />
        <AsOf value={asOf} set={(value) => put("as_of", value)} />
        <SavedFilters />
      </div>
      <MemoryList filter={filter} order={order} ascending={ascending} setOrder={sort} chosen={id} open={open} filtered={searching || kinds.length > 0 || scope !== null || status !== "active" || sensitivity !== null || asOf !== null} />
      <MemoryDrawer id={id} close={() => open(undefined)} open={open} />
      <AddMemory opened={adding} close={() => setAdding(false)} />
    </>
  );
}

function AsOf({ value, set }: { value: string | null; set: (value: string | null) => void }) {
  const local = value === null ? "" : new Date(Number(value) - new Date().getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  return (
    <Popover position="bottom-end" withArrow trapFocus>
      <Popover.Target>
        <Tooltip label="What was known and held at another time">
          <ActionIcon variant={value === null ? "default" : "light"} size={30} aria-label="As of another time">
            <IconCalendarTime size={16} />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown aria-label="As of another time">
        <TextInput type="datetime-local" label="As of" value={local} onChange={(event) => set(event.currentTarget.value === "" ? null : String(new Date(event.currentTarget.value).getTime()))} />
        {value !== null && (
          <Button mt={8} variant="default" onClick={() => set(null)}>
            Back to now
          </Button>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}
