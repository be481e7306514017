import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import {
  getMetadataStorage,
  ValidateBy,
  type ValidationArguments,
  type ValidationError,
  validateSync,
} from 'class-validator';
import { Problem, type ProblemName } from '../problem.js';
import { documented, type Field } from './openapi/decorators.js';

/**
 * Bodies are classes whose fields carry the decorators below, which check a field and document it: neither is had alone. A field whose value is null counts as not given, since
 * some official clients send null for all they do not set. Fields without a decorator do not exist: sending one is refused.
 * class-transformer is not used: it is the dearest step of a request, and copying the fields is all we need of it.
 */
type BodyClass = new () => object;

/** What a field's decorators say beyond the check itself. */
interface FieldContext {
  readonly problem: ProblemName;
  /** The class of the object that the field holds. */
  readonly objectOf?: BodyClass;
}

/** Checks a field; undefined passes always, so that a missing required field is the handler's to name. */
function checked(
  name: string,
  problem: ProblemName,
  check: (value: unknown) => string | undefined,
  context: Omit<FieldContext, 'problem'> = {},
): PropertyDecorator {
  return ValidateBy(
    {
      name,
      validator: {
        validate: (value: unknown) => value === undefined || check(value) === undefined,
        defaultMessage: (args?: ValidationArguments) => `${args?.property} ${check(args?.value)}`,
      },
    },
    { context: { ...context, problem } satisfies FieldContext },
  );
}

/** Refuses a value of another type, in words such as "must be a string, not an object." */
const isA =
  (noun: string, test: (value: unknown) => boolean) =>
  (value: unknown): string | undefined =>
    test(value)
      ? undefined
      : `must be ${article(noun)}, not ${article(Array.isArray(value) ? 'array' : typeof value)}.`;

const article = (noun: string): string => (/^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`);

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A field that holds a string. */
export const Text = (field: Field): PropertyDecorator =>
  both(
    inBody({ type: 'string', ...field }),
    checked(
      'text',
      'field_wrong_type',
      isA('string', (value) => typeof value === 'string'),
    ),
  );

/** A field that holds true or false. */
export const Flag = (field: Field): PropertyDecorator =>
  both(
    inBody({ type: 'boolean', ...field }),
    checked(
      'flag',
      'field_wrong_type',
      isA('boolean', (value) => typeof value === 'boolean'),
    ),
  );

/** A field that holds an object, which is read by the rules of its own class. Messages name its fields as `backend.enabled`. */
export const ObjectOf = (objectOf: BodyClass, field: Field): PropertyDecorator =>
  both(
    inBody({ type: objectOf, ...field }),
    checked('object', 'field_wrong_type', isA('object', isObject), { objectOf }),
  );

/** A field of any form; what it must be is checked where its meaning is known. */
export const Anything = (field: Field): PropertyDecorator =>
  both(
    inBody(field),
    checked('anything', 'field_wrong_type', () => undefined),
  );

/** A field that holds a string of at most `most` bytes of UTF-8. */
export function TextOfBytes(most: number, tooLong: ProblemName, field: Field): PropertyDecorator {
  const fits = checked('textOfBytes', tooLong, (value) => {
    const bytes = typeof value === 'string' ? Buffer.byteLength(value) : 0;
    return bytes > most ? `is ${bytes} bytes long; the most is ${most}.` : undefined;
  });
  return both(Text({ ...field, ...atMostBytes(most, field.description) }), fits);
}

/** A limit in bytes, as far as a schema can say it: no text has more characters than bytes. */
export const atMostBytes = (most: number, description: string) => ({
  description: `${description} At most ${most} bytes of UTF-8.`,
  maxLength: most,
  'x-max-bytes': most,
});

/** A field that holds a list; what its items must be is checked where their meaning is known. */
export const List = (field: Field & { readonly items: object }): PropertyDecorator =>
  both(inBody({ type: 'array', ...field }), checked('list', 'field_wrong_type', isA('list', Array.isArray)));

const inBody = (field: Field): PropertyDecorator =>
  documented({ ...field, required: field.required === true, nullable: field.required !== true });

const both =
  (first: PropertyDecorator, second: PropertyDecorator): PropertyDecorator =>
  (target, key) => {
    first(target, key);
    second(target, key);
  };

/** A body that is no object of fields, such as a list, reads itself: a static method of its class, which throws Problem. */
interface ReadsItself {
  readonly read: (value: unknown) => object;
}

const readsItself = (bodyClass: object): bodyClass is ReadsItself => 'read' in bodyClass;

/** Turns every `@Body()` parameter into an instance of its class, or refuses it. Other parameters pass. */
export class ValidatedBodyPipe implements PipeTransform {
  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if (type !== 'body' || metatype === undefined) return value;
    return readsItself(metatype) ? metatype.read(value) : readBody(metatype as BodyClass, value);
  }
}

export function readBody<Body extends object>(bodyClass: new () => Body, value: unknown): Body {
  if (!isObject(value)) throw new Problem('body_malformed', 'The body must be a JSON object.');
  return readObject(bodyClass, value, '');
}

/**
 * Fields that the public API had once. A Rust or .NET client of that time sends null for them in every body, which says nothing;
 * with a value they are refused like any unknown field, since to drop a policy in silence would leave open what was to be closed.
 */
const RETIRED_FIELDS: readonly string[] = ['policy'];

/** `path` is what messages put before the name of a field: empty, or for example `backend.`. */
function readObject<Body extends object>(bodyClass: new () => Body, value: object, path: string): Body {
  const fields = fieldsOf(bodyClass);
  const body = new bodyClass();
  for (const [name, given] of Object.entries(value)) {
    if (given === null && RETIRED_FIELDS.includes(name)) continue;
    if (!fields.has(name)) throw unknownField(path + name, fields);
    if (given !== null) Object.assign(body, { [name]: given });
  }
  const [error] = validateSync(body, { forbidUnknownValues: false });
  if (error !== undefined) throw problemOf(error, path);
  for (const [name, inner] of Object.entries(body)) {
    const objectOf = fields.get(name);
    if (objectOf !== undefined) Object.assign(body, { [name]: readObject(objectOf, inner, `${path}${name}.`) });
  }
  return body;
}

/** Names of the fields, each with the class of the object it holds, if it holds one. */
type Fields = ReadonlyMap<string, BodyClass | undefined>;

const fieldsByClass = new Map<BodyClass, Fields>();

function fieldsOf(bodyClass: BodyClass): Fields {
  const known = fieldsByClass.get(bodyClass);
  if (known !== undefined) return known;
  const metadata = getMetadataStorage().getTargetValidationMetadatas(bodyClass, '', false, false);
  const fields = new Map(metadata.map((m) => [m.propertyName, (m.context as FieldContext | undefined)?.objectOf]));
  fieldsByClass.set(bodyClass, fields);
  return fields;
}

/** A name that could be a mistyped field is told; any other may be anything, a private key pasted in the wrong place included. */
const shown = (name: string): string => (/^[A-Za-z0-9_.-]{1,40}$/.test(name) ? `'${name}'` : 'What you sent');

function unknownField(name: string, fields: Fields): Problem {
  const supported = [...fields.keys()].sort().join(', ');
  return new Problem('field_unknown', `${shown(name)} is not a field of this body; the fields are ${supported}.`);
}

/** A wrong type is told before what only makes sense for the right type. */
function problemOf({ constraints = {}, contexts = {} }: ValidationError, path: string): Problem {
  const failed = Object.keys(constraints).map((name) => ({
    problem: (contexts[name] as FieldContext | undefined)?.problem ?? 'field_wrong_type',
    message: `${path}${constraints[name] ?? ''}`,
  }));
  const first = failed.find((f) => f.problem === 'field_wrong_type') ?? failed[0];
  return new Problem(first?.problem ?? 'body_malformed', first?.message ?? 'The body is not valid.');
}
