import { ParseError } from '../../rules/index.js';
import type { Label } from '../tunnels/open-tunnel.js';

/** The gateway asks the service about each label. */
const MAX_LABELS = 8;

/** Reads the labels of a bind, `key=value` separated by commas. Throws ParseError. */
export function readLabels(text: string): readonly Label[] {
  const labels = text.split(',').map(readLabel);
  if (labels.length > MAX_LABELS) throw new ParseError(`it has ${labels.length} labels; the most is ${MAX_LABELS}`);
  const keys = new Set<string>();
  for (const { key } of labels) {
    if (keys.has(key)) throw new ParseError(`it has the label ${key} twice`);
    keys.add(key);
  }
  return labels;
}

function readLabel(text: string): Label {
  const at = text.indexOf('=');
  if (at < 0) throw new ParseError(`'${text}' is not a label; a comma separates labels, as in 'team=blue,app=web'`);
  return { key: text.slice(0, at), value: text.slice(at + 1) };
}
