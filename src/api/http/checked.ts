import { isJsonObject } from '../../kernel/json-object.js';
import { malformed, Problem } from '../../kernel/problem.js';
import type { Field } from './documentation.js';
import { type BodyClass, objectOf, Read, type ReadValue } from './validated-body.js';

const ANY = Number.MAX_SAFE_INTEGER;

/** A field that its own documentation checks: a string by its pattern and lengths, an integer by its bounds. */
export const Checked = (field: Field & { readonly type: 'string' | 'integer' | 'object' }): PropertyDecorator => {
  const [must, test] = checkOf(field);
  return Read(field, (value, name) => {
    if (test(value)) return value;
    throw malformed(`${name} must be ${must}.`);
  });
};

function checkOf({ type, pattern, minLength = 0, maxLength = ANY, minimum = 0, maximum = ANY }: Field) {
  const form = pattern === undefined ? undefined : new RegExp(pattern);
  const isInteger = (value: unknown) =>
    Number.isSafeInteger(value) && Number(value) >= minimum && Number(value) <= maximum;
  const isText = (value: unknown) =>
    typeof value === 'string' && value.length >= minLength && value.length <= maxLength && form?.test(value) !== false;
  if (type === 'object') return ['an object', isJsonObject] as const;
  if (type === 'integer') return [`a whole number from ${minimum} to ${maximum}`, isInteger] as const;
  return [
    form === undefined ? `a text of ${minLength} to ${maxLength} characters` : `a text of the form ${pattern}`,
    isText,
  ] as const;
}

/** A field that holds a list of objects, which their class checks. A refusal names the item: `sessions[3]`. */
export const ListOf = (itemClass: BodyClass, field: Field & { readonly maxItems: number }): PropertyDecorator =>
  Read({ listOf: itemClass, ...field }, itemsOf(objectOf(itemClass), field.maxItems));

/** Reads each item of a list. The details of a refusal name the item too, so that its sender can leave it out. */
export const itemsOf =
  (read: ReadValue, maxItems: number) =>
  (value: unknown, name: string): unknown[] => {
    if (!Array.isArray(value)) throw malformed(`${name} must be a list.`);
    if (value.length > maxItems) throw malformed(`${name} has ${value.length} items; the maximum is ${maxItems}.`);
    return value.map((one, n) => {
      const item = `${name}[${n}]`;
      try {
        return read(one, item);
      } catch (error) {
        throw error instanceof Problem ? new Problem(error.problem, error.message, { ...error.details, item }) : error;
      }
    });
  };
