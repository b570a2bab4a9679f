import "./memories.css";
import { ActionIcon, Button, Popover, Select, TextInput, Tooltip } from "@mantine/core";
import { IconArrowBackUp, IconCalendarTime, IconPlus, IconSearch } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import { useNavigate, useParams } from "react-router";
import { useKinds, type MemoryFilter } from "../../api/queries";
import { isWriting } from "../../app/shortcuts";
import { useFilters } from "../../ui/filters";
import { Head } from "../../ui/Head";
import { SavedFilters } from "../../ui/SavedFilters";
import { takeBackLast, useLastOwnChange } from "../../ui/said";
import { whenOf } from "../../ui/words";
import { AddMemory } from "./AddMemory";
import { Facets } from "./Facets";
import { MemoryDrawer } from "./MemoryDrawer";
import { MemoryList } from "./MemoryList";

const ORDERS = [
  { value: "best", label: "best match first" },
  { value: "created", label: "newest first" },
  { value: "updated", label: "changed last" },
  { value: "importance", label: "most important" },
  { value: "given", label: "given most" },
  { value: "fetched", label: "fetched most" },
  { value: "used", label: "used most" },
  { value: "last", label: "given last" },
];
const LEAST: Record<string, string> = {
  created: "oldest first", updated: "unchanged longest", importance: "least important", given: "given least", fetched: "fetched least", used: "used least", last: "given longest ago",
};
const DIGEST = "digest";
const FILTERS = ["kind", "scope", "tier", "status", "sensitivity", "given", "used"] as const;

export function Component() {
  const { id } = useParams();
  const { params, setParams, put, text, setText, words } = useFilters();
  const navigate = useNavigate();
  const [adding, setAdding] = useState(false);
  const known = useKinds();
  const own = useLastOwnChange();
  const searching = words !== "";
  const order = params.get("order") ?? (searching ? "best" : "created");
  const ascending = order !== "best" && params.get("ascending") === "yes";
  const asOf = params.get("as_of");
  const chosen = Object.fromEntries(FILTERS.flatMap((name) => (params.has(name) ? [[name, params.getAll(name)]] : [])));
  const filter = {
    ...(order !== "best" && (order !== "created" || searching || ascending) && { order }),
    ...(ascending && { ascending }),
    ...(searching && { text: words }),
    ...(known.length > 0 && { kind: known.map(({ name }) => name).filter((name) => name !== DIGEST) }),
    ...chosen,
    ...(asOf !== null && { as_of_ms: Number(asOf) }),
  } as MemoryFilter;

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
  /** Show a memory beside the list; the one that is shown already gets the focus. */
  const open = (memoryId: string | undefined) => {
    if (memoryId !== undefined && memoryId === id) document.getElementById("memory")?.focus();
    else void navigate({ pathname: memoryId === undefined ? "/memories" : `/memories/${memoryId}`, search: params.toString() }, { replace: id !== undefined && memoryId !== undefined });
  };
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key === "Escape" && id !== undefined && !event.defaultPrevented && !isWriting(event.target) && document.querySelector("[role=dialog]") === null) open(undefined);
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  });

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
        <Select aria-label="Order" data={ORDERS.filter((one) => one.value !== "best" || searching).map((one) => (ascending && one.value === order ? { ...one, label: LEAST[order] ?? one.label } : one))} value={order} onChange={(value) => value !== null && sort(value, false)} w={150} allowDeselect={false} />
        <AsOf value={asOf} set={(value) => put("as_of", value)} />
        <SavedFilters />
      </div>
      <div className="memories-page" data-open={id !== undefined || undefined}>
        <Facets filter={filter} chosen={(name) => params.getAll(name)} put={put} />
        <MemoryList filter={filter} order={order} ascending={ascending} setOrder={sort} chosen={id} open={open} filtered={searching || Object.keys(chosen).length > 0 || asOf !== null} />
        {id !== undefined && <MemoryDrawer id={id} close={() => open(undefined)} open={open} />}
      </div>
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
