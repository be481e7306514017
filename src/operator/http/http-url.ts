import { InvalidArgumentError } from 'commander';

/** Parses an argument that is the URL of another server. */
export function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new InvalidArgumentError('It must be an https or http URL.');
  }
  if (url.username !== '' || url.password !== '') {
    throw new InvalidArgumentError('It must not hold a user or password: other users of the machine see arguments.');
  }
  return url;
}

/** Whether nobody but the two ends can read what is sent to the URL. */
export const isConfidential = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
