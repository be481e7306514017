// biome-ignore lint/style/noRestrictedImports: the one place that adds the check.
import { type ArgumentMetadata, Body as NestBody, type PipeTransform } from '@nestjs/common';
import {
  getMetadataStorage,
  ValidateBy,
  type ValidationArguments,
  type ValidationError,
  validateSync,
} from 'class-validator';
import { isJsonObject } from '../../kernel/json-object.js';
import { isQuotable, malformed, Problem, type ProblemName, quoted } from '../../kernel/problem.js';
import { documentField, type Field } from './documentation.js';

/**
 * A body is a class. Each decorator below both checks a field and documents it. A null field counts as absent, since
 * some official clients send null for every field that they do not set; a field without a decorator is refused as
 * unknown.
 */
export type BodyClass = new () => object;

/** Metadata of a field's decorators beyond the check itself. */
interface FieldContext {
  readonly problem: ProblemName;
  /** What is wrong with a value; undefined if it passes. */
  readonly check: (value: unknown) => string | undefined;
  /** Makes the value that the handler gets of one that passes all checks. */
  readonly read?: ReadValue;
  /** An absent field is refused here. */
  readonly isRequired?: boolean;
}

/** Reads a value, or throws Problem. `name` is that of the field in messages, such as `sessions[3].id`. */
export type ReadValue = (value: unknown, name: string) => unknown;

/** Checks a field. An absent field passes, unless it `isRequired`: the handler reports it. */
function checkField(
  name: string,
  problem: ProblemName,
  check: FieldContext['check'],
  context: Pick<FieldContext, 'read' | 'isRequired'> = {},
): PropertyDecorator {
  return ValidateBy(
    {
      name,
      validator: {
        validate: (value: unknown) => value === undefined || check(value) === undefined,
        defaultMessage: (args?: ValidationArguments) => `${args?.property} ${check(args?.value)}`,
      },
    },
    { context: { ...context, problem, check } satisfies FieldContext },
  );
}

/** Refuses a value of another type, with a sentence such as "must be a string, not an object." */
const typeCheck =
  (noun: string, test: (value: unknown) => boolean) =>
  (value: unknown): string | undefined =>
    test(value)
      ? undefined
      : `must be ${withArticle(noun)}, not ${withArticle(Array.isArray(value) ? 'array' : typeof value)}.`;

const withArticle = (noun: string): string => (/^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`);

/** Documents a field, and refuses a value of another type. */
const typed = (
  noun: string,
  test: (value: unknown) => boolean,
  field: Field,
  context?: Pick<FieldContext, 'read'>,
): PropertyDecorator =>
  combine(documentBodyField(field), checkField(noun, 'field_wrong_type', typeCheck(noun, test), context));

/** A field that holds a string. */
export const Text = (field: Field): PropertyDecorator =>
  typed('string', (value) => typeof value === 'string', { type: 'string', ...field });

/** A field that holds true or false. */
export const Flag = (field: Field): PropertyDecorator =>
  typed('boolean', (value) => typeof value === 'boolean', { type: 'boolean', ...field });

/** A field that holds an object, whose own class checks it. Messages name its fields as `backend.enabled`. */
export const ObjectOf = (nestedClass: BodyClass, field: Field): PropertyDecorator =>
  typed('object', isJsonObject, { type: nestedClass, ...field }, { read: objectOf(nestedClass) });

/** A field that holds an object with any names; the code that knows their meaning checks names and values. */
export const MapField = (field: Field & { readonly additionalProperties: object }): PropertyDecorator =>
  typed('object', isJsonObject, { type: 'object', ...field });

/** A field that holds any JSON value; the code that knows its meaning checks it. */
export const Anything = (field: Field): PropertyDecorator => typed('value', () => true, field);

/** A field that holds a string of at most `maxBytes` bytes of UTF-8. */
export function TextOfBytes(maxBytes: number, tooLong: ProblemName, field: Field): PropertyDecorator {
  const checkLength = checkField('textOfBytes', tooLong, (value) => {
    const bytes = typeof value === 'string' ? Buffer.byteLength(value) : 0;
    return bytes > maxBytes ? `is ${bytes} bytes long; the maximum is ${maxBytes}.` : undefined;
  });
  return combine(Text({ ...field, ...atMostBytes(maxBytes, field.description) }), checkLength);
}

/** A limit in bytes, as far as a schema can express it: a text never has more characters than bytes. */
export const atMostBytes = (maxBytes: number, description: string) => ({
  description: `${description} At most ${maxBytes} bytes of UTF-8.`,
  maxLength: maxBytes,
  'x-max-bytes': maxBytes,
});

/** A field that holds a list; the code that knows the meaning of its items checks them. */
export const List = (field: Field & ({ readonly items: object } | { readonly listOf: BodyClass })): PropertyDecorator =>
  typed('list', Array.isArray, { type: 'array', ...field });

/** A field that `read` checks. If it is required, a body without it is refused. */
export const Read = (field: Field, read: ReadValue): PropertyDecorator =>
  combine(
    documentBodyField(field),
    checkField('read', 'request_malformed', () => undefined, { read, isRequired: field.required === true }),
  );

/** Reads an object by its class. */
export const objectOf =
  (bodyClass: BodyClass): ReadValue =>
  (value, name) => {
    if (!isJsonObject(value)) throw malformed(`${name} must be an object.`);
    return readObject(bodyClass, value, `${name}.`);
  };

const documentBodyField = (field: Field): PropertyDecorator =>
  documentField({ ...field, required: field.required === true, nullable: field.required !== true });

const combine =
  (first: PropertyDecorator, second: PropertyDecorator): PropertyDecorator =>
  (target, key) => {
    first(target, key);
    second(target, key);
  };

/** The class of a body that is not an object, such as a list: its static `read` parses the body, and throws Problem. */
interface SelfReadingBody {
  readonly read: (value: unknown) => object;
}

const readsItself = (bodyClass: object): bodyClass is SelfReadingBody => 'read' in bodyClass;

/** Turns a body into an instance of its parameter's class, or throws Problem. */
class BodyPipe implements PipeTransform {
  transform(value: unknown, { metatype }: ArgumentMetadata): unknown {
    if (metatype === undefined) throw new Error('the parameter of a body has no class');
    return readsItself(metatype) ? metatype.read(value) : readBody(metatype as BodyClass, value);
  }
}
const BODY_PIPE = new BodyPipe();

/** Parameter decorator: the body, checked. The linter refuses Nest's own decorator, which checks nothing. */
export const Body = (): ParameterDecorator => NestBody(BODY_PIPE);

/** Method decorator: the class of the body, the last parameter of a method, where only the run time knows it. */
export const BodyClass =
  (bodyClass: BodyClass): MethodDecorator =>
  (target, key) => {
    const types: readonly unknown[] = Reflect.getMetadata('design:paramtypes', target, key);
    Reflect.defineMetadata('design:paramtypes', [...types.slice(0, -1), bodyClass], target, key);
  };

/** Checks a body, and copies its fields into an instance of its class. */
function readBody<Body extends object>(bodyClass: new () => Body, value: unknown): Body {
  if (!isJsonObject(value)) throw new Problem('body_malformed', 'The body must be a JSON object.');
  return readObject(bodyClass, value, '');
}

/**
 * Fields that the public API once had. Its Rust and .NET clients of that time send null for them in every body. With a
 * value they are refused like any unknown field: to ignore a policy silently would leave open what the caller meant to
 * close.
 */
const RETIRED_FIELDS: readonly string[] = ['policy'];

/** `path` precedes the name of a field in messages: empty, or for example `backend.`. */
function readObject<Body extends object>(bodyClass: new () => Body, value: object, path: string): Body {
  const fields = fieldsOf(bodyClass);
  const body = new bodyClass();
  const values = body as Record<string, unknown>;
  let isValid = true;
  for (const [name, item] of Object.entries(value)) {
    if (item === null && RETIRED_FIELDS.includes(name)) continue;
    const field = fields.get(name);
    if (field === undefined) throw unknownField(path + name, fields, elsewhereOf(bodyClass, path + name));
    if (item === null) continue;
    values[name] = item;
    isValid &&= field.every(({ check }) => check(item) === undefined);
  }
  // class-validator makes the message.
  if (!isValid) throw problemOf(validateSync(body, { forbidUnknownValues: false }), path);
  for (const [name, checks] of fields) {
    for (const { read, isRequired = false } of checks) {
      if (read === undefined) continue;
      const item = values[name];
      if (item !== undefined) values[name] = read(item, path + name);
      else if (isRequired) throw malformed(`${path}${name} is missing.`);
    }
  }
  return body;
}

/** The names of the fields, each with its checks. */
type Fields = ReadonlyMap<string, readonly FieldContext[]>;

const fieldsByClass = new Map<BodyClass, Fields>();

function fieldsOf(bodyClass: BodyClass): Fields {
  const known = fieldsByClass.get(bodyClass);
  if (known !== undefined) return known;
  const fields = new Map<string, readonly FieldContext[]>();
  for (const { propertyName, context } of getMetadataStorage().getTargetValidationMetadatas(
    bodyClass,
    '',
    false,
    false,
  )) {
    fields.set(propertyName, [...(fields.get(propertyName) ?? []), context as FieldContext]);
  }
  fieldsByClass.set(bodyClass, fields);
  return fields;
}

/** A body class may say where a field belongs that a caller would look for in it. */
const elsewhereOf = (bodyClass: BodyClass & { readonly elsewhere?: object }, name: string): string | undefined =>
  new Map<string, string>(Object.entries(bodyClass.elsewhere ?? {})).get(name);

function unknownField(name: string, fields: Fields, elsewhere: string | undefined): Problem {
  if (elsewhere !== undefined) {
    return new Problem('field_unknown', `${quoted(name)} is not a field of this body; ${elsewhere}.`);
  }
  const supported = [...fields.keys()].sort().join(', ');
  return new Problem('field_unknown', `${quotedName(name)} is not a field of this body; the fields are ${supported}.`);
}

/** Quotes a name that may be a mistyped field. Hides any other: it may be anything, even a misplaced private key. */
const quotedName = (name: string): string => (isQuotable(name) ? quoted(name) : 'A name you sent');

/** Reports a wrong type first: the other checks assume the right type. */
function problemOf([error]: readonly ValidationError[], path: string): Problem {
  const { constraints = {}, contexts = {} } = error ?? {};
  const failed = Object.keys(constraints).map((name) => ({
    problem: (contexts[name] as FieldContext | undefined)?.problem ?? 'field_wrong_type',
    message: `${path}${constraints[name] ?? ''}`,
  }));
  const first = failed.find((f) => f.problem === 'field_wrong_type') ?? failed[0];
  return new Problem(first?.problem ?? 'body_malformed', first?.message ?? 'The body is not valid.');
}
