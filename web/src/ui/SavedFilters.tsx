import { ActionIcon, Button, Popover, TextInput, Tooltip } from "@mantine/core";
import { IconBookmark, IconX } from "@tabler/icons-react";
import { useState } from "react";
import { useLocation, useSearchParams } from "react-router";

interface Saved {
  name: string;
  search: string;
}

const STORED = "tacit.saved-filters";

function stored(): Record<string, Saved[]> {
  try {
    return JSON.parse(localStorage.getItem(STORED) ?? "{}") as Record<string, Saved[]>;
  } catch {
    return {};
  }
}

/** Filters of this page under names of the user's own. This browser keeps them; they are no settings. */
export function SavedFilters() {
  const page = `/${useLocation().pathname.split("/")[1] ?? ""}`;
  const [params, setParams] = useSearchParams();
  const [saved, setSaved] = useState(() => stored()[page] ?? []);
  const [name, setName] = useState("");
  const [opened, setOpened] = useState(false);
  const search = params.toString();
  const keep = (next: Saved[]) => {
    localStorage.setItem(STORED, JSON.stringify({ ...stored(), [page]: next }));
    setSaved(next);
  };
  return (
    <Popover position="bottom-end" withArrow trapFocus opened={opened} onChange={setOpened}>
      <Popover.Target>
        <Tooltip label="Saved filters">
          <ActionIcon variant={saved.some((one) => one.search === search) ? "light" : "default"} size={30} aria-label="Saved filters" onClick={() => setOpened((before) => !before)}>
            <IconBookmark size={16} />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown aria-label="Saved filters">
        <ul className="saved-filters">
          {saved.map((one) => (
            <li key={one.name}>
              <Button variant="subtle" justify="flex-start" onClick={() => { setParams(new URLSearchParams(one.search)); setOpened(false); }}>
                {one.name}
              </Button>
              <ActionIcon variant="subtle" color="gray" aria-label={`Delete ${one.name}`} onClick={() => keep(saved.filter((other) => other !== one))}>
                <IconX size={14} />
              </ActionIcon>
            </li>
          ))}
        </ul>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            keep([...saved.filter((one) => one.name !== name.trim()), { name: name.trim(), search }]);
            setName("");
            setOpened(false);
          }}
        >
          <TextInput label="Save these filters as" placeholder={search === "" ? "Set a filter first" : "overdue tasks"} value={name} onChange={(event) => setName(event.currentTarget.value)} data-autofocus />
          <Button type="submit" mt={6} variant="default" disabled={search === "" || name.trim() === ""}>
            Save
          </Button>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
