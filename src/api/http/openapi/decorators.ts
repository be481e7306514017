import type { IdPrefix } from '../../../kernel/ids.js';
import type { ProblemName } from '../../../kernel/problem.js';
import { deferDeclaration, documentField, type Field } from '../documentation.js';
import { documentOperation, type Operation, setIdPrefix } from './operations.js';
import {
  AFTER,
  AS_OF,
  BEFORE_ID,
  EVENT_LIMIT,
  ID,
  IDEMPOTENCY_KEY,
  IF_MATCH,
  IF_NONE_MATCH,
  LAST_EVENT_ID,
  LIMIT,
  LIST,
  NEXT_PAGE_URI,
  type ParameterOf,
  URI_OF_LIST,
} from './parts.js';
import {
  API_KEY_PROBLEMS,
  BODY_PROBLEMS,
  FIELD_PROBLEMS,
  GATEWAY_PROBLEMS,
  PUBLIC_PROBLEMS,
} from './problem-responses.js';
import {
  CHANGED_HEADERS,
  DELETED_HEADERS,
  FEED_HEADERS,
  HEADERS,
  headerRefs,
  REDIRECT_HEADERS,
  UNVERSIONED_HEADERS,
  VERSION_HEADERS,
} from './response-headers.js';

/** Schemas of a field that may hold any JSON value. */
export const ANYTHING = [
  { type: ['string', 'number', 'boolean', 'null'] },
  { type: 'array', items: {} },
  { type: 'object', additionalProperties: true },
] as const;

/** Documents a field of an answer. The decorators of validated-body.ts document the fields of bodies. */
export const ApiField = (field: Field): PropertyDecorator => documentField({ required: true, ...field });

const SCHEMA_NAME = 'openapi:schema-name';

/** Names the schema of a class where the class has another name. */
export const ApiSchemaName =
  (name: string): ClassDecorator =>
  (target) => {
    Reflect.defineMetadata(SCHEMA_NAME, name, target);
    deferDeclaration(({ ApiSchema }) => ApiSchema({ name })(target));
  };

/** Groups the routes of a controller under this name; `prefix`: the prefix of the ids in their paths. */
export const ApiTag =
  (name: string, prefix?: IdPrefix): ClassDecorator =>
  (target) => {
    setIdPrefix(target, prefix);
    deferDeclaration(({ ApiTags }) => ApiTags(name)(target));
  };

type ResourceClass = new () => object;
type ResponseHeaders = ReturnType<typeof headerRefs> | typeof UNVERSIONED_HEADERS;

/** POST that creates a resource. */
export const ApiCreate = (
  resource: ResourceClass,
  { parameters = [], ...operation }: Operation & { readonly parameters?: readonly ParameterOf[] },
): MethodDecorator =>
  documentOperation(operation, {
    success: { status: 201, description: 'Created.', type: resource, headers: CHANGED_HEADERS },
    problems: [...API_KEY_PROBLEMS, ...BODY_PROBLEMS, ...FIELD_PROBLEMS, 'role_missing', 'idempotency_key_reused'],
    parameters: [...parameters, IDEMPOTENCY_KEY],
  });

/** GET of a page of resources, newest first. */
export const ApiList = (
  resource: ResourceClass,
  path: string,
  {
    listKey = path,
    parameters = [AS_OF],
    creation = [],
    ...operation
  }: Operation & {
    /** Key of the items in the answer. Absent: the path. */
    readonly listKey?: string;
    readonly parameters?: readonly ParameterOf[];
    /** The class of the body that creates an item. */
    readonly creation?: readonly ResourceClass[];
  },
): MethodDecorator =>
  documentOperation(operation, {
    success: {
      status: 200,
      description: 'A page of the list, newest first.',
      type: pageClassOf(resource, listKey),
    },
    problems: [...API_KEY_PROBLEMS, 'cursor_malformed', 'limit_out_of_range', 'limit_not_a_number', 'event_unreadable'],
    parameters: [LIMIT, BEFORE_ID, ...parameters],
    items: [resource, ...creation],
  });

/** GET of one resource. */
export const ApiGet = (
  resource: ResourceClass,
  {
    parameters = [],
    headers = VERSION_HEADERS,
    ...operation
  }: Operation & { readonly parameters?: readonly ParameterOf[]; readonly headers?: ResponseHeaders },
): MethodDecorator =>
  documentOperation(operation, {
    success: {
      status: 200,
      description: 'The resource, now or as of `as_of`.',
      type: resource,
      headers,
    },
    problems: [...API_KEY_PROBLEMS, 'event_unreadable'],
    parameters: [ID, IF_NONE_MATCH, AS_OF, ...parameters],
    notModified: true,
  });

/** GET of a part of a resource that has no version of its own. */
export const ApiGetPart = (part: ResourceClass, operation: Operation): MethodDecorator =>
  documentOperation(operation, {
    success: { status: 200, description: 'The current state.', type: part },
    problems: API_KEY_PROBLEMS,
    parameters: [ID],
  });

/** GET of the history of a resource: `name` as in the ids of its operations, `what` as in "Get the history of a user". */
export const ApiHistory = (
  history: ResourceClass,
  name: string,
  what: string,
  notFound: ProblemName = 'not_found',
): MethodDecorator =>
  documentOperation(
    {
      id: `get${name}History`,
      summary: `Get the history of ${what}`,
      problems: [notFound, 'role_missing'],
      refusesUnknownParameters: true,
    },
    {
      success: { status: 200, description: 'A page of the history, oldest first.', type: history },
      problems: [
        ...API_KEY_PROBLEMS,
        'cursor_malformed',
        'limit_out_of_range',
        'limit_not_a_number',
        'event_unreadable',
      ],
      parameters: [ID, AFTER, EVENT_LIMIT, AS_OF],
    },
  );

/** GET of events, as a page of JSON or as one of `otherTypes`. */
export const ApiFeed = (
  page: ResourceClass,
  otherTypes: readonly string[],
  { parameters, ...operation }: Operation & { readonly parameters: readonly ParameterOf[] },
): MethodDecorator =>
  documentOperation(operation, {
    success: { status: 200, description: 'The events, oldest first.', type: page, headers: FEED_HEADERS },
    otherTypes,
    problems: [...API_KEY_PROBLEMS, 'cursor_malformed', 'limit_out_of_range', 'limit_not_a_number', 'event_unreadable'],
    parameters: [...parameters, LAST_EVENT_ID],
  });

/** PATCH or PUT of one resource. */
export const ApiUpdate = (resource: ResourceClass, operation: Operation): MethodDecorator =>
  documentOperation(operation, {
    success: { status: 200, description: 'The updated resource.', type: resource, headers: CHANGED_HEADERS },
    problems: [
      ...API_KEY_PROBLEMS,
      ...BODY_PROBLEMS,
      ...FIELD_PROBLEMS,
      'role_missing',
      'idempotency_key_reused',
      'precondition_failed',
    ],
    parameters: [ID, IDEMPOTENCY_KEY, IF_MATCH],
  });

/** DELETE of one resource. */
export const ApiDelete = (operation: Operation): MethodDecorator =>
  documentOperation(operation, {
    success: { status: 204, description: 'Deleted.', headers: DELETED_HEADERS },
    problems: [...API_KEY_PROBLEMS, ...BODY_PROBLEMS, 'role_missing', 'idempotency_key_reused', 'precondition_failed'],
    parameters: [ID, IDEMPOTENCY_KEY, IF_MATCH],
  });

/** POST that acts on a resource, with an empty answer. */
export const ApiAct = (operation: Operation): MethodDecorator =>
  documentOperation(operation, {
    success: { status: 204, description: 'Done.', headers: DELETED_HEADERS },
    problems: [...API_KEY_PROBLEMS, 'role_missing', 'idempotency_key_reused', 'precondition_failed'],
    parameters: [ID, IDEMPOTENCY_KEY, IF_MATCH],
  });

/** What whoever asks gets: a file of a content type, or an answer. */
export const ApiPublic = (what: string | AnswerType, operation: Operation, ...parameters: ParameterOf[]) => {
  const content = typeof what === 'string' ? { content: { [what]: {} } } : contentOf(what);
  const success = { status: 200, description: 'The answer.', ...content, headers: HEADERS };
  return documentOperation(operation, { success, problems: PUBLIC_PROBLEMS, parameters, security: 'public' });
};

/** GET of a public page that is elsewhere. */
export const ApiRedirect = (operation: Operation): MethodDecorator =>
  documentOperation(operation, {
    success: { status: 302, description: 'It is elsewhere.', headers: REDIRECT_HEADERS },
    problems: PUBLIC_PROBLEMS,
    parameters: [],
    security: 'public',
  });

/** POST that asks and changes nothing, for every caller of the account. */
export const ApiCheck = (
  answer: AnswerType,
  { parameters = [], ...operation }: Operation & { readonly parameters?: readonly ParameterOf[] },
): MethodDecorator =>
  documentOperation(operation, {
    success: { status: 200, description: 'The answer.', ...contentOf(answer) },
    problems: [...API_KEY_PROBLEMS, ...BODY_PROBLEMS, ...FIELD_PROBLEMS],
    parameters,
    ...('anyOf' in answer && { models: answer.anyOf }),
  });

/** GET of an answer about the caller's account that is not a resource. */
export const ApiAccountAnswer = (
  answer: AnswerType,
  operation: Operation,
  ...parameters: ParameterOf[]
): MethodDecorator =>
  documentOperation(operation, {
    success: { status: 200, description: 'The answer.', ...contentOf(answer) },
    problems: API_KEY_PROBLEMS,
    parameters,
  });

/** A request of a gateway. `parameters` are those of a GET; `body` is the schema of a body that is not an object. */
export const ApiGatewayAnswer = (
  answer: AnswerType,
  {
    parameters,
    body,
    ...operation
  }: Operation & { readonly parameters?: readonly ParameterOf[]; readonly body?: object },
): MethodDecorator =>
  documentOperation(operation, {
    success: { status: 200, description: 'The answer.', ...contentOf(answer) },
    problems: [...GATEWAY_PROBLEMS, ...(parameters === undefined ? [...BODY_PROBLEMS, ...FIELD_PROBLEMS] : [])],
    parameters: parameters ?? [],
    security: 'gateway',
    ...(body !== undefined && { body }),
    ...('anyOf' in answer && { models: answer.anyOf }),
  });

/** An object of one class, an object of one of several classes, or another media type than JSON. */
type AnswerType = ResourceClass | { readonly contentType: string } | { readonly anyOf: readonly ResourceClass[] };

function contentOf(answer: AnswerType): object {
  if ('contentType' in answer) return { content: { [answer.contentType]: {} } };
  if ('anyOf' in answer)
    return { schema: { anyOf: answer.anyOf.map((one) => ({ $ref: `${SCHEMAS}${nameOf(one)}` })) } };
  return { type: answer };
}

const SCHEMAS = '#/components/schemas/';

/** The name of a class's schema in the document. */
const nameOf = (schemaClass: ResourceClass): string =>
  Reflect.getMetadata(SCHEMA_NAME, schemaClass) ?? schemaClass.name;

/** The class of the body of a list: see pages.ts. */
function pageClassOf(resource: ResourceClass, listKey: string): ResourceClass {
  class Page {}
  ApiSchemaName(`${nameOf(resource)}List`)(Page);
  ApiField({ ...LIST, listOf: resource })(Page.prototype, listKey);
  ApiField(URI_OF_LIST)(Page.prototype, 'uri');
  ApiField(NEXT_PAGE_URI)(Page.prototype, 'next_page_uri');
  return Page;
}
