import { MutationCache, QueryClient } from "@tanstack/react-query";
import { sayProblem } from "../ui/said";
import { ProblemError } from "./client";

export const queryClient = new QueryClient({
  // The daemon is on this machine: it answers where the browser finds no network, too.
  defaultOptions: {
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
      staleTime: 10_000,
      refetchOnWindowFocus: true,
      retry: (count, error) => count < 1 && !(error instanceof ProblemError && error.problem.status >= 400),
    },
  },
  // A refused change is always said, unless the form that made it says it better.
  mutationCache: new MutationCache({
    onError: (error, _variables, _context, mutation) => {
      if (mutation.meta?.["quiet"] !== true) sayProblem(error);
    },
  }),
});
