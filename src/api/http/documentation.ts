import type { INestApplicationContext } from '@nestjs/common';
// biome-ignore lint/style/noRestrictedImports: the one place that calls it.
import { RouteConfig as FastifyRouteConfig } from '@nestjs/platform-fastify';
import type { FastifyContextConfig } from 'fastify';

/** Documentation beside the code that it describes. A test makes openapi.json of it. */

export type Swagger = typeof import('@nestjs/swagger');
/** The providers of the running application, for values that only the wiring knows. */
export type Providers = Pick<INestApplicationContext, 'get'>;

type Declaration = (swagger: Swagger, providers: Providers) => void;

/**
 * The declarations of the API's decorators, kept for the test that makes the document: the service itself needs
 * @nestjs/swagger for its types only.
 */
const declarations: Declaration[] = [];

export function deferDeclaration(declaration: Declaration): void {
  declarations.push(declaration);
}

/** Passes all deferred declarations to @nestjs/swagger, which can then make the document. */
export function applyDeclarations(swagger: Swagger, providers: Providers): void {
  for (const declaration of declarations.splice(0)) declaration(swagger, providers);
}

/**
 * The query parameters that a route takes: its documentation declares them, and hooks/check-query.ts holds requests to
 * them.
 */
export interface QueryOfRoute {
  readonly parameters: readonly QueryParameter[];
  /** The route refuses unknown parameters. Otherwise it ignores them, except in strict mode. */
  readonly refusesUnknown: boolean;
  /** For a list: the fields of its items. A caller who sends one as a parameter believes that it filters. */
  readonly itemFields?: ReadonlySet<string>;
}

export interface QueryParameter {
  /** The documented one first. */
  readonly spellings: readonly string[];
  /** An empty value counts as an absent one. */
  readonly mayBeEmpty: boolean;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Absent: the route takes no query parameters. */
    query?: QueryOfRoute;
  }
}

const routeConfigs = new WeakMap<object, FastifyContextConfig>();

/**
 * Decorator: adds to what the hooks of requests know of a route. Fastify's own decorator would replace what others
 * declared.
 */
export const RouteConfig =
  (config: FastifyContextConfig): MethodDecorator =>
  (target, key, descriptor) => {
    const handler = descriptor.value as object;
    const all = { ...routeConfigs.get(handler), ...config };
    routeConfigs.set(handler, all);
    FastifyRouteConfig(all)(target, key, descriptor);
  };

/** The documentation of one field. `type` may be absent if the field's TypeScript type is string, number or boolean. */
export interface Field {
  readonly description: string;
  readonly example?: unknown;
  /** Whether a body must have the field. An answer has each field that does not say false. */
  readonly required?: boolean;
  readonly type?: 'string' | 'integer' | 'boolean' | 'array' | 'object' | (new () => object);
  /** For a list: the class of its items. */
  readonly listOf?: new () => object;
  readonly nullable?: boolean;
  /** Replaces `type` for a field of several types. */
  readonly oneOf?: readonly object[];
  /** For an object: whether it may have any fields, or the schema of their values. */
  readonly additionalProperties?: boolean | object;
  readonly enum?: readonly string[] | ((providers: Providers) => readonly string[]);
  readonly pattern?: string;
  readonly format?: 'uri' | 'uri-reference' | 'date-time' | 'email';
  readonly minLength?: number;
  /** In characters. A limit in bytes fits here as well: a text never has more characters than bytes. */
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: object;
  readonly 'x-max-bytes'?: number;
}

const fieldsByPrototype = new WeakMap<object, string[]>();

/** The names of the documented fields of a class and of the classes that it extends. */
export function documentedFieldsOf(documented: new () => object): string[] {
  const names: string[] = [];
  for (let at: object | null = documented.prototype; at !== null; at = Object.getPrototypeOf(at)) {
    names.push(...(fieldsByPrototype.get(at) ?? []));
  }
  return names;
}

export function documentField({ example, enum: values, listOf, ...field }: Field): PropertyDecorator {
  const options = {
    ...field,
    ...(listOf !== undefined && { type: [listOf] }),
    ...(example !== undefined && { examples: [example] }),
  };
  return (target, key) => {
    fieldsByPrototype.set(target, [...(fieldsByPrototype.get(target) ?? []), String(key)]);
    deferDeclaration(({ ApiProperty }, providers) => {
      const allowed = typeof values === 'function' ? values(providers) : values;
      ApiProperty({ ...options, ...(allowed !== undefined && { enum: [...allowed] }) } as object)(target, key);
    });
  };
}
