/** The filters of a list. They stand in the address, so that a link, "back" and a saved filter lead to them. */
import { useDebouncedValue } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";
import { useSearchParams } from "react-router";

export function useFilters() {
  const [params, setParams] = useSearchParams();
  const words = params.get("text") ?? "";
  const [text, setText] = useState(words);
  const [typed] = useDebouncedValue(text.trim(), 200);
  const agreed = useRef(words); // what the field and the address last agreed on
  const put = (name: string, value: string | string[] | null) =>
    setParams(
      (now) => {
        now.delete(name);
        for (const one of value === null ? [] : [value].flat()) if (one !== "") now.append(name, one);
        return now;
      },
      { replace: true },
    );
  useEffect(() => {
    if (typed === agreed.current) return;
    agreed.current = typed;
    put("text", typed);
  }, [typed]); // eslint-disable-line react-hooks/exhaustive-deps
  useEffect(() => {
    if (words === agreed.current) return;
    agreed.current = words;
    setText(words);
  }, [words]);
  return { params, setParams, put, text, setText, words };
}
