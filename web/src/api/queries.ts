/** Every question the page asks, in one place. The first word of a query's key is what `live` and changes renew. */
import { infiniteQueryOptions, keepPreviousData, type InfiniteData, queryOptions, useInfiniteQuery, useMutation, useQueries, useQuery } from "@tanstack/react-query";
import { allOf, api, body } from "./client";
import { queryClient } from "./queryClient";
import { onTakenBack } from "../ui/said";
import type { paths } from "./schema";
import type { Job, Memory, Status, Surface, WhyNot } from "./types";

const cursorOf = (last: { next_cursor: string | null }) => last.next_cursor ?? undefined;

// --- the whole

export const statusOptions = queryOptions({ queryKey: ["status"], queryFn: () => body(api.GET("/v1/status")) });

export const useStatus = () => useQuery({ ...statusOptions, refetchInterval: 15_000 });

const seriesOptions = (sinceMs: number, bucket: "hour" | "day") =>
  queryOptions({
    queryKey: ["timeline", "series", sinceMs, bucket],
    queryFn: async () => (await body(api.GET("/v1/stats", { params: { query: { part: ["series"], since_ms: sinceMs, bucket } } }))).series!,
  });

// --- long work

const LOOK_MS = 400;

/** Long work and how far it is; asked again and again while some of it runs, until an answer fails. */
export const useJobs = () =>
  useQuery({
    queryKey: ["jobs"],
    queryFn: async () => (await body(api.GET("/v1/jobs"))).jobs,
    refetchInterval: ({ state }) => (state.status === "success" && state.data?.some((one) => one.state === "running") === true ? LOOK_MS : false),
  });

/** What can be begun here; the other work is listed while a request waits for it. */
export type BegunJob = Extract<Job["name"], "check" | "reindex">;

export const useBeginJob = () =>
  useMutation({
    mutationFn: (name: BegunJob) => body(api.POST("/v1/jobs", { body: { name } })),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["jobs"] }),
  });

export function renewHealth() {
  void queryClient.invalidateQueries({ queryKey: ["status"] });
}

export const useSeries = (sinceMs: number, bucket: "hour" | "day") => useQuery({ ...seriesOptions(sinceMs, bucket), placeholderData: keepPreviousData });

export const useProjects = () =>
  useQuery({ queryKey: ["projects"], queryFn: () => allOf((more) => body(api.GET("/v1/projects", { params: { query: more } })), (part) => part.projects), staleTime: 60_000 });

const NONE: never[] = [];

const kindsOptions = queryOptions({ queryKey: ["kinds"], queryFn: () => body(api.GET("/v1/kinds")), staleTime: 60_000 });

/** The kinds that hold, those of the user's own settings included. */
export const useKinds = () => useQuery(kindsOptions).data?.kinds ?? NONE;

export const useSpaces = () => useQuery(kindsOptions).data?.spaces ?? NONE;

// --- recalls

export interface TraceFilter {
  surface?: Exclude<Surface, "host">;
  outcome?: "injected" | "silent";
  text?: string;
  session?: string;
  cwd?: string;
  memory?: string;
  since_ms?: number;
  until_ms?: number;
}

const tracesOptions = (filter: TraceFilter, limit: number) =>
  infiniteQueryOptions({
    queryKey: ["traces", filter, limit],
    queryFn: ({ pageParam }) => body(api.GET("/v1/traces", { params: { query: { ...filter, limit, ...(pageParam !== "" && { cursor: pageParam }) } } })),
    initialPageParam: "",
    getNextPageParam: cursorOf,
  });

export const useTraces = (filter: TraceFilter, limit = 60) => useInfiniteQuery({ ...tracesOptions(filter, limit), placeholderData: keepPreviousData });

export const LATEST = 12;

/** Ask what the overview shows before anything is drawn: the answers come while the page is being made. */
export function askAhead(sinceMs: number, bucket: "hour" | "day"): void {
  void queryClient.prefetchQuery(seriesOptions(sinceMs, bucket));
  void queryClient.prefetchQuery(statusOptions);
  void queryClient.prefetchInfiniteQuery(tracesOptions({}, LATEST));
}

export const useTrace = (id: string, enabled = true) =>
  useQuery({ enabled, queryKey: ["trace", id], queryFn: () => body(api.GET("/v1/traces/{id}", { params: { path: { id } } })), staleTime: Infinity });

export const useReplay = (id: string, threshold: number, enabled: boolean) =>
  useQuery({
    queryKey: ["replay", id, threshold],
    queryFn: async () => (await body(api.GET("/v1/traces/{id}", { params: { path: { id }, query: { threshold } } }))).replayed!,
    enabled,
    staleTime: Infinity,
    placeholderData: keepPreviousData,
  });

export const useVerdict = (traceId: string) =>
  useMutation({
    mutationFn: (said: { id: string; useful: boolean }) => body(api.POST("/v1/feedback", { body: { ...said, trace_id: traceId } })),
    onSuccess: () => {
      for (const key of [["trace", traceId], ["timeline"]]) void queryClient.invalidateQueries({ queryKey: key });
    },
  });

export interface Question {
  text: string;
  cwd: string;
  surface: Exclude<Surface, "host">;
  preset: string | null;
  previous?: string;
  prompts?: readonly string[];
  tools?: readonly string[];
  files?: readonly string[];
  tool?: string;
  command?: string;
  paths?: readonly string[];
  written?: string;
  finished?: boolean;
  error?: string;
  turn?: number;
  session?: { host: string; session_id: string } | null;
  held?: readonly string[];
}

type RecallBody = NonNullable<paths["/v1/recall"]["post"]["requestBody"]>["content"]["application/json"];

const recall = (asked: Question, more: { replay_at?: number[] } = {}) =>
  body(api.POST("/v1/recall", { body: { ...asked, ...more, store_trace: false } as RecallBody }));

export const useRecall = () => useMutation({ mutationFn: (asked: Question) => recall(asked), meta: { quiet: true } });

type WhyNotBody = paths["/v1/why-not"]["post"]["requestBody"]["content"]["application/json"];

/** Why a question does not give a memory; of a recorded recall, `trace`, as its session stood then. Nothing is stored. */
export const useWhyNot = (memory: string, asked: Question, trace: string | undefined) =>
  useQuery({
    queryKey: ["memory", memory, "why not", asked, trace],
    queryFn: () => body(api.POST("/v1/why-not", { body: { ...asked, memory, ...(trace !== undefined && { trace }) } as WhyNotBody })),
    staleTime: Infinity,
  });

/** What a remedy changes in a memory: accepted first, if it waits, then all parts in one change. The ids of the changes. */
export const useApply = (memory: Memory) =>
  useMutation({
    mutationFn: async (steps: readonly WhyNot["remedies"][number]["steps"][number][]) => {
      const changes: (string | null)[] = [];
      const parts: Partial<EditedParts> = {};
      for (const { kind, value } of steps) {
        if (kind === "accept") changes.push((await body(api.POST("/v1/review", { body: { action: "accept", ids: [memory.id], content: null, into: null } }))).change_id);
        else if (kind === "confirm") parts.content = memory.content;
        else if (kind === "pin") parts.pinned = true;
        else if (kind === "all_branches") parts.all_branches = true;
        else if (kind === "when" || kind === "scope") parts[kind] = value;
        else if (kind === "sensitivity") parts.sensitivity = value as Memory["sensitivity"];
      }
      if (Object.keys(parts).length > 0) changes.push((await body(api.PATCH("/v1/memories/{id}", { params: { path: { id: memory.id } }, body: parts }))).change_id);
      return changes.filter((id) => id !== null);
    },
    onSuccess: renewMemories,
  });

/** The same question decided at another threshold, without keeping a trace. */
export const useDryReplay = (asked: Question | undefined, threshold: number, enabled: boolean) =>
  useQuery({
    queryKey: ["dry-replay", asked, threshold],
    queryFn: async () => (await recall(asked!, { replay_at: [threshold] })).replayed[0]!,
    enabled: enabled && asked !== undefined,
    staleTime: Infinity,
    placeholderData: keepPreviousData,
  });

// --- memories

export interface MemoryFilter {
  text?: string;
  kind?: string[];
  status?: (Status | "all")[];
  scope?: string[];
  tier?: Memory["provenance"]["tier"][];
  sensitivity?: Memory["sensitivity"][];
  given?: boolean;
  used?: boolean;
  as_of_ms?: number;
  /** Left out = newest first, or with words the best match first. */
  order?: "created" | "updated" | "importance" | "given" | "fetched" | "used" | "last";
  /** The least of `order` first. */
  ascending?: boolean;
}

export const PAGE_ROWS = 100;

/** The parts of a long list that are looked at; a part that is not there yet is undefined. */
export const useMemoryPages = (filter: MemoryFilter, pages: number[]) =>
  useQueries({
    queries: pages.map((page) => ({
      queryKey: ["memories", filter, page],
      queryFn: () => body(api.GET("/v1/memories", { params: { query: { ...filter, limit: PAGE_ROWS, offset: page * PAGE_ROWS } } })),
      staleTime: 20_000,
    })),
  });

/** How many memories have each value, for the filters beside the list. */
export const useFacets = ({ order: _, ascending: __, ...filter }: MemoryFilter) =>
  useQuery({
    queryKey: ["memories", "facets", filter],
    queryFn: async () => (await body(api.GET("/v1/memories", { params: { query: { ...filter, facets: true, limit: 1 } } }))).facets!,
    staleTime: 20_000,
    placeholderData: keepPreviousData,
  });

export const MOST_PICKED = 500;

/** The first memories of a list, as many as can be chosen for one step. */
export const firstMemories = async (filter: MemoryFilter) => (await body(api.GET("/v1/memories", { params: { query: { ...filter, limit: MOST_PICKED } } }))).memories;

export const useFoundMemories = (text: string, scope?: string) =>
  useQuery({
    queryKey: ["memories", "found", text, scope],
    queryFn: async () => (await body(api.GET("/v1/memories", { params: { query: { text, limit: 20, ...(scope !== undefined && { scope: [scope] }) } } }))).memories,
    enabled: text.trim() !== "",
    placeholderData: keepPreviousData,
  });

export const useMemory = (id: string | undefined) =>
  useQuery({
    queryKey: ["memory", id],
    enabled: id !== undefined,
    queryFn: async () => (await body(api.GET("/v1/memories/{id}", { params: { path: { id: id! } } }))).memory,
  });

/** The versions of a memory, the newest first, each with the one before and the reason of the change. */
export const useVersions = (id: string) =>
  useInfiniteQuery({
    queryKey: ["memory", id, "versions"],
    queryFn: ({ pageParam }) => body(api.GET("/v1/changes", { params: { query: { id, limit: 50, ...(pageParam !== "" && { cursor: pageParam }) } } })),
    initialPageParam: "",
    getNextPageParam: cursorOf,
  });

export const useRelations = (id: string) =>
  useQuery({
    queryKey: ["memory", id, "relations"],
    queryFn: async () => {
      const { relations, related } = await body(api.GET("/v1/memories/{id}", { params: { path: { id }, query: { relations: true } } }));
      return relations.map((relation) => ({ relation, other: related.find((one) => one.id === (relation.source_id === id ? relation.target_id : relation.source_id)) }));
    },
  });

export const useExposures = (id: string) =>
  useInfiniteQuery({
    queryKey: ["memory", id, "exposures"],
    queryFn: ({ pageParam }) => body(api.GET("/v1/exposures", { params: { query: { memory: id, limit: 50, ...(pageParam !== "" && { cursor: pageParam }) } } })),
    initialPageParam: "",
    getNextPageParam: cursorOf,
  });

export function renewMemories() {
  for (const key of ["memories", "memory", "review", "changes", "status", "learned"]) void queryClient.invalidateQueries({ queryKey: [key] });
}

onTakenBack(renewMemories);

export interface EditedParts {
  content: string;
  headline: string;
  kind: string;
  when: string;
  scope: string;
  importance: number;
  pinned: boolean;
  sensitivity: Memory["sensitivity"];
  all_branches: true | null;
}

/** Change a memory if it still is what was looked at. */
export const useEdit = () =>
  useMutation({
    mutationFn: ({ memory, parts }: { memory: Memory; parts: Partial<EditedParts> }) =>
      body(
        api.PATCH("/v1/memories/{id}", {
          params: { path: { id: memory.id }, header: { "If-Match": `"${memory.etag}"` } },
          body: parts,
        }),
      ),
    onSuccess: renewMemories,
    meta: { quiet: true },
  });

export const useForget = () =>
  useMutation({
    mutationFn: (id: string) => body(api.DELETE("/v1/memories/{id}", { params: { path: { id }, query: { reason: "forgotten on the page" } } })),
    onSuccess: renewMemories,
  });

/** What is done to each of many memories: parts of it changed, or all of it forgotten. */
export type ForEach = { parts: Partial<EditedParts> } | "forget";

/** Do the same to many memories, one after the other. Whoever changed one since it was looked at is not overwritten: it is refused. */
export const useChangeEach = () =>
  useMutation({
    mutationFn: async ({ memories, act }: { memories: Memory[]; act: ForEach }) => {
      const changed: string[] = [];
      const refused: unknown[] = [];
      for (const { id, etag } of memories) {
        const header = { "If-Match": `"${etag}"` };
        try {
          const { change_id } =
            act === "forget"
              ? await body(api.DELETE("/v1/memories/{id}", { params: { path: { id }, query: { reason: "forgotten on the page" }, header } }))
              : await body(api.PATCH("/v1/memories/{id}", { params: { path: { id }, header }, body: act.parts }));
          if (change_id !== null) changed.push(change_id);
        } catch (error) {
          refused.push(error);
        }
      }
      return { changed, refused };
    },
    onSuccess: renewMemories,
  });

export const useSupersede = () =>
  useMutation({
    mutationFn: ({ id, content }: { id: string; content: string }) =>
      body(api.PATCH("/v1/memories/{id}", { params: { path: { id } }, body: { content, supersede: true } })),
    onSuccess: renewMemories,
  });

export const useMerge = () =>
  useMutation({
    mutationFn: ({ id, into }: { id: string; into: string }) => body(api.PATCH("/v1/memories/{id}", { params: { path: { id } }, body: { into } })),
    onSuccess: renewMemories,
  });

/** The last change of one memory, as it is shown: undo takes back this one, or nothing. */
export const useLastChange = (id: string) =>
  useQuery({
    queryKey: ["memory", id, "change"],
    queryFn: async () => (await body(api.GET("/v1/changes", { params: { query: { id, limit: 1 } } }))).changes[0] ?? null,
  });

export const useRemember = () =>
  useMutation({
    mutationFn: (said: { content: string; kind?: string; scope?: string; when?: string }) => body(api.POST("/v1/memories", { body: { ...said, source: "page" } })),
    onSuccess: renewMemories,
  });

export interface ReviewFilter {
  kind?: string[];
  source?: string[];
  cause?: ("contradiction" | "agent" | "import" | "unconfirmed" | "branch")[];
  scope?: string[];
  text?: string;
}

const REVIEW_ROWS = 100;

/** The review queue, part by part; every part says how many there are in all. */
export const useReview = (filter: ReviewFilter) =>
  useInfiniteQuery({
    queryKey: ["review", "list", filter],
    queryFn: ({ pageParam }) => body(api.GET("/v1/review", { params: { query: { ...filter, limit: REVIEW_ROWS, ...(pageParam !== "" && { cursor: pageParam }) } } })),
    initialPageParam: "",
    getNextPageParam: cursorOf,
    placeholderData: keepPreviousData,
  });

export const useReviewCount = (): number =>
  useQuery({ queryKey: ["review", "count"], queryFn: async () => (await body(api.GET("/v1/review", { params: { query: { limit: 1 } } }))).waiting }).data ?? 0;

export interface Decision {
  id: string;
  action: "accept" | "reject" | "merge" | "keep";
  content?: string;
  into?: string;
}

export const useDecide = () =>
  useMutation({
    mutationFn: ({ id, action, content, into }: Decision) =>
      body(api.POST("/v1/review", { body: { action, ids: [id], content: content ?? null, into: into ?? null } })),
    onSuccess: (_, { id }) => {
      takeFromQueue([id]);
      renewMemories();
    },
  });

/** Which statements are decided on alike: those chosen, or all that fit, whose number was shown. */
export type Many = { ids: string[] } | { where: ReviewFilter; count: number };

export const useDecideAll = () =>
  useMutation({
    mutationFn: ({ action, many }: { action: "accept" | "reject" | "keep"; many: Many }) => body(api.POST("/v1/review", { body: { action, ...many } })),
    onSuccess: (_, { many }) => {
      if ("ids" in many) takeFromQueue(many.ids);
      renewMemories();
    },
  });

type ReviewPart = Awaited<ReturnType<typeof reviewPart>>;
const reviewPart = (filter: ReviewFilter) => body(api.GET("/v1/review", { params: { query: filter } }));

/** Gone from the queue at once: the next key may come before the next answer. */
function takeFromQueue(ids: string[]): void {
  const gone = new Set(ids);
  queryClient.setQueriesData<InfiniteData<ReviewPart>>({ queryKey: ["review", "list"] }, (before) => {
    if (before === undefined) return before;
    const left = before.pages.map((part) => part.review.filter((entry) => !gone.has(entry.memory.id)));
    const out = before.pages.reduce((count, part, at) => count + part.review.length - left[at]!.length, 0);
    return { ...before, pages: before.pages.map((part, at) => ({ ...part, review: left[at]!, total: part.total - out })) };
  });
}

// --- sessions

export const useSessions = (filter: { text?: string; cwd?: string }, limit = 50) =>
  useInfiniteQuery({
    queryKey: ["sessions", filter, limit],
    queryFn: ({ pageParam }) => body(api.GET("/v1/sessions", { params: { query: { ...filter, limit, ...(pageParam !== "" && { cursor: pageParam }) } } })),
    initialPageParam: "",
    getNextPageParam: cursorOf,
    placeholderData: keepPreviousData,
  });

export const useSession = (host: string, session_id: string) =>
  useQuery({
    queryKey: ["sessions", host, session_id],
    queryFn: async () => (await body(api.GET("/v1/sessions/{host}/{session_id}", { params: { path: { host, session_id } } }))).session,
  });

export const useLearned = (session: string) =>
  useQuery({
    queryKey: ["learned", session],
    queryFn: () => body(api.GET("/v1/digests", { params: { query: { session, learned: true } } })),
  });

export const useMute = () =>
  useMutation({
    mutationFn: ({ host, session_id, muted }: { host: string; session_id: string; muted: boolean }) =>
      body(api.PATCH("/v1/sessions/{host}/{session_id}", { params: { path: { host, session_id } }, body: { muted } })),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["sessions"] }),
  });

// --- settings

/** Whose settings: everybody's, one agent's, one project's. */
export interface Place {
  holder: "user" | "agents" | "projects";
  name: string;
}

export const useSettings = (place: Place) =>
  useQuery({
    queryKey: ["settings", place],
    queryFn: async () =>
      (
        await body(
          api.GET("/v1/settings", {
            params: { query: { ...(place.holder === "agents" && { agent: place.name }), ...(place.holder === "projects" && { cwd: place.name }) } },
          }),
        )
      ).settings,
    placeholderData: keepPreviousData,
  });

const renewSettings = () => {
  for (const key of ["settings", "status"]) void queryClient.invalidateQueries({ queryKey: [key] });
};

/** One change after the other: a field that is left sends what was typed before the click that reverts it. */
const SETTINGS_SCOPE = { id: "settings" };

export const useSet = (place: Place) =>
  useMutation({
    scope: SETTINGS_SCOPE,
    mutationFn: ({ key, value }: { key: string; value: unknown }) => body(api.PATCH("/v1/settings", { body: { ...place, values: { [key]: value } } })),
    onSuccess: renewSettings,
  });

export const useRevert = (place: Place) =>
  useMutation({
    scope: SETTINGS_SCOPE,
    mutationFn: (key: string) => body(api.PATCH("/v1/settings", { body: { ...place, reset: [key || "*"] } })),
    onSuccess: renewSettings,
  });

/** Ask an optional language model one question. */
export const useTryModel = () =>
  useMutation({
    mutationFn: (section: "capture.extractor" | "recall.anticipate" | "recall.judge") => body(api.POST("/v1/model-tests", { body: { section } })),
    meta: { quiet: true },
  });
