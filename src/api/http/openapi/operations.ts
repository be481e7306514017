import type { ApiResponseOptions } from '@nestjs/swagger';
import type { IdPrefix } from '../../../kernel/ids.js';
import type { ProblemName } from '../../../kernel/problem.js';
import { deferDeclaration, documentedFieldsOf, RouteConfig } from '../documentation.js';
import type { ParameterOf } from './parts.js';
import { problemResponses } from './problem-responses.js';
import { HEADERS, NOT_MODIFIED } from './response-headers.js';

/** The documentation of one route. */
export interface Operation {
  /** Its name in generated clients, unique in the API. */
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** Its problems beyond those of every route of its kind. */
  readonly problems?: readonly ProblemName[];
  /** It refuses unknown query parameters. A route of the public API ignores them, as its clients expect. */
  readonly refusesUnknownParameters?: boolean;
}

/** The documentation that routes of one kind share, for example all routes that create a resource. */
interface OperationKind {
  readonly success: ApiResponseOptions;
  readonly problems: readonly ProblemName[];
  readonly parameters: readonly ParameterOf[];
  /** Media types of the answer besides JSON. */
  readonly otherTypes?: readonly string[];
  readonly notModified?: boolean;
  /** Absent: the route needs an API key. */
  readonly security?: 'public' | 'gateway';
  readonly body?: object;
  /** For a list: the class of its items, and the class of the body that creates an item. */
  readonly items?: readonly (new () => object)[];
  /** Classes that the schemas refer to only by name. */
  readonly models?: readonly (new () => object)[];
}

/** Security requirements. A request without credentials meets the empty one. */
const SECURITY = { public: {}, gateway: { gateway: [] } };

const PREFIX = 'openapi:prefix';

/** Sets the prefix of the ids in the paths of a controller. */
export const setIdPrefix = (controller: object, prefix: IdPrefix | undefined): void =>
  Reflect.defineMetadata(PREFIX, prefix, controller);

export function documentOperation(
  { id, summary, description, problems = [], refusesUnknownParameters = false }: Operation,
  kind: OperationKind,
): MethodDecorator {
  const query = {
    parameters: kind.parameters.flatMap(({ query }) => query ?? []),
    refusesUnknown: refusesUnknownParameters,
    ...(kind.items !== undefined && { itemFields: new Set(kind.items.flatMap(documentedFieldsOf)) }),
  };
  return (target, key, descriptor: PropertyDescriptor) => {
    RouteConfig({ query })(target, key, descriptor);
    deferDeclaration((swagger, providers) => {
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
