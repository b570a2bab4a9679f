import { ActionIcon, Burger, Drawer, Group, Text, Tooltip, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";
import {
  IconAdjustments, IconChecklist, IconDatabase, IconHistory, IconHome, IconKeyboard, IconMoon, IconNotes,
  IconRoute, IconSearch, IconSun, IconUsers,
} from "@tabler/icons-react";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { NavLink, Outlet, useLocation, useNavigation } from "react-router";
import { useReviewCount } from "../api/queries";
import { useLogin, useWaitingRequests } from "../api/teams";
import { useLive } from "../api/live";
import picture from "./tacit.svg";
import { ShortcutHelp, useShortcuts } from "./shortcuts";
import { Unanswered } from "./Unanswered";

export const PLACES = [
  { to: "/", label: "Home", key: "h", icon: IconHome },
  { to: "/traces", label: "Traces", key: "t", icon: IconRoute },
  { to: "/memories", label: "Memories", key: "m", icon: IconNotes },
  { to: "/review", label: "Review", key: "r", icon: IconChecklist },
  { to: "/sessions", label: "Sessions", key: "s", icon: IconHistory },
  { to: "/team", label: "Team", key: "a", icon: IconUsers },
  { to: "/settings", label: "Settings", key: "e", icon: IconAdjustments },
  { to: "/data", label: "Data", key: "d", icon: IconDatabase },
] as const;

/** Pages that other pages lead to. */
const FURTHER = [
  { to: "/try", label: "Try a prompt" },
  { to: "/api", label: "HTTP API" },
];

const Palette = lazy(() => import("./Palette"));

export function Shell() {
  const [opened, drawer] = useDisclosure(false);
  const [help, helpBox] = useDisclosure(false);
  const location = useLocation();
  const moving = useNavigation().state !== "idle";
  const main = useRef<HTMLElement>(null);
  const [palette, setPalette] = useState(false);
  useShortcuts(helpBox.open);
  useHotkeys([["mod+K", () => setPalette((before) => !before)]], [], true); // also while somebody writes
  useEffect(() => {
    drawer.close();
    document.title = `${[...PLACES, ...FURTHER].find((place) => place.to !== "/" && location.pathname.startsWith(place.to))?.label ?? "Home"} · Tacit`;
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [location.pathname]);
  return (
    <div className="shell">
      <a className="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>
        Skip to the content
      </a>
      <header className="topbar">
        <Burger opened={opened} onClick={drawer.toggle} size="sm" aria-label="Navigation" />
        <Brand />
        <Tools openHelp={helpBox.open} openPalette={() => setPalette(true)} />
      </header>
      <header className="rail">
        <Brand />
        <Places />
        <Tools openHelp={helpBox.open} openPalette={() => setPalette(true)} />
      </header>
      <Drawer opened={opened} onClose={drawer.close} size={260} title={<Brand />}>
        <Places />
      </Drawer>
      <main id="main" ref={main} tabIndex={-1} className="main" data-moving={moving || undefined}>
        <Unanswered />
        <Outlet />
      </main>
      <ShortcutHelp opened={help} close={helpBox.close} />
      {palette && (
        <Suspense>
          <Palette close={() => setPalette(false)} openHelp={helpBox.open} />
        </Suspense>
      )}
    </div>
  );
}

function Brand() {
  return (
    <NavLink to="/" className="brand" aria-label="Tacit, home">
      <img src={picture} width={24} height={24} alt="" />
      <span>Tacit</span>
    </NavLink>
  );
}

function Places() {
  const joined = useLogin() != null;
  const waiting: Record<string, number> = { "/review": useReviewCount(), "/team": useWaitingRequests() };
  return (
    <nav aria-label="Pages">
      <ul className="places">
        {PLACES.filter(({ to }) => to !== "/team" || joined).map(({ to, label, key, icon: Icon }) => (
          <li key={to}>
            <NavLink to={to} end={to === "/"} className="place" aria-keyshortcuts={`g ${key}`}>
              <Icon size={17} stroke={1.7} aria-hidden />
              <span>{label}</span>
              {(waiting[to] ?? 0) > 0 && (
                <span className="count" aria-label={`${waiting[to]} waiting`}>
                  {waiting[to]}
                </span>
              )}
            </NavLink>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Tools({ openHelp, openPalette }: { openHelp: () => void; openPalette: () => void }) {
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme("light") === "dark";
  const live = useLive();
  return (
    <Group className="tools" gap={4} wrap="nowrap">
      <Tooltip label={live ? "New injections and silences appear by themselves" : "Not connected to the daemon's stream; asking now and then"}>
        <Text component="span" className="live" data-on={live || undefined} size="xs" role="status">
          <i aria-hidden />
          {live ? "live" : "not connected"}
        </Text>
      </Tooltip>
      <Tooltip label="Find a page, an action or a memory (Ctrl+K)">
        <ActionIcon variant="subtle" color="gray" onClick={openPalette} aria-label="Find a page, an action or a memory" aria-keyshortcuts="Control+K Meta+K">
          <IconSearch size={17} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Keyboard shortcuts (?)">
        <ActionIcon variant="subtle" color="gray" onClick={openHelp} aria-label="Keyboard shortcuts">
          <IconKeyboard size={17} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label={dark ? "Light" : "Dark"}>
        <ActionIcon variant="subtle" color="gray" onClick={() => setColorScheme(dark ? "light" : "dark")} aria-label={dark ? "Switch to light" : "Switch to dark"}>
          {dark ? <IconSun size={17} /> : <IconMoon size={17} />}
        </ActionIcon>
      </Tooltip>
    </Group>
  );
}
