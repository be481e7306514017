/**
 * Makes public-keys.corpus.json: valid and broken public keys, each with the verdict of ssh-keygen and the required
 * verdict of the service. Needs ssh-keygen (OpenSSH 9.x, which still makes DSA keys), openssl 3, puttygen and
 * dropbearkey:
 *
 *   node test/corpus/make-public-keys.mjs
 *
 * The list of cases is fixed, the keys are new in every run. Every key is made here for this corpus only, also the
 * private ones: no system accepts them.
 *
 * A case without `says` must be accepted. If ssh-keygen differs, the entry has a reason: `stricter` if only the
 * service refuses, `lenient` if only the service accepts.
 */
import { writeFileSync } from 'node:fs';
import { brokenArmourCases } from './broken-armour-cases.mjs';
import { brokenLineCases } from './broken-line-cases.mjs';
import { otherTypeCases } from './other-type-cases.mjs';
import { privateKeyCases } from './private-key-cases.mjs';
import { askSshKeygen, sshKeygenVersion } from './ssh-keygen.mjs';
import { validKeyCases } from './valid-key-cases.mjs';
import { weakKeyCases } from './weak-key-cases.mjs';

const NOTE = 'Throw-away test keys made by make-public-keys.mjs; the private ones open nothing.';

function entryOf({ what, key, form, text, says, why }) {
  const sshKeygen = askSshKeygen(text, form);
  const isAccepted = says === undefined;
  const disagreement = isAccepted === (sshKeygen.verdict === 'valid') ? undefined : isAccepted ? 'lenient' : 'stricter';
  if (disagreement && !why) complaints.push(`${disagreement} without a reason: ${what}`);
  return { what, key, form, text, sshKeygen, says, ...(disagreement && { [disagreement]: why }) };
}

const complaints = [];
const cases = [
  ...validKeyCases(),
  ...brokenLineCases(),
  ...otherTypeCases(),
  ...brokenArmourCases(),
  ...weakKeyCases(),
  ...privateKeyCases(),
];
const entries = cases.map(entryOf);
for (const complaint of complaints) console.error(complaint);
if (complaints.length > 0) process.exit(1);

const file = new URL('public-keys.corpus.json', import.meta.url);
const body = entries.map((entry) => JSON.stringify(entry)).join(',\n');
writeFileSync(
  file,
  `{"note": ${JSON.stringify(NOTE)},\n"sshKeygen": ${JSON.stringify(sshKeygenVersion())},\n"entries": [\n${body}\n]}\n`,
);
const count = (name) => entries.filter((e) => e[name] !== undefined).length;
console.log(
  `${entries.length} keys, ${count('says')} to refuse; ${count('stricter')} stricter, ${count('lenient')} more lenient`,
);
