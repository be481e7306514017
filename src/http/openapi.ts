import type { ApiResponseOptions } from '@nestjs/swagger';
import type { IdPrefix } from '../ids.js';
import type { ProblemName } from '../problem.js';
import * as parts from './openapi-parts.js';

type Swagger = typeof import('@nestjs/swagger');

/**
 * What the decorators below say about the API, kept until the document is asked for: @nestjs/swagger takes a third of a
 * second to load, which no start should wait for.
 */
const declarations: ((swagger: Swagger) => void)[] = [];

/** Hands everything declared so far to @nestjs/swagger; the document can then be made. */
export function declareAll(swagger: Swagger): void {
  for (const declaration of declarations.splice(0)) declaration(swagger);
}

/** What a document says of one field. `type` is told by the field's own type where that is one word. */
export interface Field {
  readonly description: string;
  readonly example?: unknown;
  /** Of a body: whether it must be given. Every field of an answer is always there. */
  readonly required?: boolean;
  readonly type?: 'string' | 'integer' | 'boolean' | 'array' | 'object' | (new () => object);
  readonly nullable?: boolean;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly format?: 'uri' | 'date-time' | 'email';
  readonly minLength?: number;
  /** In characters. Never more than there are bytes, so a limit in bytes may stand here as well. */
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly items?: object;
  readonly 'x-max-bytes'?: number;
}

/** A field of an answer. The fields of bodies are documented by their checks: see validated-body.ts. */
export const Shown = (field: Field): PropertyDecorator => documented({ required: true, ...field });

export function documented({ example, enum: values, ...field }: Field): PropertyDecorator {
  const options = {
    ...field,
    ...(example !== undefined && { examples: [example] }),
    ...(values !== undefined && { enum: [...values] }),
  };
  return (target, key) => {
    declarations.push(({ ApiProperty }) => ApiProperty(options as object)(target, key));
  };
}

/** The name of a class in the document, where its own is taken by what it shows. */
export const ShownAs =
  (name: string): ClassDecorator =>
  (target) => {
    Reflect.defineMetadata(SCHEMA_NAME, name, target);
    declarations.push(({ ApiSchema }) => ApiSchema({ name })(target));
  };

const SCHEMA_NAME = 'openapi:schema-name';
const PREFIX = 'openapi:prefix';

/** The routes of a controller stand together under this name; `prefix` is that of the ids in their paths. */
export const Topic =
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
export const Creates = (resource: Resource, operation: Operation): MethodDecorator =>
  described(operation, {
    success: { status: 201, description: 'Created.', type: resource, headers: parts.CHANGED_HEADERS },
    problems: [...parts.CLOSED, ...parts.BODY, ...parts.FIELDS, 'idempotency_key_reused'],
    parameters: [parts.IDEMPOTENCY_KEY],
  });

/** GET of the newest things, page by page. */
export const Lists = (resource: Resource, plural: string, operation: Operation): MethodDecorator =>
  described(operation, {
    success: { status: 200, description: 'A page of them, newest first.', type: pageOf(resource, plural) },
    problems: [...parts.CLOSED, 'cursor_malformed', 'limit_out_of_range', 'limit_not_a_number'],
    parameters: [parts.LIMIT, parts.BEFORE_ID],
  });

/** GET of one thing. */
export const Gets = (resource: Resource, operation: Operation): MethodDecorator =>
  described(operation, {
    success: { status: 200, description: 'As it is now.', type: resource, headers: parts.VERSION_HEADERS },
    problems: parts.CLOSED,
    parameters: [parts.ID, parts.IF_NONE_MATCH],
    notModified: true,
  });

/** PATCH or PUT of one thing. */
export const Changes = (resource: Resource, operation: Operation): MethodDecorator =>
  described(operation, {
    success: { status: 200, description: 'As it is now.', type: resource, headers: parts.CHANGED_HEADERS },
    problems: [...parts.CLOSED, ...parts.BODY, ...parts.FIELDS, 'idempotency_key_reused', 'precondition_failed'],
    parameters: [parts.ID, parts.IDEMPOTENCY_KEY, parts.IF_MATCH],
  });

/** DELETE of one thing. */
export const Deletes = (operation: Operation): MethodDecorator =>
  described(operation, {
    success: { status: 204, description: 'It is gone.', headers: parts.DELETED_HEADERS },
    problems: [...parts.CLOSED, ...parts.BODY, 'idempotency_key_reused', 'precondition_failed'],
    parameters: [parts.ID, parts.IDEMPOTENCY_KEY, parts.IF_MATCH],
  });

/** GET of what is no resource and open to everyone. */
export const Serves = (contentType: string, operation: Operation): MethodDecorator =>
  described(operation, {
    success: { status: 200, description: 'As it is.', content: { [contentType]: {} }, headers: parts.HEADERS },
    problems: parts.OPEN,
    parameters: [],
    isPublic: true,
  });

interface Kind {
  readonly success: ApiResponseOptions;
  readonly problems: readonly ProblemName[];
  readonly parameters: readonly parts.ParameterOf[];
  readonly notModified?: boolean;
  readonly isPublic?: boolean;
}

function described({ id, summary, description, problems = [] }: Operation, kind: Kind): MethodDecorator {
  return (target, key, descriptor) => {
    declarations.push((swagger) => {
      const prefix: IdPrefix | undefined = Reflect.getMetadata(PREFIX, target.constructor);
      const decorators = [
        swagger.ApiOperation({ operationId: id, summary, ...(description !== undefined && { description }) }),
        swagger.ApiResponse({ headers: parts.HEADERS, ...kind.success }),
        ...(kind.notModified === true ? [swagger.ApiResponse(parts.NOT_MODIFIED)] : []),
        ...parts.problemResponses([...kind.problems, ...problems]).map((options) => swagger.ApiResponse(options)),
        ...kind.parameters.map((parameterOf) => parameterOf(swagger, prefix)),
        ...(kind.isPublic === true ? [swagger.ApiSecurity({})] : [swagger.ApiBearerAuth(parts.SECURITY)]),
      ];
      for (const decorate of decorators) decorate(target, key, descriptor);
    });
  };
}

/** The class of a list's envelope: see page.ts. */
function pageOf(resource: Resource, plural: string): Resource {
  class Page {}
  const item: string = Reflect.getMetadata(SCHEMA_NAME, resource) ?? resource.name;
  ShownAs(`${item}List`)(Page);
  const { LIST, URI_OF_LIST, NEXT_PAGE_URI } = parts;
  declarations.push(({ ApiProperty }) => ApiProperty({ ...LIST, type: [resource] })(Page.prototype, plural));
  Shown(URI_OF_LIST)(Page.prototype, 'uri');
  Shown(NEXT_PAGE_URI)(Page.prototype, 'next_page_uri');
  return Page;
}
