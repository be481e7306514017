import { InvalidArgumentError } from 'commander';

/** Makes the parser of an argument that is a whole number. `refusal`: the sentence for any other argument. */
export const wholeNumber =
  (min: number, max: number, refusal: string) =>
  (text: string): number => {
    const isNumber = /^\d+$/.test(text) && text.length <= String(max).length;
    if (isNumber && Number(text) >= min && Number(text) <= max) return Number(text);
    throw new InvalidArgumentError(refusal);
  };

export const parsePosition = wholeNumber(0, 10 ** 15 - 1, 'A position is a whole number; the minimum is 0.');
