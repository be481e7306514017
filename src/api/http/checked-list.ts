import { malformed, Problem } from '../../kernel/problem.js';
import type { Field } from './documentation.js';
import { type BodyClass, objectOf, Read, type ReadValue } from './validated-body.js';

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
