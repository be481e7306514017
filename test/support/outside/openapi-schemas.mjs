import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

export const OPENAPI_FILE = new URL('../../../openapi.json', import.meta.url);
export const DOCUMENT = withParameters(JSON.parse(readFileSync(OPENAPI_FILE, 'utf8')));

/** Puts the parameters that operations refer to into their places. */
function withParameters(document) {
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    const resolved = ({ $ref }) => document.components.parameters[$ref.split('/').at(-1)];
    operation.parameters = operation.parameters.map((one) => ('$ref' in one ? resolved(one) : one));
  }
  return document;
}

/**
 * Validates against any schema of the document, named `openapi.json#/...`. A client is told to expect further fields in
 * an answer of a later version; an answer of this one has none.
 */
export function validatorOf(opened) {
  const document = structuredClone(opened);
  for (const schema of Object.values(document.components.schemas)) schema.additionalProperties ??= false;
  const ajv = new Ajv2020({ strict: false, inlineRefs: false, code: { optimize: false } });
  formats.default(ajv);
  return ajv.addSchema(document, 'openapi.json');
}

const ajv = validatorOf(DOCUMENT);
/** The compiled schemas, for all files of a worker. */
const validators = new Map();

/** How a value differs from the schema at this place of the document; undefined if it fits. */
export function mismatch(location, value) {
  const pointer = location
    .map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
    .join('/');
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `openapi.json#/${pointer}` });
  validators.set(pointer, validate);
  return validate(value) ? undefined : ajv.errorsText(validate.errors, { dataVar: 'it' });
}
