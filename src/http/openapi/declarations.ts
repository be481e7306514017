import type { ApiResponseOptions } from '@nestjs/swagger';
import type { IdPrefix } from '../../ids.js';
import type { ProblemName } from '../../problem.js';
import type { ParameterOf, Providers, Swagger } from './parts.js';
import { problemResponses } from './problem-responses.js';
import { HEADERS, NOT_MODIFIED } from './response-headers.js';

type Declaration = (swagger: Swagger, providers: Providers) => void;

/**
 * The declarations of the API's decorators, kept until a client asks for the document: @nestjs/swagger takes a third of
 * a second to load, and no start should wait for it.
 */
const declarations: Declaration[] = [];

export function deferDeclaration(declaration: Declaration): void {
  declarations.push(declaration);
}

/** Passes all deferred declarations to @nestjs/swagger, which can then make the document. */
export function applyDeclarations(swagger: Swagger, providers: Providers): void {
  for (const declaration of declarations.splice(0)) declaration(swagger, providers);
}

/** The documentation of one field. `type` may be absent if the field's TypeScript type is string, number or boolean. */
export interface Field {
  readonly description: string;
  readonly example?: unknown;
  /** Whether a body must have the field. An answer always has all of its fields. */
  readonly required?: boolean;
  readonly type?: 'string' | 'integer' | 'boolean' | 'array' | 'object' | (new () => object);
  /** For a list: the class of its items. */
  readonly listOf?: new () => object;
  readonly nullable?: boolean;
  /** Replaces `type` for a field of several types. */
  readonly oneOf?: readonly object[];
  /** For an object: whether it may have any fields. */
  readonly additionalProperties?: boolean;
  readonly enum?: readonly string[] | ((providers: Providers) => readonly string[]);
  readonly pattern?: string;
  readonly format?: 'uri' | 'date-time' | 'email';
  readonly minLength?: number;
  /** In characters. A limit in bytes fits here as well: a text never has more characters than bytes. */
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly items?: object;
  readonly 'x-max-bytes'?: number;
}

export function documentField({ example, enum: values, listOf, ...field }: Field): PropertyDecorator {
  const options = {
    ...field,
    ...(listOf !== undefined && { type: [listOf] }),
    ...(example !== undefined && { examples: [example] }),
  };
  return (target, key) => {
    deferDeclaration(({ ApiProperty }, providers) => {
      const allowed = typeof values === 'function' ? values(providers) : values;
      ApiProperty({ ...options, ...(allowed !== undefined && { enum: [...allowed] }) } as object)(target, key);
    });
  };
}

/** The documentation of one route. */
export interface Operation {
  /** Its name in generated clients, unique in the API. */
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** Its problems beyond those of every route of its kind. */
  readonly problems?: readonly ProblemName[];
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
  { id, summary, description, problems = [] }: Operation,
  kind: OperationKind,
): MethodDecorator {
  return (target, key, descriptor) => {
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
