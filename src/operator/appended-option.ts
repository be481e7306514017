/** Parses an option that may be repeated. */
export const appended = (value: string, earlier: readonly string[] = []): string[] => [...earlier, value];
