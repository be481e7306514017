/**
 * The decoders of clients, as functions that throw where a client would. They follow the client's handling of an
 * answer: the fields that it reads, whether it accepts null there, and the type that it parses.
 */
export type Decoder = (value: unknown, where: string) => void;

const accept =
  (noun: string, test: (value: unknown) => boolean): Decoder =>
  (value, where) => {
    if (!test(value)) throw new Error(`${where} should be ${noun}, and is ${JSON.stringify(value)}`);
  };

const isText = (value: unknown): value is string => typeof value === 'string';
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const text = accept('a text', isText);
export const flag = accept('true or false', (value) => typeof value === 'boolean');
export const integer = accept('an integer', Number.isInteger);

/** `java.net.URI`, `url.Parse`: absolute, or the client would send its request elsewhere. */
export const uri = accept('an absolute URI', (value) => isText(value) && URL.canParse(value));

/** RFC 3339 with an offset, as `OffsetDateTime` reads it. */
export const time = accept(
  'a time with an offset',
  (value) => isText(value) && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value),
);

export const listOf =
  (item: Decoder): Decoder =>
  (value, where) => {
    accept('a list', Array.isArray)(value, where);
    for (const [i, one] of (value as unknown[]).entries()) item(one, `${where}[${i}]`);
  };

/** A field that may be null or absent. */
export const optional =
  (decoder: Decoder): Decoder =>
  (value, where) => {
    if (value !== null && value !== undefined) decoder(value, where);
  };

/** A field that may be null but not absent: `props["x"]` of Python fails without the field. */
export const nullable =
  (decoder: Decoder): Decoder =>
  (value, where) => {
    accept('there', (present) => present !== undefined)(value, where);
    if (value !== null) decoder(value, where);
  };

export const object =
  (fields: Readonly<Record<string, Decoder>>): Decoder =>
  (value, where) => {
    if (!isObject(value)) throw new Error(`${where} should be an object, and is ${JSON.stringify(value)}`);
    for (const [name, decoder] of Object.entries(fields)) decoder(value[name], `${where}.${name}`);
  };

/** `map[string]string`: one value of another type fails the whole answer. */
export const mapOfTexts: Decoder = (value, where) => {
  object({})(value, where);
  for (const [name, one] of Object.entries(value as object)) text(one, `${where}.${name}`);
};
