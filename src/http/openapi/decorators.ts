import type { ApiResponseOptions } from '@nestjs/swagger';
import type { IdPrefix } from '../../ids.js';
import type { ProblemName } from '../../problem.js';
import {
  AFTER,
  AS_OF,
  BEFORE_ID,
  BODY,
  CHANGED_HEADERS,
  CLOSED,
  DELETED_HEADERS,
  EVENT_LIMIT,
  FIELDS,
  FOR_GATEWAYS,
  HEADERS,
  ID,
  IDEMPOTENCY_KEY,
  IF_MATCH,
  IF_NONE_MATCH,
  LAST_EVENT_ID,
  LIMIT,
  LIST,
  NEXT_PAGE_URI,
  NOT_MODIFIED,
  OPEN,
  type ParameterOf,
  type Providers,
  problemResponses,
  uriOfList,
  VERSION_HEADERS,
} from './parts.js';

type Swagger = typeof import('@nestjs/swagger');

/**
 * What the decorators below say about the API, kept until the document is asked for: @nestjs/swagger takes a third of a
 * second to load, which no start should wait for.
 */
const declarations: ((swagger: Swagger, providers: Providers) => void)[] = [];

/** Hands everything declared so far to @nestjs/swagger; the document can then be made. */
export function declareAll(swagger: Swagger, providers: Providers): void {
  for (const declaration of declarations.splice(0)) declaration(swagger, providers);
}

/** What a document says of one field. `type` is told by the field's own type where that is one word. */
export interface Field {
  readonly description: string;
  readonly example?: unknown;
  /** Of a body: whether it must be given. Every field of an answer is always there. */
  readonly required?: boolean;
  readonly type?: 'string' | 'integer' | 'boolean' | 'array' | 'object' | (new () => object);
  /** A list of these. */
  readonly listOf?: new () => object;
  readonly nullable?: boolean;
  /** In place of `type`, for what may be of several. */
  readonly oneOf?: readonly object[];
  /** Of an object: whether it may have any fields. */
  readonly additionalProperties?: boolean;
  readonly enum?: readonly string[] | ((providers: Providers) => readonly string[]);
  readonly pattern?: string;
  readonly format?: 'uri' | 'date-time' | 'email';
  readonly minLength?: number;
  /** In characters. Never more than there are bytes, so a limit in bytes may stand here as well. */
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly items?: object;
  readonly 'x-max-bytes'?: number;
}

/** For a field that holds whatever a thing's fields may hold. */
export const ANYTHING = [
  { type: ['string', 'number', 'boolean', 'null'] },
  { type: 'array', items: {} },
  { type: 'object', additionalProperties: true },
] as const;

/** A field of an answer. The fields of bodies are documented by their checks: see validated-body.ts. */
export const ApiField = (field: Field): PropertyDecorator => documented({ required: true, ...field });

export function documented({ example, enum: values, listOf, ...field }: Field): PropertyDecorator {
  const options = {
    ...field,
    ...(listOf !== undefined && { type: [listOf] }),
    ...(example !== undefined && { examples: [example] }),
  };
  return (target, key) => {
    declarations.push(({ ApiProperty }, providers) => {
      const allowed = typeof values === 'function' ? values(providers) : values;
      ApiProperty({ ...options, ...(allowed !== undefined && { enum: [...allowed] }) } as object)(target, key);
    });
  };
}

/** The name of a class in the document, where its own is taken by what it shows. */
export const ApiSchemaName =
  (name: string): ClassDecorator =>
  (target) => {
    Reflect.defineMetadata(SCHEMA_NAME, name, target);
    declarations.push(({ ApiSchema }) => ApiSchema({ name })(target));
  };

const SCHEMA_NAME = 'openapi:schema-name';
const PREFIX = 'openapi:prefix';

/** The routes of a controller stand together under this name; `prefix` is that of the ids in their paths. */
export const ApiTag =
  (name: string, prefix?: IdPrefix): ClassDecorator =>
  (target) => {
    Reflect.defineMetadata(PREFIX, prefix, target);
    declarations.push(({ ApiTags }) => ApiTags(name)(target));
  };

/** What a route says of itself. */
export interface Operation {
  /** Its name in generated clients, unique in the API. */
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** What it refuses beyond what every route of its kind does. */
  readonly problems?: readonly ProblemName[];
}

type Resource = new () => object;

/** POST of a new thing. */
export const ApiCreate = (resource: Resource, operation: Operation): MethodDecorator =>
  described(operation, {
    success: { status: 201, description: 'Created.', type: resource, headers: CHANGED_HEADERS },
    problems: [...CLOSED, ...BODY, ...FIELDS, 'idempotency_key_reused'],
    parameters: [IDEMPOTENCY_KEY],
  });

/** GET of the newest things, page by page. */
export const ApiList = (
  resource: Resource,
  path: string,
  {
    plural = path,
    parameters = [AS_OF],
    ...operation
  }: Operation & { readonly plural?: string; readonly parameters?: readonly ParameterOf[] },
): MethodDecorator =>
  described(operation, {
    success: { status: 200, description: 'A page of them, newest first.', type: pageOf(resource, plural, path) },
    problems: [...CLOSED, 'cursor_malformed', 'limit_out_of_range', 'limit_not_a_number'],
    parameters: [LIMIT, BEFORE_ID, ...parameters],
  });

/** GET of one thing. */
export const ApiGet = (resource: Resource, operation: Operation): MethodDecorator =>
  described(operation, {
    success: {
      status: 200,
      description: 'As it is, or was at the moment of `as_of`.',
      type: resource,
      headers: VERSION_HEADERS,
    },
    problems: CLOSED,
    parameters: [ID, IF_NONE_MATCH, AS_OF],
    notModified: true,
  });

/** GET of what belongs to a thing but has no version of its own. */
export const ApiGetPart = (shown: Resource, operation: Operation): MethodDecorator =>
  described(operation, {
    success: { status: 200, description: 'As it is now.', type: shown },
    problems: CLOSED,
    parameters: [ID],
  });

/** GET of a thing's history. */
export const ApiHistory = (history: Resource, operation: Operation): MethodDecorator =>
  described(operation, {
    success: { status: 200, description: 'A page of it, oldest first.', type: history },
    problems: [...CLOSED, 'cursor_malformed', 'limit_out_of_range', 'limit_not_a_number'],
    parameters: [ID, AFTER, EVENT_LIMIT, AS_OF],
  });

/** GET of events, which have forms beside a page of JSON. */
export const ApiFeed = (
  page: Resource,
  otherTypes: readonly string[],
  { parameters, ...operation }: Operation & { readonly parameters: readonly ParameterOf[] },
): MethodDecorator =>
  described(operation, {
    success: { status: 200, description: 'What there is.', type: page, headers: HEADERS },
    otherTypes,
    problems: [...CLOSED, 'cursor_malformed', 'limit_out_of_range', 'limit_not_a_number'],
    parameters: [...parameters, LAST_EVENT_ID],
  });

/** PATCH or PUT of one thing. */
export const ApiUpdate = (resource: Resource, operation: Operation): MethodDecorator =>
  described(operation, {
    success: { status: 200, description: 'As it is now.', type: resource, headers: CHANGED_HEADERS },
    problems: [...CLOSED, ...BODY, ...FIELDS, 'idempotency_key_reused', 'precondition_failed'],
    parameters: [ID, IDEMPOTENCY_KEY, IF_MATCH],
  });

/** DELETE of one thing. */
export const ApiDelete = (operation: Operation): MethodDecorator =>
  described(operation, {
    success: { status: 204, description: 'It is gone.', headers: DELETED_HEADERS },
    problems: [...CLOSED, ...BODY, 'idempotency_key_reused', 'precondition_failed'],
    parameters: [ID, IDEMPOTENCY_KEY, IF_MATCH],
  });

/** GET of what is no resource and open to everyone. */
export const ApiPublicFile = (
  contentType: string,
  operation: Operation,
  ...parameters: ParameterOf[]
): MethodDecorator =>
  described(operation, {
    success: { status: 200, description: 'As it is.', content: { [contentType]: {} }, headers: HEADERS },
    problems: OPEN,
    parameters,
    security: 'nobody',
  });

/** A question of a gateway. `parameters` are those of a GET; `body` is the schema of a body that is no object of fields. */
export const ApiGatewayAnswer = (
  answer: GatewayAnswer,
  {
    parameters,
    body,
    ...operation
  }: Operation & { readonly parameters?: readonly ParameterOf[]; readonly body?: object },
): MethodDecorator =>
  described(operation, {
    success: { status: 200, description: 'The answer.', ...contentOf(answer) },
    problems: [...FOR_GATEWAYS, ...(parameters === undefined ? [...BODY, ...FIELDS] : [])],
    parameters: parameters ?? [],
    security: 'gateway',
    ...(body !== undefined && { body }),
    ...('anyOf' in answer && { models: answer.anyOf }),
  });

/** An object of one class, or of one of several, or what is no JSON. */
type GatewayAnswer = Resource | { readonly contentType: string } | { readonly anyOf: readonly Resource[] };

function contentOf(answer: GatewayAnswer): object {
  if ('contentType' in answer) return { content: { [answer.contentType]: {} } };
  if ('anyOf' in answer) return { schema: { anyOf: answer.anyOf.map((one) => ({ $ref: schemaRef(one) })) } };
  return { type: answer };
}

/** Where the document has what this class shows. */
export const schemaRef = (shown: Resource): string =>
  `#/components/schemas/${Reflect.getMetadata(SCHEMA_NAME, shown) ?? shown.name}`;

interface Kind {
  readonly success: ApiResponseOptions;
  readonly problems: readonly ProblemName[];
  readonly parameters: readonly ParameterOf[];
  /** Of the answer, beside JSON. */
  readonly otherTypes?: readonly string[];
  readonly notModified?: boolean;
  /** Who may call, when it is not whoever has an API key. */
  readonly security?: 'nobody' | 'gateway';
  readonly body?: object;
  /** Classes that are only referred to. */
  readonly models?: readonly Resource[];
}

/** Security requirements: an empty one is met by everyone. */
const SECURITY = { nobody: {}, gateway: { gateway: [] } };

function described({ id, summary, description, problems = [] }: Operation, kind: Kind): MethodDecorator {
  return (target, key, descriptor) => {
    declarations.push((swagger, providers) => {
      const prefix: IdPrefix | undefined = Reflect.getMetadata(PREFIX, target.constructor);
      const decorators = [
        swagger.ApiOperation({ operationId: id, summary, ...(description !== undefined && { description }) }),
        swagger.ApiResponse({ headers: HEADERS, ...kind.success }),
        ...(kind.otherTypes === undefined ? [] : [swagger.ApiProduces('application/json', ...kind.otherTypes)]),
        ...(kind.notModified === true ? [swagger.ApiResponse(NOT_MODIFIED)] : []),
        ...problemResponses([...kind.problems, ...problems]).map((options) => swagger.ApiResponse(options)),
        ...kind.parameters.map((parameterOf) => parameterOf(swagger, prefix, providers)),
        ...(kind.security === undefined ? [] : [swagger.ApiSecurity(SECURITY[kind.security])]),
        ...(kind.body === undefined ? [] : [swagger.ApiBody({ schema: kind.body })]),
        ...(kind.models === undefined ? [] : [swagger.ApiExtraModels(...kind.models)]),
      ];
      for (const decorate of decorators) decorate(target, key, descriptor);
    });
  };
}

/** The class of a list's envelope: see page.ts. */
function pageOf(resource: Resource, plural: string, path: string): Resource {
  class Page {}
  ApiSchemaName(`${schemaRef(resource).split('/').at(-1)}List`)(Page);
  ApiField({ ...LIST, listOf: resource })(Page.prototype, plural);
  ApiField(uriOfList(path))(Page.prototype, 'uri');
  ApiField(NEXT_PAGE_URI)(Page.prototype, 'next_page_uri');
  return Page;
}
