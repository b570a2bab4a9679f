import { Button } from "@mantine/core";
import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Answer } from "./Answer";

/** A list that comes part by part: its rows so far and a way to the older ones, or what stands where there are none. */
export function Pages<P, T>({ of, rows, waiting, empty, bare = false, children }: {
  of: UseInfiniteQueryResult<InfiniteData<P>>;
  rows: (page: P) => T[];
  waiting?: number;
  empty: ReactNode;
  /** Without a frame of its own. */
  bare?: boolean;
  children: (rows: T[]) => ReactNode;
}) {
  return (
    <Answer of={of} {...(waiting !== undefined && { rows: waiting })}>
      {(data) => {
        const all = data.pages.flatMap(rows);
        if (all.length === 0) return empty;
        return (
          <div className={bare ? undefined : "panel flush"}>
            {children(all)}
            {of.hasNextPage && (
              <div className="more">
                <Button variant="default" loading={of.isFetchingNextPage} onClick={() => void of.fetchNextPage()}>
                  Older ones
                </Button>
              </div>
            )}
          </div>
        );
      }}
    </Answer>
  );
}
