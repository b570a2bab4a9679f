import "./api.css";
import { Code, CopyButton, TextInput, UnstyledButton } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { useLocation } from "react-router";
import { api, body } from "../../api/client";
import { Answer } from "../../ui/Answer";
import { Empty } from "../../ui/Empty";
import { Head } from "../../ui/Head";
import { Rows } from "../../ui/Rows";
import { Words } from "../../ui/Words";
import { plural } from "../../ui/words";
import { answerOf, commandOf, type Document, fieldsOf, type Operation, operationsOf, resolved } from "./document";

/** The HTTP API as this daemon serves it: its OpenAPI document, operation by operation. */
export function Component() {
  const document = useQuery({
    queryKey: ["openapi"],
    queryFn: async () => (await body(api.GET("/v1/openapi.json"))) as unknown as Document,
    staleTime: Infinity,
  });
  const [typed, setTyped] = useState("");
  const words = useDeferredValue(typed).toLowerCase().split(/\s+/).filter(Boolean);
  return (
    <>
      <Head title="HTTP API" text="What programs can ask this daemon. Generated clients are made from GET /v1/openapi.json.">
        <TextInput
          aria-label="Find an operation" placeholder="Find an operation" leftSection={<IconSearch size={16} />}
          value={typed} onChange={(event) => setTyped(event.currentTarget.value)}
        />
      </Head>
      <Answer of={document}>{(data) => <Operations document={data} words={words} />}</Answer>
    </>
  );
}

function Operations({ document, words }: { document: Document; words: string[] }) {
  const found = operationsOf(document).filter((one) => {
    const text = `${one.method} ${one.path} ${one.operationId} ${one.summary} ${one.description}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const groups = [...new Set(found.flatMap((one) => one.tags))];
  if (found.length === 0) return <Empty title="No operation has these words" text="Every word has to occur in its path, id or description." />;
  return (
    <>
      <p className="sub" role="status">{plural(found.length, "operation", "operations")}</p>
      {groups.map((group) => (
        <section key={group} className="panel" aria-label={group}>
          <h2>{group}</h2>
          {found.filter((one) => one.tags.includes(group)).map((one) => <OneOperation key={one.operationId} document={document} operation={one} />)}
        </section>
      ))}
    </>
  );
}

function OneOperation({ document, operation }: { document: Document; operation: Operation }) {
  const named = useLocation().hash === `#${operation.operationId}`;
  const [open, setOpen] = useState(named);
  return (
    <details id={operation.operationId} className="operation" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <b className="method">{operation.method}</b> <code>{operation.path}</code> <span><Words text={operation.summary} /></span>
      </summary>
      {open && <Details document={document} operation={operation} />}
    </details>
  );
}

function Details({ document, operation }: { document: Document; operation: Operation }) {
  const fields = fieldsOf(document, operation);
  const answer = answerOf(operation);
  return (
    <div className="operation-body">
      {operation.description.split("\n\n").map((paragraph) => <p key={paragraph}><Words text={paragraph} /></p>)}
      <p className="sub">Operation id: <code>{operation.operationId}</code></p>
      {fields.length > 0 && (
        <Rows name="Fields" columns={["field", "in", "values", "meaning"]}>
          {fields.map((field) => (
            <tr key={field.name}>
              <th scope="row"><code>{field.name}</code>{field.required && " (required)"}</th>
              <td data-name="in">{field.where}</td>
              <td data-name="values">{field.type}</td>
              <td data-name="meaning"><span><Words text={field.description} /></span></td>
            </tr>
          ))}
        </Rows>
      )}
      <Block title="Request" text={commandOf(document, operation)} />
      {answer !== undefined && <Block title="Answer" text={answer} />}
      <h3>Statuses</h3>
      <dl className="facts statuses">
        {Object.entries(operation.responses).map(([status, response]) => (
          <div key={status}>
            <dt>{status}</dt>
            <dd><Words text={resolved(document, response).description ?? ""} /></dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function Block({ title, text }: { title: string; text: string }) {
  return (
    <>
      <h3>
        {title}{" "}
        <CopyButton value={text}>
          {({ copied, copy }) => <UnstyledButton className="copy" onClick={copy}>{copied ? "copied" : "copy"}</UnstyledButton>}
        </CopyButton>
      </h3>
      <Code block tabIndex={0} aria-label={title}>{text}</Code>
    </>
  );
}
