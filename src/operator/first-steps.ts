/** What a newcomer to the embedded store may do next: the lines after the first answer. */
import { INSTALLATION_API_VERSION } from "../api/installation.ts";

/**
 * @param folder the manifests folder, as the user named it
 * @param file the file in it that holds the Installation; undefined where none does
 */
export function tryIt(folder: string, file: string | undefined): string[] {
  const begin =
    file === undefined
      ? `Try it: write the Installation into a file of ${folder}, such as ${folder}/installation.yaml, and save it.`
      : `Try it: change a value in ${folder}/${file} and save it.`;
  return [
    `${begin} Or break a rule: strictAffinity: false beside`,
    "maxBlocksPerHost: 8 is refused, and the last good configuration stays in force. Ctrl-C ends it.",
  ];
}

/** What to write where there is no Installation yet. */
export function howToBegin(folder: string): string[] {
  return [
    `To begin, save this as ${folder}/installation.yaml:`,
    "",
    `  apiVersion: ${INSTALLATION_API_VERSION}`,
    "  kind: Installation",
    "  metadata: {name: default}",
    "  spec:",
    "    managementPolicy: Enforce",
    "    ipam: {strictAffinity: true, maxBlocksPerHost: 8}",
  ];
}
