/**
 * The YAML library, loaded when YAML is asked for. It is CommonJS: only what is imported by name from a module of ours is
 * found by the same name in the built program.
 */
export { stringify } from "yaml";
