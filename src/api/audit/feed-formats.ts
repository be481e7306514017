import { EVENT_STREAM } from '../http/event-stream.js';

/** The media types of the feed. If a client likes several equally, it gets the first. */
export const FEED_FORMATS = [
  'application/json',
  'application/cloudevents-batch+json',
  'application/x-ndjson',
  'application/ndjson',
  EVENT_STREAM,
] as const;

export type FeedFormat = (typeof FEED_FORMATS)[number];

/** The format that the Accept header prefers. A client that accepts none of them gets JSON, as on every other route. */
export function feedFormatOf(accept = '*/*'): FeedFormat {
  const qualities = new Map(accept.toLowerCase().split(',').map(readRange));
  const qualityOf = (format: FeedFormat): number => {
    const ranges = [format, format.replace(/\/.*/, '/*'), '*/*'];
    return ranges.map((range) => qualities.get(range)).find((quality) => quality !== undefined) ?? 0;
  };
  // If qualities are equal, a type that is named comes before a type that only a wildcard matches.
  const rankOf = (format: FeedFormat): number => qualityOf(format) + (qualities.has(format) ? 0.0001 : 0);
  const [best] = [...FEED_FORMATS].sort((a, b) => rankOf(b) - rankOf(a));
  return best !== undefined && qualityOf(best) > 0 ? best : 'application/json';
}

/** A media range and its quality. Other parameters, such as a charset, do not count: every format is UTF-8. */
function readRange(text: string): [range: string, quality: number] {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim());
  const quality = parameters.find((parameter) => parameter.startsWith('q='));
  return [range, quality === undefined ? 1 : Number(quality.slice(2)) || 0];
}
