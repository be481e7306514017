import { readFile } from 'node:fs/promises';

/** The shell blocks of one section of a document of this repository, in order. */
export async function shellBlocksOf(document: string, section: string): Promise<string[]> {
  const text = await readFile(new URL(`../../${document}`, import.meta.url), 'utf8');
  const [, rest = ''] = text.split(`\n## ${section}\n`);
  const [body = ''] = rest.split(/\n## /);
  return [...body.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block);
}
