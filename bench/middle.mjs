/** The median of numbers. Of an even count it is the greater of the two numbers in the middle. */
export const middle = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
