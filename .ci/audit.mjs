// Fails if a package of a production installation has a known vulnerability that is high or critical.
// A registry without this service answers with an error, which is no finding: then a line says so.
import { spawnSync } from 'node:child_process';

const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], { encoding: 'utf8' });
const { metadata, vulnerabilities } = parse(stdout);
if (metadata === undefined) {
  console.log('npm audit: the registry does not offer it, so known vulnerabilities were not looked up');
} else {
  const grave = Object.values(vulnerabilities).filter(({ severity }) => ['high', 'critical'].includes(severity));
  for (const { name, severity } of grave) console.error(`npm audit: ${name} has a vulnerability that is ${severity}`);
  console.log(
    `npm audit: ${metadata.dependencies.prod} packages looked up, ${grave.length} with a grave vulnerability`,
  );
  process.exitCode = grave.length === 0 ? 0 : 1;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
