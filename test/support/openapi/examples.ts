/** The part of JSON Schema that the API's document uses. */
export interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  allOf?: readonly Schema[];
  anyOf?: readonly Schema[];
  examples?: readonly unknown[];
  additionalProperties?: unknown;
}

export type Schemas = Readonly<Record<string, Schema>>;

/** Composes an example from the examples of the fields; leaves out fields without one. Undefined if there is none. */
export function exampleOf(schema: Schema, schemas: Schemas): unknown {
  if (schema.examples !== undefined) return schema.examples[0];
  const target = schema.$ref === undefined ? undefined : schemas[schema.$ref.replace('#/components/schemas/', '')];
  const [inner] = [target, ...(schema.allOf ?? []), ...(schema.anyOf ?? [])].filter((one) => one !== undefined);
  if (inner !== undefined) return exampleOf(inner, schemas);
  if (schema.items !== undefined) {
    const item = exampleOf(schema.items, schemas);
    return item === undefined ? undefined : [item];
  }
  if (schema.properties === undefined) return undefined;
  const fields = Object.entries(schema.properties).map(([name, field]) => [name, exampleOf(field, schemas)] as const);
  return Object.fromEntries(fields.filter(([, example]) => example !== undefined));
}
