import { Problem } from '../problem.js';

/** 32 bytes in base64 without padding. The last character carries only 4 bits, so it is one of 16. */
const FINGERPRINT = /^SHA256:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]$/;

/** Whether `text` is a fingerprint exactly as `ssh-keygen -l` prints it. */
export const isFingerprint = (text: string): boolean => FINGERPRINT.test(text);

/** The fingerprint that a request sends. Throws request_malformed. */
export function readFingerprint(sent: string): string {
  // A plus sign in a URL arrives as a blank. Base64 has no blanks, so the blank can only be a plus sign.
  const text = sent.replaceAll(' ', '+');
  if (isFingerprint(text)) return text;
  // The message does not quote the text: it may be a private key pasted by mistake.
  throw new Problem(
    'request_malformed',
    "fingerprint must be as ssh-keygen -l prints it: 'SHA256:' and 43 characters of base64.",
  );
}
