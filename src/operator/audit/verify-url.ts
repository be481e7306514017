import {
  accountOf,
  COSIGNATURE,
  type KeptCheckpoint,
  parseSignedCheckpoint,
  parseVerifier,
  type VerifierKey,
} from '../../event-log/index.js';
import { CheckFailed, OperatorError } from '../../kernel/operator-error.js';
import { CheckpointKeys, verifierIn } from '../checkpoint-keys.js';
import { MAX_AWAY_MS, patiently } from '../http/patiently.js';
import { ServiceApi } from '../http/service-api.js';
import { tell } from '../print.js';
import type { Printing } from '../table.js';
import { ExportedLog } from './exported-log.js';
import { readKept } from './kept-checkpoints.js';
import { printFileVerification } from './printed-verification.js';
import { NoCheckpoint, WitnessedService } from './witness/witnessed-service.js';

interface Evidence extends Printing {
  readonly apiKeyFile: string;
  /** Public keys, as texts or files. */
  readonly key: readonly string[];
  /** Files of checkpoints. */
  readonly checkpoint: readonly string[];
}

const WAY_OUT = 'give the public key of the log with --key';

/**
 * Checks the log of the API key's account over HTTP alone. What comes from the URL itself, as the log does, is trusted
 * and named.
 */
export async function verifyUrl(url: URL, { apiKeyFile, key, checkpoint, json }: Evidence): Promise<void> {
  const given = await Promise.all(key.map(verifierIn));
  const api = await ServiceApi.withKeyIn(apiKeyFile, url);
  const patience = { name: api.name, report: tell, maxAwayMs: MAX_AWAY_MS };
  const service = new WitnessedService(api);
  const ask = (what: () => Promise<string>) => patiently(() => what().catch(noneYet), patience);

  const known = given.filter(({ kind }) => kind !== COSIGNATURE);
  const ofLog = known.length > 0 ? known : trustedKey(api, await ask(() => service.logKey()));
  const keys = new CheckpointKeys(given.length > 0 ? given : ofLog, undefined, WAY_OUT);
  keys.tellIfNone();
  const kept = await readKept(checkpoint, keys);
  const newest = newestOf(api, await ask(() => service.checkpoint(undefined)), ofLog);
  const log = new ExportedLog(api, newest?.size ?? 0, patience);
  const all = newest === undefined ? kept : [...kept, newest];
  const { faults, events } = await printFileVerification(log.lines(), keys, all, {
    json,
    name: api.name,
    size: newest?.size,
    hiddenAt: (position) => log.hiddenAt(position),
  });
  tellOfCover(api, { kept: largest(kept), signed: largest(all), events });
  if (faults > 0) throw new CheckFailed();
}

const largest = (checkpoints: readonly KeptCheckpoint[]): number => Math.max(0, ...checkpoints.map(({ size }) => size));

function noneYet(error: unknown): undefined {
  if (!(error instanceof NoCheckpoint)) throw error;
}

function trustedKey({ name }: ServiceApi, text: string | undefined): readonly VerifierKey[] {
  if (text === undefined) return [];
  const key = parseVerifier(text.trim());
  if (key === undefined) throw new OperatorError(`${name} answers no key of a log: is this the URL of the service?`);
  tell(`the key ${text.trim()} is trusted, since it comes from ${name} as the log does: compare it, and ${WAY_OUT}`);
  return [key];
}

function newestOf(
  { name }: ServiceApi,
  text: string | undefined,
  ofLog: readonly VerifierKey[],
): KeptCheckpoint | undefined {
  if (text === undefined) return void tell(`${name} shows no checkpoint of the log`);
  const note = parseSignedCheckpoint(text);
  if (note === undefined) throw new OperatorError(`${name} answers no checkpoint: is this the URL of the service?`);
  const { checkpoint } = note;
  const isSigned = new CheckpointKeys(ofLog, undefined, WAY_OUT).haveSigned(note, checkpoint, accountOf(checkpoint));
  return { ...checkpoint, file: `${name}/log/checkpoint`, isSigned };
}

/** Says which events only a checkpoint of the URL itself covers, and which none. */
function tellOfCover({ name }: ServiceApi, size: { kept: number; signed: number; events: number }): void {
  if (size.signed > size.kept)
    tell(
      `positions ${size.kept + 1} to ${size.signed}: the checkpoint that covers them is trusted, since it comes from ${name} as the log does. Keep it for the next check: --checkpoint`,
    );
  if (size.events > size.signed)
    tell(`positions ${size.signed + 1} to ${size.events}: covered by no checkpoint, such as events of the last second`);
}
