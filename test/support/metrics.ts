export const METRICS_TOKEN = 'test-metrics-token-0123456789';

/** Reads the metrics of an instance. Without a token it reads them from their own address. */
export async function scrape(url: string, token: string | undefined = METRICS_TOKEN): Promise<string> {
  const response = await fetch(`${url}/metrics`, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`GET /metrics answered ${response.status}: ${text}`);
  return text;
}

/** The value of one series, as a scrape writes it. */
export function seriesValue(text: string, series: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  if (line === undefined) throw new Error(`there is no series ${series}:\n${text}`);
  return Number(line.slice(series.length));
}

/** The names of the metrics in a scrape. */
export const namesIn = (text: string): string[] => [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name);
