/** Whether at most `max` letters must be inserted, left out or replaced to make one text of the other (Levenshtein). */
export function isWithinDistance(one: string, other: string, max: number): boolean {
  const [letters, others] = [[...one], [...other]];
  if (Math.abs(letters.length - others.length) > max) return false;
  let row = Array.from({ length: others.length + 1 }, (_, n) => n);
  for (const [i, letter] of letters.entries()) {
    const next = [i + 1];
    for (const [j, otherLetter] of others.entries()) {
      const replaced = (row[j] ?? 0) + (letter === otherLetter ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return (row.at(-1) ?? 0) <= max;
}
