import type { Config } from '../../api/config/config.js';
import { requireFreeAddress } from '../../api/free-address.js';
import { parseJsonObject } from '../../kernel/json-object.js';
import { HttpClient, readAnswer } from '../../kernel/network/http-client.js';
import type { ListenAddress } from '../../kernel/settings/listen-address.js';
import { type Finding, ok, warning, wrong } from './finding.js';

const ANSWER_TIMEOUT_MS = 5_000;

/** Whether the service can listen, or already listens, at each of its addresses. */
export async function checkPorts({ host, port, metricsAddress }: Config): Promise<readonly Finding[]> {
  const findings = await checkPort(host, port);
  return metricsAddress === undefined ? findings : [...findings, await checkMetricsPort(metricsAddress)];
}

async function checkPort(host: string, port: number): Promise<readonly Finding[]> {
  const place = `port ${port} of ${host}`;
  if (port === 0) return [ok('PORT is 0, so each start takes a free one')];
  const refusal = await refusalToListen(host, port);
  if (refusal === undefined) return [ok(`${place} is free: no instance of the service listens there`)];
  if (refusal === 'EADDRNOTAVAIL' || refusal === 'ENOTFOUND') {
    return [wrong(`this machine has no address ${host}: set HOST to one that it has, or to 0.0.0.0 for all`)];
  }
  if (refusal !== 'EADDRINUSE') return [wrong(`${place} cannot be used (${refusal}): choose another PORT`)];
  return [await askListener(urlOf(host, port), place)];
}

async function checkMetricsPort({ host, port }: ListenAddress): Promise<Finding> {
  const place = `port ${port} of ${host} for the metrics`;
  const refusal = await refusalToListen(host, port);
  if (refusal === undefined) return ok(`${place} is free`);
  if (refusal !== 'EADDRINUSE') return wrong(`${place} cannot be used (${refusal}): choose another METRICS_LISTEN`);
  const metrics = await ask(`${urlOf(host, port)}/metrics`);
  return metrics.includes('\ntunnel_access_')
    ? ok(`an instance of the service serves its metrics on port ${port} of ${host}`)
    : wrong(`another program listens on ${place}: stop it, or choose another METRICS_LISTEN`);
}

async function refusalToListen(host: string, port: number): Promise<string | undefined> {
  try {
    await requireFreeAddress(host, port);
    return undefined;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  }
}

const WILDCARDS = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

function urlOf(host: string, port: number): string {
  const address = WILDCARDS.get(host) ?? host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

async function askListener(url: string, place: string): Promise<Finding> {
  const [live, ready] = (await Promise.all([ask(`${url}/livez`), ask(`${url}/readyz`)])).map(parseJsonObject);
  if (live?.status !== 'live') {
    return wrong(`another program listens on ${place}: stop it, or set another PORT`);
  }
  if (ready?.status === 'ready') return ok(`an instance of the service listens on ${place}, and is ready`);
  return warning(`an instance of the service listens on ${place}, and is not ready: ${ready?.msg ?? 'no answer'}`);
}

/** The text of the answer; empty without an answer. */
async function ask(url: string): Promise<string> {
  const answer = new HttpClient().exchange(new URL(url), {}, { maxMs: ANSWER_TIMEOUT_MS }, (one) => readAnswer(one));
  return answer.then(({ text }) => text).catch(() => '');
}
