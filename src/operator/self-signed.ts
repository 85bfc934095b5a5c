/** A certificate for HTTPS where none is given, made of the DER that RFC 5280 asks for. Its authority is nobody but itself. */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

const YEARS = 10;
/** Clocks of callers may be behind. */
const EARLIER_MS = 3_600_000;

/** DER tags. */
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OBJECT_IDENTIFIER = 0x06;
const UTF8_STRING = 0x0c;
const GENERALIZED_TIME = 0x18;
const SEQUENCE = 0x30;
const SET = 0x31;
const DNS_NAME = 0x82;
const VERSION = 0xa0;
const EXTENSIONS = 0xa3;

const ECDSA_WITH_SHA256 = der(SEQUENCE, der(OBJECT_IDENTIFIER, Buffer.from("2a8648ce3d040302", "hex")));
const COMMON_NAME = der(OBJECT_IDENTIFIER, Buffer.from("550403", "hex"));
const SUBJECT_ALT_NAME = der(OBJECT_IDENTIFIER, Buffer.from("551d11", "hex"));

/** Key and certificate in PEM; both are new with each call. `name` is a DNS name. */
export function selfSigned(name: string, now: Date): { readonly cert: string; readonly key: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issuer = der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8_STRING, Buffer.from("ipam-operator")))));
  const names = der(SEQUENCE, der(DNS_NAME, Buffer.from(name)));
  const body = der(
    SEQUENCE,
    der(VERSION, der(INTEGER, Buffer.of(2))),
    der(INTEGER, Buffer.concat([Buffer.of(1), randomBytes(15)])), // begins with 1: positive
    ECDSA_WITH_SHA256,
    issuer,
    der(SEQUENCE, time(now.getTime() - EARLIER_MS), time(new Date(now).setUTCFullYear(now.getUTCFullYear() + YEARS))),
    issuer,
    publicKey.export({ type: "spki", format: "der" }),
    der(EXTENSIONS, der(SEQUENCE, der(SEQUENCE, SUBJECT_ALT_NAME, der(OCTET_STRING, names)))),
  );
  const signature = Buffer.concat([Buffer.of(0), sign("sha256", body, privateKey)]); // no unused bits
  const certificate = der(SEQUENCE, body, ECDSA_WITH_SHA256, der(BIT_STRING, signature));
  return { cert: pem(certificate), key: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
}

function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.of(tag), lengthOf(body), body]);
}

function lengthOf({ length }: Buffer): Buffer {
  if (length < 0x80) return Buffer.of(length);
  return length < 0x100 ? Buffer.of(0x81, length) : Buffer.of(0x82, length >> 8, length & 0xff);
}

/** `20261201120000Z`: OpenSSL and Node read this form for every year. */
function time(milliseconds: number): Buffer {
  const text = new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z");
  return der(GENERALIZED_TIME, Buffer.from(text.replace(/[-:T]/g, "")));
}

function pem(certificate: Buffer): string {
  const lines = certificate.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}
