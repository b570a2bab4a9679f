/** Every question the page asks, in one place. Names of query keys are what `live` renews. */
import { keepPreviousData, useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { api, body } from "./client";
import { queryClient } from "./queryClient";
import type {
  ChangeEntry, EngineStatus, Graph, Memory, ProjectRow, RecallRow, Recalled, Relation, Replayed, ReviewEntry, Series, SessionDetail, SessionRow,
  Surface, Trace, Verdict,
} from "./types";

export const useStatus = () =>
  useQuery({ queryKey: ["status"], queryFn: () => body<EngineStatus>(api.GET("/v1/status")), refetchInterval: 30_000 });

export const useSeries = (sinceMs: number, bucket: "hour" | "day") =>
  useQuery({
    queryKey: ["timeline", sinceMs, bucket],
    queryFn: async () => (await body<{ series: Series }>(api.GET("/v1/series", { params: { query: { since_ms: sinceMs, bucket } } }))).series,
    placeholderData: keepPreviousData,
  });

export interface TraceFilter {
  surface?: Surface;
  outcome?: "injected" | "silent";
  text?: string;
  session?: string;
  cwd?: string;
}

export const useTraces = (filter: TraceFilter, limit = 60) =>
  useInfiniteQuery({
    queryKey: ["traces", filter, limit],
    queryFn: ({ pageParam }) =>
      body<{ recalls: RecallRow[]; next_cursor: string | null }>(
        api.GET("/v1/recalls", { params: { query: { ...filter, limit, ...(pageParam !== "" && { cursor: pageParam }) } } }),
      ),
    initialPageParam: "",
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  });

export const useTrace = (id: string) =>
  useQuery({
    queryKey: ["trace", id],
    queryFn: () => body<{ trace: Trace; verdicts: Verdict[] }>(api.GET("/v1/traces/{id}", { params: { path: { id } } })),
    staleTime: Infinity,
  });

export const useReplay = (id: string, threshold: number, enabled: boolean) =>
  useQuery({
    queryKey: ["replay", id, threshold],
    queryFn: async () =>
      (await body<{ replayed: Replayed }>(api.GET("/v1/traces/{id}/replay", { params: { path: { id }, query: { threshold } } }))).replayed,
    enabled,
    staleTime: Infinity,
    placeholderData: keepPreviousData,
  });

export const useVerdict = (traceId: string) =>
  useMutation({
    mutationFn: (said: { memory_ids: string[]; useful: boolean }) =>
      body<{ verdicts: Verdict[] }>(api.POST("/v1/traces/{id}/feedback", { params: { path: { id: traceId } }, body: said })),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: ["trace", traceId] });
      void queryClient.invalidateQueries({ queryKey: ["timeline"] });
    },
  });

export interface MemoryFilter {
  text?: string;
  kind?: string[];
  status?: string[];
  scope?: string[];
  cwd?: string;
  as_of_ms?: number;
  order?: string;
}

export interface MemoryPage {
  memories: Memory[];
  total: number | null;
  next_cursor: string | null;
}

export const useMemories = (filter: MemoryFilter, limit = 200) =>
  useInfiniteQuery({
    queryKey: ["memories", filter, limit],
    queryFn: ({ pageParam }) =>
      body<MemoryPage>(
        api.GET("/v1/memories", { params: { query: { ...filter, limit, total: pageParam === "", ...(pageParam !== "" && { cursor: pageParam }) } } }),
      ),
    initialPageParam: "",
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  });

export interface Tagged {
  memory: Memory;
  etag: string;
}

export const useMemory = (id: string | undefined) =>
  useQuery({
    queryKey: ["memory", id],
    enabled: id !== undefined,
    queryFn: async (): Promise<Tagged> => {
      const { data, response } = await api.GET("/v1/memories/{id}", { params: { path: { id: id! } } });
      return { memory: (data as { memory: Memory }).memory, etag: response.headers.get("ETag") ?? "" };
    },
  });

export const useHistory = (id: string) =>
  useQuery({
    queryKey: ["memory", id, "history"],
    queryFn: async () => (await body<{ versions: Memory[] }>(api.GET("/v1/memories/{id}/history", { params: { path: { id } } }))).versions,
  });

export const useRelations = (id: string) =>
  useQuery({
    queryKey: ["memory", id, "relations"],
    queryFn: () => body<{ relations: Relation[]; memories: Memory[] }>(api.GET("/v1/memories/{id}/relations", { params: { path: { id } } })),
  });

export interface ExposureEntry {
  session: string;
  exposure: { memory_id: string; surface: Surface; turn: number; epoch: number; tokens: number; at_ms: number };
}

export const useExposures = (id: string) =>
  useQuery({
    queryKey: ["memory", id, "exposures"],
    queryFn: async () =>
      (await body<{ exposures: ExposureEntry[] }>(api.GET("/v1/exposures", { params: { query: { memory: id, limit: 50 } } }))).exposures,
  });

export function renewMemories() {
  for (const key of ["memories", "memory", "review", "graph", "changes", "status"]) void queryClient.invalidateQueries({ queryKey: [key] });
}

export interface Edit {
  content?: string;
  kind?: string;
  when?: string;
  scope?: string;
  importance?: number;
  pinned?: boolean;
}

export const useEdit = (id: string) =>
  useMutation({
    mutationFn: ({ edit, etag }: { edit: Edit; etag: string }) =>
      body<{ memory: Memory }>(api.PATCH("/v1/memories/{id}", { params: { path: { id }, header: { "If-Match": etag } }, body: edit })),
    onSuccess: renewMemories,
    meta: { quiet: true },
  });

export const useForget = () =>
  useMutation({
    mutationFn: ({ id, reason }: { id: string; reason: string }) =>
      body(api.DELETE("/v1/memories/{id}", { params: { path: { id }, query: { reason } } })),
    onSuccess: renewMemories,
  });

export const useSupersede = () =>
  useMutation({
    mutationFn: ({ id, content }: { id: string; content: string }) =>
      body(api.POST("/v1/memories/{id}/supersede", { params: { path: { id } }, body: { content } })),
    onSuccess: renewMemories,
  });

export const useMerge = () =>
  useMutation({
    mutationFn: ({ id, into }: { id: string; into: string }) =>
      body(api.POST("/v1/memories/{id}/merge", { params: { path: { id } }, body: { into } })),
    onSuccess: renewMemories,
  });

export const useUndo = () =>
  useMutation({
    mutationFn: (id?: string) => body<{ changes: { change: string }[] }>(api.POST("/v1/undo", { body: id === undefined ? {} : { id } })),
    onSuccess: renewMemories,
  });

export const useRemember = () =>
  useMutation({
    mutationFn: (said: { content: string; kind?: string; scope?: string; when?: string; cwd?: string }) =>
      body<{ changes: { change: string; reason: string; memory?: Memory }[] }>(api.POST("/v1/remember", { body: { ...said, source: "page" } })),
    onSuccess: renewMemories,
  });

export const useReview = () =>
  useQuery({
    queryKey: ["review"],
    queryFn: async () => (await body<{ review: ReviewEntry[] }>(api.GET("/v1/review", { params: { query: { limit: 200 } } }))).review,
  });

export const useReviewCount = (): number => useReview().data?.length ?? 0;

export const useDecide = () =>
  useMutation({
    mutationFn: ({ id, ...decision }: { id: string; action: "accept" | "reject" | "merge" | "keep"; content?: string; into?: string }) =>
      body(api.POST("/v1/review/{id}", { params: { path: { id } }, body: decision })),
    onSuccess: renewMemories,
  });

export const useChanges = (limit = 20) =>
  useQuery({
    queryKey: ["changes", limit],
    queryFn: async () => (await body<{ changes: ChangeEntry[] }>(api.GET("/v1/changes", { params: { query: { limit } } }))).changes,
  });

export const useSessions = (limit = 50) =>
  useInfiniteQuery({
    queryKey: ["sessions", limit],
    queryFn: ({ pageParam }) =>
      body<{ sessions: SessionRow[]; next_cursor: string | null }>(
        api.GET("/v1/sessions", { params: { query: { limit, ...(pageParam !== "" && { cursor: pageParam }) } } }),
      ),
    initialPageParam: "",
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });

export const useSession = (host: string, session_id: string) =>
  useQuery({
    queryKey: ["sessions", host, session_id],
    queryFn: async () =>
      (await body<{ session: SessionDetail }>(api.GET("/v1/sessions/{host}/{session_id}", { params: { path: { host, session_id } } }))).session,
  });

export const useMute = () =>
  useMutation({
    mutationFn: ({ host, session_id, muted }: { host: string; session_id: string; muted: boolean }) =>
      body(api.POST("/v1/sessions/{host}/{session_id}/mute", { params: { path: { host, session_id } }, body: { muted } })),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["sessions"] }),
  });

export const useGraph = (limit: number, cwd: string) =>
  useQuery({
    queryKey: ["graph", limit, cwd],
    queryFn: async () =>
      (await body<{ graph: Graph }>(api.GET("/v1/graph", { params: { query: { limit, ...(cwd !== "" && { cwd }) } } }))).graph,
    staleTime: 60_000,
  });

export const useProjects = () =>
  useQuery({
    queryKey: ["projects"],
    queryFn: async () => (await body<{ projects: ProjectRow[] }>(api.GET("/v1/projects"))).projects,
    staleTime: 60_000,
  });

export const useRecall = () =>
  useMutation({
    mutationFn: (asked: { text: string; cwd: string; surface: Surface; budget_tokens?: number; thresholds?: number[] }) =>
      body<Recalled>(api.POST("/v1/recall", { body: { ...asked, store_trace: false } })),
    meta: { quiet: true },
  });
