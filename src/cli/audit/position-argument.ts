import { InvalidArgumentError } from 'commander';

/** An argument that is a position of a log. */
export function parsePosition(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('A position is a whole number; the minimum is 0.');
  return Number(text);
}
