/**
 * What a client's decoder takes, as functions that throw where it would. Written after what each client does with an
 * answer: which fields it reads, whether it bears null there, and into what type it parses.
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

/** `java.net.URI`, `url.Parse`: absolute, or the client would ask somewhere else. */
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

/** A field that may be null, but must be there: `props["x"]` of Python is an error where it is not. */
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

/** `map[string]string`: one value of another type, and the whole answer is lost. */
export const mapOfTexts: Decoder = (value, where) => {
  object({})(value, where);
  for (const [name, one] of Object.entries(value as object)) text(one, `${where}.${name}`);
};
