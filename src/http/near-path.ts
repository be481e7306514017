import { editDistance } from '../edit-distance.js';

/** Longer paths are not searched for: a path of the service has no more words. */
const MAX_WORDS = 8;
const MAX_PATH_CHARACTERS = 200;
/** Of all words, how many must be the same on both sides. */
const MIN_SIMILARITY = 0.5;

/**
 * The path of a route that has mostly the same words as `url`, such as `/edges/tcp` for `/tcp_edges`; undefined if none is
 * near. Ids and other variable parts do not count.
 */
export function nearPath(url: string, routes: readonly { readonly path: string }[]): string | undefined {
  const [path = ''] = url.split('?', 1);
  const asked = wordsOf(path);
  if (path.length > MAX_PATH_CHARACTERS || asked.length > MAX_WORDS) return undefined;
  let near: string | undefined;
  let best = MIN_SIMILARITY;
  for (const route of routes) {
    const similarity = similarityOf(asked, wordsOf(route.path));
    if (similarity > best) [near, best] = [route.path, similarity];
  }
  return near?.replace(/:(\w+)/g, '{$1}');
}

/** Without the plural, and without what is variable: parameters, ids and versions of an API. */
const wordsOf = (path: string): string[] =>
  path
    .split('/')
    .filter((segment) => segment !== '' && !segment.startsWith(':') && !/^(v\d+|[a-z]+_[0-9A-Za-z]{27})$/.test(segment))
    .flatMap((segment) => segment.toLowerCase().split(/[^a-z0-9]+/))
    .map((word) => word.replace(/s$/, ''));

function similarityOf(asked: readonly string[], words: readonly string[]): number {
  const same = asked.filter((word) => words.some((other) => isSame(word, other))).length;
  return (2 * same) / (asked.length + words.length);
}

/** A word of five letters may have one mistake, a word of eight two. */
function isSame(one: string, other: string): boolean {
  const mistakes = one.length < 5 ? 0 : one.length < 8 ? 1 : 2;
  return one === other || (Math.abs(one.length - other.length) <= mistakes && editDistance(one, other) <= mistakes);
}
