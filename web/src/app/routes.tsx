import { createBrowserRouter, type RouteObject } from "react-router";
import { beginHome, Component as Home } from "../pages/home/Home";
import { Broken } from "./Broken";
import { Shell } from "./Shell";

const pages: RouteObject[] = [
  { index: true, element: <Home /> },
  { path: "traces", lazy: () => import("../pages/traces/Traces") },
  { path: "traces/:id", lazy: () => import("../pages/trace/TracePage") },
  { path: "memories/:id?", lazy: () => import("../pages/memories/Memories") },
  { path: "review", lazy: () => import("../pages/review/Review") },
  { path: "team/:part?", lazy: () => import("../pages/team/Team") },
  { path: "sessions", lazy: () => import("../pages/sessions/Sessions") },
  { path: "sessions/comparison", lazy: () => import("../pages/sessions/Comparison") },
  { path: "sessions/:host/:session", lazy: () => import("../pages/sessions/SessionPage") },
  { path: "try", lazy: () => import("../pages/try/TryPage") },
  { path: "settings", lazy: () => import("../pages/settings/SettingsPage") },
  { path: "data/:part?", lazy: () => import("../pages/data/DataPage") },
  { path: "api", lazy: () => import("../pages/api/ApiPage") },
  { path: "*", lazy: () => import("../pages/Nowhere") },
];

export const router = createBrowserRouter(
  [{ path: "/", element: <Shell />, errorElement: <Broken />, hydrateFallbackElement: <></>, children: pages }],
  { basename: "/ui" },
);

/** Ask for what the address shows first, before the page is drawn. */
export function askFirst(): void {
  if (router.state.location.pathname === "/ui/" || router.state.location.pathname === "/ui") beginHome();
}

/** Fetch the other pages and the palette when nobody waits, so that each opens at once. */
export function fetchAhead(): void {
  const begin = () => {
    for (const page of pages) if (typeof page.lazy === "function") void page.lazy().catch(() => undefined);
    void import("./Palette").catch(() => undefined);
  };
  if ("requestIdleCallback" in window) requestIdleCallback(begin, { timeout: 4000 });
  else setTimeout(begin, 2000);
}
