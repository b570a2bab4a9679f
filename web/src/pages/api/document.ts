/** The parts of the OpenAPI document that the page shows. */

interface Schema {
  $ref?: string;
  type?: string;
  enum?: unknown[];
  const?: unknown;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  description?: string;
  default?: unknown;
  examples?: unknown[];
}

interface Content {
  schema: Schema;
  example?: unknown;
}

export interface Response {
  $ref?: string;
  description?: string;
  content?: Record<string, Content>;
}

interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  description?: string;
  schema: Schema;
  example?: unknown;
}

export interface Operation {
  method: string;
  path: string;
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  parameters: Parameter[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, Response>;
}

export interface Document {
  paths: Record<string, Record<string, Omit<Operation, "method" | "path">>>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Response> };
}

interface Field {
  name: string;
  where: string;
  required: boolean;
  type: string;
  description: string;
}

export function operationsOf(document: Document): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
}

/** What a reference leads to, or the part itself. */
export function resolved<T extends { $ref?: string }>(document: Document, part: T): T {
  const [, , kind = "", name = ""] = part.$ref?.split("/") ?? [];
  if (part.$ref === undefined) return part;
  return (document.components as unknown as Record<string, Record<string, T>>)[kind]?.[name] ?? part;
}

function bodyOf(document: Document, operation: Operation): Schema | undefined {
  const schema = operation.requestBody?.content["application/json"]?.schema;
  return schema === undefined ? undefined : resolved(document, schema);
}

/** Every parameter, and every field of the body, whatever events it may be of. */
export function fieldsOf(document: Document, operation: Operation): Field[] {
  const body = bodyOf(document, operation);
  const shapes = body?.oneOf?.map((one) => resolved(document, one)) ?? (body === undefined ? [] : [body]);
  const fields = new Map<string, Field>();
  for (const one of operation.parameters)
    fields.set(one.name, { name: one.name, where: one.in, required: one.required, type: typeOf(document, one.schema), description: one.description ?? "" });
  for (const shape of shapes)
    for (const [name, schema] of Object.entries(shape.properties ?? {})) {
      const required = shapes.every((other) => other.required?.includes(name) === true);
      if (!fields.has(name))
        fields.set(name, { name, where: "body", required, type: typeOf(document, schema), description: schema.description ?? "" });
    }
  return [...fields.values()];
}

function typeOf(document: Document, schema: Schema): string {
  if (schema.$ref !== undefined) {
    const shape = resolved(document, schema);
    return shape.enum === undefined ? (schema.$ref.split("/").pop() ?? "object") : typeOf(document, shape);
  }
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) return [...new Set(options.filter((one) => one.type !== "null").map((one) => typeOf(document, one)))].join(" or ");
  if (schema.enum !== undefined) return schema.enum.map(String).join(", ");
  if (schema.const !== undefined) return String(schema.const);
  if (schema.type === "array") return `list of ${typeOf(document, schema.items ?? {})}`;
  return schema.type ?? "anything";
}

/** A command that sends the example of an operation over the socket. */
export function commandOf(document: Document, operation: Operation): string {
  let path = operation.path;
  const query: string[] = [];
  for (const one of operation.parameters) {
    if (one.example === undefined) continue;
    if (one.in === "path") path = path.replace(`{${one.name}}`, encodeURIComponent(String(one.example)));
    else for (const value of [one.example].flat()) query.push(`${one.name}=${encodeURIComponent(String(value))}`);
  }
  const address = `http://tacit${path}${query.length === 0 ? "" : `?${query.join("&")}`}`;
  const method = operation.method === "GET" ? "" : ` -X ${operation.method}`;
  const example = bodyOf(document, operation)?.examples?.[0];
  const sent = JSON.stringify(example)?.replaceAll("'", String.raw`'\''`);
  const body = sent === undefined ? "" : ` \\\n  -H 'Content-Type: application/json' -d '${sent}'`;
  return `curl --unix-socket ~/.tacit/run/daemon.sock${method} '${address}'${body}`;
}

export function answerOf(operation: Operation): string | undefined {
  for (const response of Object.values(operation.responses))
    for (const { example } of Object.values(response.content ?? {}))
      if (example !== undefined) return typeof example === "string" ? example : JSON.stringify(example, null, 2);
  return undefined;
}
