export const PROJECTS: readonly string[];
export const JOURNEYS: readonly string[];
export const ROOMS: readonly (readonly string[])[];
export function suitesOf(paths: readonly string[]): string[][];
