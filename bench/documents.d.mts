export function withFigures(text: string, results: object): string;
