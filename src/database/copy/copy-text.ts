/** Escapes compact JSON, which has no control characters, for COPY's text format. */
export const escapedJson = (json: string): string => json.replaceAll('\\', '\\\\');
