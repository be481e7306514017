/**
 * How many letters must be inserted, removed, replaced or exchanged with their neighbour to turn one text into the
 * other.
 */
export function editDistance(one: string, other: string): number {
  const [letters, others] = [[...one], [...other]];
  const rows = [Array.from({ length: others.length + 1 }, (_, n) => n)];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (const [i, letter] of letters.entries()) {
    const row = [i + 1];
    rows.push(row);
    for (const [j, otherLetter] of others.entries()) {
      const isExchanged = letter === others[j - 1] && letters[i - 1] === otherLetter;
      row.push(
        Math.min(
          at(i, j) + (letter === otherLetter ? 0 : 1),
          at(i, j + 1) + 1,
          at(i + 1, j) + 1,
          isExchanged ? at(i - 1, j - 1) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
  }
  return at(letters.length, others.length);
}
