import { omitUndefined } from '../../kernel/omit-undefined.js';
import { malformed, Problem, type ProblemName, quoted } from '../../kernel/problem.js';
import { type PlainEvent, plainEntity } from '../resources/plain-entity.js';

/** A label of a tunnel and its value. */
export type Labels = Readonly<Record<string, string>>;

/** A backend that balances connections among the tunnels that have all of its labels. */
export interface TunnelGroup {
  readonly description: string;
  readonly metadata: string;
  readonly labels: Labels;
}

export type TunnelGroupEvent = PlainEvent<'tunnel_group', TunnelGroup>;

/** The same for an unknown id and for an id of another account. */
export const tunnelGroupNotFound = (): Problem => new Problem('not_found', 'Resource not found');

export const tunnelGroup = plainEntity<'tunnel_group', TunnelGroup>('tunnel_group', tunnelGroupNotFound);

/** Far above any real group. */
export const MAX_LABELS = 100;
export const MAX_LABEL_BYTES = 255;

/** The fields of a body, as sent. */
interface SentTunnelGroup {
  readonly description?: string;
  readonly metadata?: string;
  readonly labels?: object;
}

/** A new group: an absent field is empty. Throws Problem. */
export function parseTunnelGroup({ description = '', metadata = '', labels = {} }: SentTunnelGroup): TunnelGroup {
  return { description, metadata, labels: parseLabels(labels) };
}

/** The fields that a change gives. Throws Problem. */
export function parseChanges({ description, metadata, labels }: SentTunnelGroup): Partial<TunnelGroup> {
  return omitUndefined({ description, metadata, labels: labels && parseLabels(labels) });
}

function parseLabels(given: object): Labels {
  const labels = Object.entries(given);
  if (labels.length > MAX_LABELS) {
    throw malformed(`labels has ${labels.length} labels; the maximum is ${MAX_LABELS}.`);
  }
  return Object.fromEntries(
    labels.map(([key, value]) => {
      if (key === '') throw new Problem('label_key_length', 'The key of a label is empty; the minimum is 1 byte.');
      return [parsePart(key, 'The key of a label', 'label_key_length'), parseValue(key, value)];
    }),
  );
}

function parseValue(key: string, value: unknown): string {
  const part = `The value of the label ${quoted(key)}`;
  if (typeof value === 'string') return parsePart(value, part, 'label_value_length');
  throw new Problem('field_wrong_type', `${part} must be a string.`);
}

/** Agents write a label as `key=value`, so neither has an equals sign. */
function parsePart(text: string, part: string, tooLong: ProblemName): string {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_LABEL_BYTES) {
    throw new Problem(tooLong, `${part} is ${bytes} bytes long; the maximum is ${MAX_LABEL_BYTES}.`);
  }
  if (!text.includes('=')) return text;
  throw new Problem(
    'label_has_equals_sign',
    `${part} has an equals sign, which separates key and value: ${quoted(text)}.`,
  );
}
