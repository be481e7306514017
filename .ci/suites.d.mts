export const PROJECTS: readonly string[];
export const JOURNEYS: readonly string[];
export const ROOMS: readonly (readonly string[])[];
export const SQL: string;
export function suitesOf(paths: readonly string[], sql?: readonly string[]): string[][];
