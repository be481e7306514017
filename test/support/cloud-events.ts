import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';

const text = { type: ['string', 'null'], minLength: 1 };

/** The JSON schema of CloudEvents 1.0.2, without its descriptions. */
const SCHEMA = {
  type: 'object',
  properties: {
    id: { type: 'string', minLength: 1 },
    source: { type: 'string', format: 'uri-reference', minLength: 1 },
    specversion: { type: 'string', minLength: 1 },
    type: { type: 'string', minLength: 1 },
    datacontenttype: text,
    dataschema: { ...text, format: 'uri' },
    subject: text,
    time: { ...text, format: 'date-time' },
    data: { type: ['object', 'string', 'number', 'array', 'boolean', 'null'] },
    data_base64: { ...text, contentEncoding: 'base64' },
  },
  required: ['id', 'source', 'specversion', 'type'],
};

const ajv = new Ajv({ allowUnionTypes: true, strict: false });
addFormats.default(ajv);
const validate = ajv.compile(SCHEMA);

/** Checks what the specification demands of attributes beyond the schema: names, types, no forbidden code points. */
function faultOfAttribute([name, value]: [string, unknown]): string | undefined {
  if (!/^[a-z0-9]{1,20}$/.test(name)) return `has the attribute name ${name}`;
  if (Number.isInteger(value) && Math.abs(value as number) < 2 ** 31) return undefined;
  if (typeof value !== 'string' || value === '') return `has the attribute ${name} = ${JSON.stringify(value)}`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters
  const isForbidden = /[\u0000-\u001f\u007f-\u009f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]/u.test(value);
  return isForbidden ? `has a forbidden code point in ${name}` : undefined;
}

/** What is wrong with a CloudEvent; undefined if it is valid. */
export function faultOfCloudEvent(event: object): string | undefined {
  if (!validate(event)) return ajv.errorsText(validate.errors);
  const { data: _, ...attributes } = event as Record<string, unknown>;
  return Object.entries(attributes)
    .map(faultOfAttribute)
    .find((fault) => fault !== undefined);
}
