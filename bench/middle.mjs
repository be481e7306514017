/** The median of numbers; of an even count the greater one of the two in the middle. */
export const middle = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
