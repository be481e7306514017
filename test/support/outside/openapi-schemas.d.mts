import type { Ajv2020 } from 'ajv/dist/2020.js';

export declare const OPENAPI_FILE: URL;
// biome-ignore lint/suspicious/noExplicitAny: the document as JSON
export declare const DOCUMENT: any;
export declare function validatorOf(document: object): Ajv2020;
export declare function mismatch(location: readonly string[], value: unknown): string | undefined;
