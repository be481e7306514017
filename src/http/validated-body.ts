import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import {
  getMetadataStorage,
  ValidateBy,
  type ValidationArguments,
  type ValidationError,
  validateSync,
} from 'class-validator';
import { Problem, type ProblemName } from '../problem.js';

/**
 * Bodies are classes whose fields carry the decorators below. A field whose value is null counts as not given, since
 * some official clients send null for all they do not set. Fields without a decorator do not exist: sending one is refused.
 * class-transformer is not used: it is the dearest step of a request, and copying the fields is all we need of it.
 */
type BodyClass = new () => object;

/** Checks a field; undefined passes always, so that a missing required field is the handler's to name. */
function checked(name: string, problem: ProblemName, check: (value: unknown) => string | undefined): PropertyDecorator {
  return ValidateBy(
    {
      name,
      validator: {
        validate: (value: unknown) => value === undefined || check(value) === undefined,
        defaultMessage: (args?: ValidationArguments) => `${args?.property} ${check(args?.value)}`,
      },
    },
    { context: { problem } },
  );
}

const typeName = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value);

/** A field that holds a string. */
export const Text = (): PropertyDecorator =>
  checked('text', 'field_wrong_type', (value) =>
    typeof value === 'string' ? undefined : `must be a string, not ${article(typeName(value))}.`,
  );

/** A field that holds a string of at most `most` bytes of UTF-8. */
export function TextOfBytes(most: number, tooLong: ProblemName): PropertyDecorator {
  const isText = Text();
  const fits = checked('textOfBytes', tooLong, (value) => {
    const bytes = typeof value === 'string' ? Buffer.byteLength(value) : 0;
    return bytes > most ? `is ${bytes} bytes long; the most is ${most}.` : undefined;
  });
  return (target, key) => {
    isText(target, key);
    fits(target, key);
  };
}

/** A field that holds a list; what its items must be is checked where their meaning is known. */
export const List = (): PropertyDecorator =>
  checked('list', 'field_wrong_type', (value) =>
    Array.isArray(value) ? undefined : `must be a list, not ${article(typeName(value))}.`,
  );

const article = (noun: string): string => (/^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`);

/** Turns every `@Body()` parameter into an instance of its class, or refuses it. Other parameters pass. */
export class ValidatedBodyPipe implements PipeTransform {
  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    return type === 'body' && metatype !== undefined ? readBody(metatype as BodyClass, value) : value;
  }
}

export function readBody<Body extends object>(bodyClass: new () => Body, value: unknown): Body {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Problem('body_malformed', 'The body must be a JSON object.');
  }
  const fields = fieldsOf(bodyClass);
  const body = new bodyClass();
  for (const [name, given] of Object.entries(value)) {
    if (!fields.has(name)) throw unknownField(name, fields);
    if (given !== null) Object.assign(body, { [name]: given });
  }
  const [error] = validateSync(body, { forbidUnknownValues: false });
  if (error !== undefined) throw problemOf(error);
  return body;
}

const fieldsByClass = new Map<BodyClass, ReadonlySet<string>>();

function fieldsOf(bodyClass: BodyClass): ReadonlySet<string> {
  const known = fieldsByClass.get(bodyClass);
  if (known !== undefined) return known;
  const metadata = getMetadataStorage().getTargetValidationMetadatas(bodyClass, '', false, false);
  const fields = new Set(metadata.map((m) => m.propertyName));
  fieldsByClass.set(bodyClass, fields);
  return fields;
}

function unknownField(name: string, fields: ReadonlySet<string>): Problem {
  const supported = [...fields].sort().join(', ');
  return new Problem(
    'field_unknown',
    `'${name.slice(0, 64)}' is not a field of this body; the fields are ${supported}.`,
  );
}

/** A wrong type is told before what only makes sense for the right type. */
function problemOf({ constraints = {}, contexts = {} }: ValidationError): Problem {
  const failed = Object.keys(constraints).map((name) => ({
    problem: (contexts[name] as { problem: ProblemName } | undefined)?.problem ?? 'field_wrong_type',
    message: constraints[name] ?? '',
  }));
  const first = failed.find((f) => f.problem === 'field_wrong_type') ?? failed[0];
  return new Problem(first?.problem ?? 'body_malformed', first?.message ?? 'The body is not valid.');
}
