import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { gatewaySettingsTable, readConfig, settingsTable } from '../src/api/config/config.js';
import { parseSettingsFile } from '../src/api/config/settings-file.js';
import { type CreatedSshCredential, create } from '../src/api/ssh-credentials/ssh-credential.js';
import { sshCredentialsReadModel } from '../src/api/ssh-credentials/ssh-credentials.read-model.js';
import { appendStatement } from '../src/event-log/append/append-statement.js';
import { prepareAppend } from '../src/event-log/append/prepared-append.js';
import { fold } from '../src/event-log/read-model.js';
import { PROBLEMS } from '../src/kernel/problem.js';
import { blocksIn, DOCUMENTS, REPOSITORY, RUNS, textOf } from './support/documents.js';

const BLOCKS = DOCUMENTS.flatMap(blocksIn);
/** Languages of blocks that hold no commands; those of clients are for their readers. A block of commands is `sh`. */
const NOT_COMMANDS = ['text', 'json', 'yaml', 'dotenv', 'js', 'python', 'go', 'hcl'];
const withoutBlocks = (document: string): string => textOf(document).replace(/^```[\s\S]*?^```$/gm, '');

describe('every block of commands in a document', () => {
  // A new block: name it after a run of test/support/documents.ts, ```sh NAME.
  it('belongs to a run', () => {
    const blocks = BLOCKS.filter(({ language }) => !NOT_COMMANDS.includes(language));
    const runOf = ({ language, document, name }: (typeof blocks)[number]) =>
      Object.entries(RUNS).find(
        ([run, documents]) => language === 'sh' && run === name && documents.includes(document),
      );
    expect(blocks.length).toBeGreaterThan(30);
    expect(blocks.filter((block) => runOf(block) === undefined).map(({ place }) => place)).toEqual([]);
  });

  it('belongs to a run of some test, and every run has blocks', () => {
    const test = join(REPOSITORY, 'test');
    const files = readdirSync(test, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    const sources = files.map((file) => readFileSync(join(test, file), 'utf8')).join('\n');
    const called = [...sources.matchAll(/(?:blocksOf|commandsOf)\('([\w-]+)'\)/g)].map(([, run]) => run);
    expect(Object.keys(RUNS).filter((run) => !called.includes(run))).toEqual([]);
    expect(Object.keys(RUNS).filter((run) => BLOCKS.every(({ name }) => name !== run))).toEqual([]);
  });

  it('is fenced, as every other block is', () => {
    expect(DOCUMENTS.filter((document) => /\n\n {4,}\S/.test(withoutBlocks(document)))).toEqual([]);
    expect(BLOCKS.filter(({ text }) => text.includes('```')).map(({ place }) => place)).toEqual([]);
  });
});

it('every output in a document stands right after the commands that print it', () => {
  const outputs = BLOCKS.filter(({ name }) => name === 'output');
  expect(outputs.length).toBe(BLOCKS.filter(({ output }) => output !== undefined).length);
});

it('every script that a document calls by `npm run` is in package.json', () => {
  const { scripts } = JSON.parse(textOf('package.json'));
  const called = DOCUMENTS.flatMap((document) =>
    [...textOf(document).matchAll(/npm run (?:--silent )?([\w:]+)/g)].map(([, script = '']) => script),
  );
  expect(called.filter((script) => scripts[script] === undefined)).toEqual([]);
});

it('the service accepts every block of settings in a document', () => {
  const blocks = BLOCKS.filter(({ language }) => language === 'dotenv');
  expect(blocks.length).toBeGreaterThan(2);
  for (const { place, text } of blocks) {
    const settings = Object.fromEntries(parseSettingsFile(text));
    expect([place, Object.keys(settings).filter((name) => !settingsTable().includes(`| \`${name}\` |`))]).toEqual([
      place,
      [],
    ]);
    expect(() => readConfig(settings)).not.toThrow();
  }
});

it('docs/append-statement.sql is what appends a new SSH credential; look at the difference, and accept it with `npm run settings`', () => {
  const credential = { key_type: 'ssh-ed25519', fingerprint: 'SHA256:x' } as CreatedSshCredential;
  const events = create(credential);
  const [entity, at] = [{ accountId: 'ac_1', id: 'sshcr_1' }, new Date()];
  const after = fold(sshCredentialsReadModel, entity, undefined, events, at);
  const stream = { model: sshCredentialsReadModel, id: entity.id, before: undefined, events, after };
  const append = { accountId: entity.accountId, metadata: { actor: 'usr_1' }, occurredAt: at, streams: [stream] };
  const { text } = appendStatement(entity.accountId, [prepareAppend(append, 0)]);
  const file = join(REPOSITORY, 'docs/append-statement.sql');
  if (process.env.ACCEPT_SETTINGS === 'true') writeFileSync(file, `${text}\n`);
  expect(`${text}\n`).toBe(readFileSync(file, 'utf8'));
});

it('URLs in settings of a document are quoted: a shell ends one at an &, and takes the rest for a command', () => {
  const lines = DOCUMENTS.flatMap((document) => textOf(document).split('\n'));
  expect(lines.filter((line) => /^[A-Z_]+=[a-z]+:\/\//.test(line))).toEqual([]);
  expect(lines.filter((line) => /^[A-Z_]*DATABASE_URL="postgres:/.test(line)).length).toBeGreaterThan(3);
});

it('the body of a request in a document survives the comment of a key, which may have a backslash', () => {
  expect(DOCUMENTS.filter((document) => /\$\(cat [^)]*\.pub/.test(textOf(document)))).toEqual([]);
});

describe.each([
  ['docs/settings.md', 'settings', settingsTable],
  ['docs/own-gateway.md', 'gateway settings', gatewaySettingsTable],
])('the table of %s', (file, name, tableNow) => {
  const TABLE = new RegExp(`(<!-- ${name}: .*-->\n)([\\s\\S]*?)\n?(<!-- end of ${name} -->)`);

  it('is that of src/api/config/config.ts; look at the difference, and accept it with `npm run settings`', () => {
    if (process.env.ACCEPT_SETTINGS === 'true') {
      const text = textOf(file).replace(
        TABLE,
        (_, start: string, _table, end: string) => `${start}${tableNow()}\n${end}`,
      );
      writeFileSync(join(REPOSITORY, file), text);
    }
    const [, , table = ''] = TABLE.exec(textOf(file)) ?? [];
    expect(table.split('\n')).toEqual(tableNow().split('\n'));
  });
});

it('docs/api.md says what to do about every code of an error, and knows no other', () => {
  const [, errors = ''] = textOf('docs/api.md').split('\n## Errors\n');
  const rows = errors.split('\n').filter((line) => line.startsWith('| '));
  const documented = rows.flatMap((row) => [...row.matchAll(/`(ERR_\w+)`/g)].map(([, code = '']) => code));
  expect([...new Set(documented)].sort()).toEqual([...new Set(Object.values(PROBLEMS).map(([, code]) => code))].sort());
});

describe('a link in a document', () => {
  /** The anchors that GitHub makes of the headings. */
  const anchorsOf = (document: string): string[] =>
    [...withoutBlocks(document).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    );
  const links = DOCUMENTS.flatMap((document) =>
    [...withoutBlocks(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => ({ document, target })),
  ).filter(({ target }) => !/^[a-z]+:/.test(target));

  it('leads to a file and a heading that exist', () => {
    const broken = links.filter(({ document, target }) => {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? document : join(dirname(document), path);
      if (!existsSync(join(REPOSITORY, file))) return true;
      return anchor !== undefined && !anchorsOf(file).includes(anchor);
    });
    expect(links.length).toBeGreaterThan(40);
    expect(broken).toEqual([]);
  });

  it('leads from the README to every document', () => {
    const fromReadme = links.filter(({ document }) => document === 'README.md').map(({ target }) => target);
    expect(DOCUMENTS.filter((document) => document !== 'README.md' && !fromReadme.includes(document))).toEqual([]);
  });
});

describe('a document is read in a terminal and beside code', () => {
  const prose = (document: string) => withoutBlocks(document).split('\n');

  it('has no line over 120 characters but tables and pictures', () => {
    const lines = DOCUMENTS.flatMap(prose).filter((line) => !/^\s*(\||!\[)/.test(line));
    expect(lines.length).toBeGreaterThan(2_000);
    expect(lines.filter((line) => line.length > 120)).toEqual([]);
  });

  it('has no cell of a table over 25 words', () => {
    const cells = DOCUMENTS.flatMap(prose).flatMap((line) => (/^\s*\|/.test(line) ? line.split(/(?<!\\)\|/) : []));
    expect(cells.length).toBeGreaterThan(1_000);
    expect(cells.filter((cell) => cell.trim().split(/\s+/).length > 25)).toEqual([]);
  });
});

it('the README fits on a few screens', () => {
  expect(textOf('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(150);
});
