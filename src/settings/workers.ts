import { availableParallelism } from 'node:os';
import { integer } from './parsers.js';
import type { SettingsOf } from './setting.js';

/** How many processes serve. */
export interface WorkerSettings {
  /** 1: the process that starts serves by itself. */
  readonly workers: number;
}

const MAX_WORKERS = 64;
/** Further workers would wait for the database, which needs cores too. */
const MAX_AUTOMATIC_WORKERS = 8;

/** One core is left to the database. */
export const workersFor = (cores: number): number => Math.min(MAX_AUTOMATIC_WORKERS, Math.max(1, cores - 1));

function workers(value: string): number {
  if (value === 'auto') return workersFor(availableParallelism());
  try {
    return integer(1, MAX_WORKERS)(value);
  } catch {
    throw new Error(`must be auto or a whole number from 1 to ${MAX_WORKERS}`);
  }
}

export const WORKERS = {
  workers: {
    name: 'WORKERS',
    about:
      'Processes that serve behind the port, for a machine with several cores; `auto`: one less than its cores, at least 1 and at most 8. See [Several processes](operating.md#several-processes).',
    example: 'auto',
    fallback: 1,
    parse: workers,
  },
} satisfies SettingsOf<WorkerSettings>;

/** The pools that the workers share out, and what each worker needs and by default has of them. */
const POOLS = {
  databasePoolSize: { min: 2, usual: 4 },
  dearReadConnections: { min: 2, usual: 2 },
  replicaPoolSize: { min: 1, usual: 2 },
} as const;
type Pool = keyof typeof POOLS;
const POOL_NAMES = Object.keys(POOLS) as Pool[];

/** The settings that depend on the number of workers. */
type Pools = WorkerSettings & Readonly<Record<Pool, number>>;

/** Grows the pools that are not set until each worker has what it usually needs. */
export function withPoolsForWorkers<Config extends Pools>(config: Config, isSet: (pool: Pool) => boolean): Config {
  const sizes = POOL_NAMES.filter((pool) => !isSet(pool)).map((pool) => [
    pool,
    Math.max(config[pool], POOLS[pool].usual * config.workers),
  ]);
  return { ...config, ...Object.fromEntries(sizes) };
}

/** Says which pool cannot give each worker what it needs. */
export function poolTooSmall(config: Pools, nameOf: (pool: Pool) => string): string | undefined {
  const pool = POOL_NAMES.find((name) => config[name] < POOLS[name].min * config.workers);
  if (pool === undefined || config.workers === 1) return undefined;
  const needed = POOLS[pool].min * config.workers;
  return `${nameOf(pool)} is ${config[pool]}, too few for ${config.workers} workers, which share it out: set it to ${needed} or more, or lower WORKERS`;
}

/** The settings of one worker, whose number begins with 1: its shares of the pools add up to the whole with the others'. */
export function configOfWorker<Config extends Pools>(config: Config, number: number): Config {
  const shareOf = (total: number): number =>
    Math.floor(total / config.workers) + (number <= total % config.workers ? 1 : 0);
  return { ...config, ...Object.fromEntries(POOL_NAMES.map((pool) => [pool, shareOf(config[pool])])) };
}
