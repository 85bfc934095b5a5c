/** Files that hold a cluster's data: for their owner only, whatever the umask, and never written through a symbolic link. */
import { constants } from "node:fs";

/** The most that a file with a cluster's data allows. */
export const OWNER_ONLY = 0o600;

/** For `open`: makes the file, and fails where anything is there, a link included. */
export const NEW_FILE = constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW | constants.O_WRONLY;
