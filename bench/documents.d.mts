/** The documents as they should be, by their paths in the repository. */
export declare function documentsOf(results: unknown, textOf: (path: string) => string): Record<string, string>;
