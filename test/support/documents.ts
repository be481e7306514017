import { readdirSync, readFileSync } from 'node:fs';

export const REPOSITORY = new URL('../../', import.meta.url).pathname;

export const DOCUMENTS: readonly string[] = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'test/README.md',
  ...readdirSync(`${REPOSITORY}/docs`, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
];

export const textOf = (document: string): string => readFileSync(`${REPOSITORY}/${document}`, 'utf8');

/**
 * The runs of blocks of commands. A block that begins with ```sh NAME belongs to the run of this name, whose documents
 * are run in order in one terminal, by a spec that calls `blocksOf`. A block without a run fails `documents.spec.ts`.
 */
export const RUNS = {
  start: ['README.md'],
  login: ['README.md'],
  tour: ['README.md', 'docs/tour.md', 'docs/audit.md', 'docs/evidence.md'],
  'tour-end': ['docs/tour.md'],
  questions: ['docs/audit.md'],
  collector: ['docs/collectors.md'],
  'gateway-start': ['docs/gateways.md'],
  gateway: ['docs/gateways.md', 'docs/keys-and-rules.md'],
  reservations: ['docs/reservations.md'],
  enrol: ['docs/enrolment.md'],
  'traffic-policies': ['docs/traffic-policies.md'],
  'own-gateway-start': ['docs/own-gateway.md'],
  'own-gateway': ['docs/own-gateway.md'],
  operating: ['docs/operating.md', 'docs/monitoring.md', 'docs/backup.md', 'docs/database.md'],
  moving: ['docs/backup.md'],
  packages: ['docs/failover.md'],
  'failover-database': ['docs/failover.md'],
  'sshd-setup': ['docs/sshd-gateway.md'],
  'sshd-start': ['docs/sshd-gateway.md'],
  'sshd-systemd': ['docs/sshd-gateway.md'],
  'sshd-credential': ['docs/sshd-gateway.md'],
  'sshd-tunnel': ['docs/sshd-gateway.md'],
  'sshd-reaper': ['docs/sshd-gateway.md'],
  'sshd-reaper-systemd': ['docs/sshd-gateway.md'],
} satisfies Record<string, readonly string[]>;

export type Run = keyof typeof RUNS;

/** A fenced block. The words after its three backticks are the language and a name. */
export interface Block {
  /** The document and the line, for messages. */
  readonly place: string;
  readonly document: string;
  readonly language: string;
  readonly name: string | undefined;
  readonly text: string;
  /** The text of the block "output" right after this one: what the commands print. A … stands for any text. */
  readonly output: string | undefined;
}

export function blocksIn(document: string): Block[] {
  const text = textOf(document);
  const fences = [...text.matchAll(/^```(\S*) ?(\S*)\n([\s\S]*?)^```\n/gm)].map((match) => {
    const [whole, language = '', name = '', body = ''] = match;
    return { language, name, text: body, start: match.index, end: match.index + whole.length };
  });
  return fences.map(({ language, name, text: body, start, end }) => {
    const output = fences.find((other) => other.start === end && other.name === 'output')?.text;
    const place = `${document}:${text.slice(0, start).split('\n').length}`;
    return { place, document, language, name: name === '' ? undefined : name, text: body, output };
  });
}

/** The blocks of commands of one run, in the order in which a reader meets them. */
export const blocksOf = (run: Run): Block[] =>
  RUNS[run].flatMap((document) => blocksIn(document).filter(({ language, name }) => language === 'sh' && name === run));

/** The commands of a transcript, a block ```text transcript: each line after "$ ", with the lines that it prints. */
export const transcriptIn = (document: string): Block[] =>
  blocksIn(document)
    .filter(({ name }) => name === 'transcript')
    .flatMap((block) =>
      block.text
        .split(/^\$ /m)
        .slice(1)
        .map((part) => {
          const [text = '', ...output] = part.split('\n');
          return { ...block, text, output: output.join('\n') };
        }),
    );

/**
 * The same command as a person sees it: a table has titles on a terminal. What stays in the background must not lose its
 * terminal, so other programs get none.
 */
export const asSeen = (block: Block): Block => ({
  ...block,
  text: block.text.startsWith('npx ')
    ? `script -qefc ${quoted(block.text)} /dev/null || true`
    : `{ ${block.text}; } 2>&1 || true`,
});

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
