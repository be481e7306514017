import { editDistance } from '../../../kernel/edit-distance.js';

/** Longer paths are not searched for: a path of the service has no more words. */
const MAX_WORDS = 8;
const MAX_PATH_CHARACTERS = 200;
/** The part of all words that must be the same on both sides. */
const MIN_SIMILARITY = 0.5;

/** The paths of the service by their words. Anyone can send requests without a route, so the search has bounds. */
export class NearPaths {
  private readonly paths: readonly { readonly path: string; readonly words: readonly string[] }[];
  private readonly words: ReadonlySet<string>;

  constructor(routes: readonly { readonly path: string }[]) {
    const paths = [...new Set(routes.map(({ path }) => path))];
    this.paths = paths.map((path) => ({ path: path.replace(/:(\w+)/g, '{$1}'), words: wordsOf(path) }));
    this.words = new Set(this.paths.flatMap(({ words }) => words));
  }

  /**
   * The path that has mostly the same words as `url`, such as `/edges/tcp` for `/tcp_edges`; undefined if none is near.
   * Ids and other variable parts do not count.
   */
  find(url: string): string | undefined {
    const [path = ''] = url.split('?', 1);
    const asked = path.length > MAX_PATH_CHARACTERS ? [] : wordsOf(path);
    if (asked.length > MAX_WORDS) return undefined;
    const meant = asked.map((word) => new Set([...this.words].filter((known) => isSame(word, known))));
    let near: string | undefined;
    let best = MIN_SIMILARITY;
    for (const { path: known, words } of this.paths) {
      const same = meant.filter((ones) => words.some((word) => ones.has(word))).length;
      const similarity = (2 * same) / (asked.length + words.length);
      if (similarity > best) [near, best] = [known, similarity];
    }
    return near;
  }
}

/**
 * The words of a path, each once, without a plural s, and without variable parts: parameters, ids and versions of an
 * API.
 */
const wordsOf = (path: string): string[] => [
  ...new Set(
    path
      .split('/')
      .filter((part) => part !== '' && !part.startsWith(':') && !/^(v\d+|[a-z]+_[0-9A-Za-z]{27})$/.test(part))
      .flatMap((part) => part.toLowerCase().split(/[^a-z0-9]+/))
      .map((word) => word.replace(/s$/, '')),
  ),
];

/** A word of five letters may have one mistake, a word of eight two. */
function isSame(one: string, other: string): boolean {
  if (one === other) return true;
  const mistakes = one.length < 5 ? 0 : one.length < 8 ? 1 : 2;
  return Math.abs(one.length - other.length) <= mistakes && editDistance(one, other) <= mistakes;
}
