/** As much of a JSON Schema as our own documents use. */
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

/** A whole example made of those of the fields; a field without one is left out. Undefined: there is none at all. */
export function exampleOf(schema: Schema, schemas: Schemas): unknown {
  if (schema.examples !== undefined) return schema.examples[0];
  const referred = schema.$ref === undefined ? undefined : schemas[schema.$ref.replace('#/components/schemas/', '')];
  const [inner] = [referred, ...(schema.allOf ?? []), ...(schema.anyOf ?? [])].filter((one) => one !== undefined);
  if (inner !== undefined) return exampleOf(inner, schemas);
  if (schema.items !== undefined) return [exampleOf(schema.items, schemas)];
  if (schema.properties === undefined) return undefined;
  const fields = Object.entries(schema.properties).map(([name, field]) => [name, exampleOf(field, schemas)] as const);
  return Object.fromEntries(fields.filter(([, example]) => example !== undefined));
}
