import type { INestApplication } from '@nestjs/common';
import * as swagger from '@nestjs/swagger';
import { TARGET_SCHEMA } from '../../../src/api/gateway-api/decision-record/bind-decision-fields.js';
import { applyDeclarations } from '../../../src/api/http/documentation.js';
import { ERROR_SCHEMA, problemResponse } from '../../../src/api/http/openapi/problem-responses.js';
import { HEADER_DEFINITIONS } from '../../../src/api/http/openapi/response-headers.js';
import { isJsonObject } from '../../../src/kernel/json-object.js';
import type { ProblemName } from '../../../src/kernel/problem.js';
import { exampleOf, type Schema, type Schemas } from './examples.js';
import { PROBLEM_BODIES } from './problem-examples.js';

/** The version of package.json; a test compares them. */
const VERSION = '0.1.0';

const DESCRIPTION = `Controls who may open tunnels: SSH credentials and TCP edges, compatible with the public ngrok API.

In a body, null counts as absent, and an undocumented field is refused. A read-only field of a body may have its current
value; POST ignores it. A resource in an answer has all of its fields, and a later version may have more.
The body of every error is an \`Error\`. A call refers to the response of each status; \`x-problems\` there or beside
it names the problems that it may have, if they are not all of that status. \`x-max-bytes\` is a limit in bytes, since a schema can only count characters.`;

/** Makes the OpenAPI document from the declarations of the controllers. openapi.json holds the result. */
export function openApiText(nest: INestApplication): string {
  applyDeclarations(swagger, nest);
  const { DocumentBuilder, SwaggerModule } = swagger;
  const base = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Tunnel access service')
    .setDescription(DESCRIPTION)
    .setVersion(VERSION)
    .setLicense('MIT', 'https://spdx.org/licenses/MIT.html')
    .addServer('/')
    .addBearerAuth({ type: 'http', bearerFormat: 'API key', description: 'An API key, or a token of the OIDC issuer.' })
    .addBearerAuth(
      { type: 'http', bearerFormat: 'gateway token', description: 'One of the tokens in GATEWAY_TOKENS.' },
      'gateway',
    )
    .addSecurityRequirements('bearer')
    .build();
  return `${printed(finish(SwaggerModule.createDocument(nest, base)))}\n`;
}

interface Media {
  schema?: Schema;
  example?: unknown;
  examples?: unknown;
}

interface Body {
  description?: string;
  content?: Record<string, Media>;
}

interface Operation {
  operationId?: string;
  tags?: string[];
  requestBody?: Body;
  parameters: object[];
  responses: Record<string, (Body & { 'x-problems'?: readonly ProblemName[] }) | { $ref: string }>;
}

/** Completes the document of @nestjs/swagger: closes bodies, shares responses, adds whole examples. */
function finish(document: swagger.OpenAPIObject): object {
  const schemas = { ...document.components?.schemas, Error: ERROR_SCHEMA } as unknown as Schemas;
  const paths = document.paths as unknown as Record<string, Record<string, Operation>>;
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  for (const operation of operations) addExamples(operation, schemas);
  completeBodies(operations, schemas);
  const responses = { ...shareErrors(operations), ...shareSuccesses(operations) };
  const tags = [...new Set(operations.flatMap((operation) => operation.tags ?? []))].map((name) => ({ name }));
  const parameters = shareParameters(operations);
  const components = { schemas, responses, parameters, headers: HEADER_DEFINITIONS, examples: PROBLEM_BODIES };
  return withTargets({ ...document, tags, components: { ...document.components, ...components } });
}

/** A body refuses an undocumented field, and has a whole example. An answer may have further fields in a later version. */
function completeBodies(operations: readonly Operation[], schemas: Schemas): void {
  for (const schema of schemasIn(
    operations.map(({ requestBody }) => requestBody?.content),
    schemas,
  )) {
    schema.additionalProperties = false;
    for (const field of Object.values(schema.properties ?? {})) delete field.examples;
  }
}

/** The schemas that it refers to, and those that these refer to. */
function schemasIn(value: unknown, schemas: Schemas, found = new Set<Schema>()): ReadonlySet<Schema> {
  for (const [, name = ''] of JSON.stringify(value).matchAll(/#\/components\/schemas\/(\w+)/g)) {
    const schema = schemas[name];
    if (schema !== undefined && !found.has(schema)) schemasIn(schema, schemas, found.add(schema));
  }
  return found;
}

/** Describes a bind target once. */
function withTargets(document: object): object {
  const one = JSON.stringify(TARGET_SCHEMA);
  const made = JSON.parse(JSON.stringify(document).replaceAll(one, '{"$ref":"#/components/schemas/Target"}'));
  made.components.schemas.Target = TARGET_SCHEMA;
  return made;
}

/** An answer has no example of its own: its schema has one of each field. */
function addExamples({ requestBody, responses }: Operation, schemas: Schemas): void {
  const sent = requestBody?.content?.['application/json'];
  if (sent?.schema !== undefined) sent.example = withoutNulls(exampleOf(sent.schema, schemas));
  for (const response of Object.values(responses)) if ('content' in response) describeTexts(response.content ?? {});
}

/**
 * Corrects media types: @nestjs/swagger gives each of them the schema of the JSON, but others hold a text or a batch.
 */
function describeTexts(content: Record<string, Media>): void {
  for (const [type, media] of Object.entries(content)) {
    if (type !== 'application/json' && media.schema !== undefined) media.schema = SCHEMAS_OF_TYPES[type] ?? TEXT;
  }
}

const TEXT = { type: 'string' };
const SCHEMAS_OF_TYPES: Readonly<Record<string, object>> = {
  'application/cloudevents-batch+json': { type: 'array', items: { $ref: '#/components/schemas/CloudEvent' } },
};

const withoutNulls = (example: unknown): unknown =>
  isJsonObject(example) ? Object.fromEntries(Object.entries(example).filter(([, value]) => value !== null)) : example;

/** Describes the response of each error status once. An operation names its problems if they are not all of them. */
function shareErrors(operations: readonly Operation[]): Record<string, object> {
  const shared: Record<string, object> = {};
  const statuses = new Set(operations.flatMap(({ responses }) => Object.keys(responses)));
  for (const status of [...statuses].filter((one) => Number(one) >= 300).sort()) {
    const having = operations.filter(({ responses }) => responses[status] !== undefined);
    const all = new Set(having.flatMap(({ responses }) => problemsOf(responses[status])));
    shared[status] =
      all.size > 0 ? problemResponse(Number(status), [...all].sort()) : (having[0]?.responses[status] ?? {});
    for (const { responses } of having) {
      const problems = problemsOf(responses[status]);
      const some = problems.length < all.size && { 'x-problems': [...problems].sort() };
      responses[status] = { $ref: `#/components/responses/${status}`, ...some };
    }
    Object.assign(shared, shareProblems(having, status));
  }
  return shared;
}

/** So many operations with the same problems of a status have a response of their own. */
const MIN_SHARING = 10;

function shareProblems(operations: readonly Operation[], status: string): Record<string, object> {
  const sets = operations.map(({ responses }) => problemsOf(responses[status]).join());
  const often = [...new Set(sets)].filter(
    (set) => set !== '' && sets.filter((one) => one === set).length >= MIN_SHARING,
  );
  return Object.fromEntries(
    often.map((set, n) => {
      const problems = set.split(',') as ProblemName[];
      const name = `${status}.${n + 1}`;
      operations.forEach(({ responses }, at) => {
        if (sets[at] === set) responses[status] = { $ref: `#/components/responses/${name}` };
      });
      return [name, { ...problemResponse(Number(status), problems), 'x-problems': problems }];
    }),
  );
}

const problemsOf = (response: Operation['responses'][string] | undefined): readonly ProblemName[] =>
  response !== undefined && 'x-problems' in response ? (response['x-problems'] ?? []) : [];

const shareSuccesses = (operations: readonly Operation[]): Record<string, object> =>
  share(
    'responses',
    operations.flatMap(({ responses }) => Object.entries(responses).map(([status]) => [responses, status] as const)),
    (status) => `success-${status}`,
  );

const shareParameters = (operations: readonly Operation[]): Record<string, object> =>
  share(
    'parameters',
    operations.flatMap(({ parameters }) => parameters.map((_, n) => [parameters, n] as const)),
    (_, { name }: { name?: string }) => String(name),
  );

/** Describes what several operations have once. A number tells two of the same name apart. */
function share<Place extends string | number>(
  kind: string,
  uses: readonly (readonly [Record<Place, object>, Place])[],
  nameOf: (place: Place, item: object) => string,
): Record<string, object> {
  const counts = new Map<string, number>();
  for (const [items, place] of uses) {
    const text = JSON.stringify(items[place]);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const [shared, names] = [new Map<string, object>(), new Map<string, string>()];
  for (const [items, place] of uses) {
    const [item, text] = [items[place], JSON.stringify(items[place])];
    if (counts.get(text) === 1 || '$ref' in item) continue;
    let name = names.get(text) ?? nameOf(place, item);
    for (let n = 2; !names.has(text) && shared.has(name); n += 1) name = `${nameOf(place, item)}.${n}`;
    shared.set(name, item);
    names.set(text, name);
    items[place] = { $ref: `#/components/${kind}/${name}` };
  }
  return Object.fromEntries(shared);
}

/** A field, a parameter, a response and a small schema stand in one line each, without blanks before them. */
const MAX_WIDTH = 1_600;

function printed(value: unknown): string {
  const line = JSON.stringify(value);
  if (typeof value !== 'object' || value === null || line.length <= MAX_WIDTH) return line;
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const items = Array.isArray(value)
    ? value.map(printed)
    : Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .map(([name, item]) => `${JSON.stringify(name)}: ${printed(item)}`);
  return `${open}\n${items.join(',\n')}\n${close}`;
}
