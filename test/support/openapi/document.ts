import { STATUS_CODES } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import * as swagger from '@nestjs/swagger';
import { applyDeclarations } from '../../../src/api/http/documentation.js';
import { ERROR_SCHEMA } from '../../../src/api/http/openapi/problem-responses.js';
import { HEADER_DEFINITIONS } from '../../../src/api/http/openapi/response-headers.js';
import { isJsonObject } from '../../../src/kernel/json-object.js';
import { exampleOf, type Schema, type Schemas } from './examples.js';
import { PROBLEM_BODIES } from './problem-examples.js';

/** The version of package.json; a test compares them. */
const VERSION = '0.1.0';

const DESCRIPTION = `Controls who may open tunnels: SSH credentials and TCP edges, compatible with the public ngrok API.

In a body, null counts as absent, and an undocumented field is refused. A resource in an answer has all of its fields.
The body of every error is an \`Error\`. \`x-max-bytes\` is a limit in bytes, since a schema can only count characters.`;

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
  return `${JSON.stringify(finish(SwaggerModule.createDocument(nest, base)), null, 2)}\n`;
}

interface Media {
  schema?: Schema;
  example?: unknown;
  examples?: unknown;
}

interface Body {
  content?: Record<string, Media>;
}

interface Operation {
  operationId?: string;
  tags?: string[];
  requestBody?: Body;
  responses: Record<string, Body | { $ref: string }>;
}

/** Completes the document of @nestjs/swagger: closes objects, shares responses, adds whole examples. */
function finish(document: swagger.OpenAPIObject): object {
  const schemas = { ...document.components?.schemas, Error: ERROR_SCHEMA } as unknown as Schemas;
  for (const schema of Object.values(schemas)) schema.additionalProperties = false;
  const paths = document.paths as unknown as Record<string, Record<string, Operation>>;
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  for (const operation of operations) addExamples(operation, schemas);
  const responses = shareResponses(operations);
  const tags = [...new Set(operations.flatMap((operation) => operation.tags ?? []))].map((name) => ({ name }));
  const components = { schemas, responses, headers: HEADER_DEFINITIONS, examples: PROBLEM_BODIES };
  return { ...document, tags, components: { ...document.components, ...components } };
}

function addExamples({ requestBody, responses }: Operation, schemas: Schemas): void {
  const sent = requestBody?.content?.['application/json'];
  if (sent?.schema !== undefined) sent.example = withoutNulls(exampleOf(sent.schema, schemas));
  for (const response of Object.values(responses)) {
    if ('content' in response) describeTexts(response.content ?? {});
    const answered = 'content' in response ? response.content?.['application/json'] : undefined;
    if (answered?.schema === undefined || answered.examples !== undefined) continue;
    answered.example = exampleOf(answered.schema, schemas);
  }
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

/** Moves a response to the components if it is the same in all operations with its status, and refers to it there. */
function shareResponses(operations: readonly Operation[]): Record<string, object> {
  const shared: Record<string, object> = {};
  const statuses = new Set(operations.flatMap(({ responses }) => Object.keys(responses)));
  for (const status of [...statuses].filter((one) => Number(one) >= 300).sort()) {
    const same = operations.filter(({ responses }) => responses[status] !== undefined);
    const [first, ...others] = new Set(same.map(({ responses }) => JSON.stringify(responses[status])));
    if (first === undefined || others.length > 0) continue;
    const name = (STATUS_CODES[status] ?? status).replace(/[^A-Za-z]/g, '');
    shared[name] = JSON.parse(first);
    for (const { responses } of same) responses[status] = { $ref: `#/components/responses/${name}` };
  }
  return shared;
}
