import type { ReactNode } from "react";

/** The top of a page: its name, what it is for, what can be done. */
export function Head({ title, text, children }: { title: ReactNode; text?: ReactNode; children?: ReactNode }) {
  return (
    <div className="head">
      <div>
        <h1>{title}</h1>
        {text !== undefined && <p>{text}</p>}
      </div>
      {children !== undefined && <div className="right">{children}</div>}
    </div>
  );
}
