/** The command line, made from the table of verbs. It decides nothing but which verb runs and what its exit code means. */
import { Argument, Command, CommanderError, Option } from "commander";
import { escapeLine } from "../escape.ts";
import { VERSION } from "../version.ts";
import { verbFirst } from "./argument-order.ts";
import { checkValues } from "./misuse.ts";
import { createSession, escaping, type Io, type SessionOptions } from "./session.ts";
import { UsageError } from "./usage-error.ts";
import { EXIT, type FlagRow, type Verb } from "./verb.ts";
import { VERBS } from "./verbs.ts";

const ABOUT = "Looks at Calico's IPAM data, explains it and mends it: on a cluster, an embedded store or a bundle.";

/** Runs one command line. @returns its exit code; nothing is thrown */
export async function runProgram(given: readonly string[], io: Io, program = "ipamctl"): Promise<number> {
  const outcome = { code: EXIT.fine as number };
  const argv = verbFirst(given, VERBS);
  try {
    await commandOf(argv, io, program, outcome).parseAsync([...argv], { from: "user" });
    return outcome.code;
  } catch (error) {
    return failed(
      error,
      io,
      program,
      VERBS.find(({ name }) => name === argv[0]),
    );
  }
}

function commandOf(argv: readonly string[], io: Io, program: string, outcome: { code: number }): Command {
  const command = new Command(program)
    .description(ABOUT)
    .helpOption("-h, --help", "Print this help.")
    .version(`${program} ${VERSION}`, "-V, --version", "Print the version of this program.")
    .helpCommand("help [verb]", "Print the help of a verb.")
    .configureOutput({
      writeOut: (text) => {
        escaping(io.stdout).write(text);
      },
      writeErr: (text) => {
        escaping(io.stderr).write(text);
      },
      outputError: () => {}, // told by `failed`, with where to look
    })
    .showSuggestionAfterError()
    .exitOverride();
  for (const verb of VERBS) {
    const line = new Command(verb.name).copyInheritedSettings(command).summary(verb.summary);
    // In the list of verbs a name and a summary are enough: flags are for the verb that is named.
    command.addCommand(argv.includes(verb.name) ? complete(line, verb, io, program, outcome) : line);
  }
  return command;
}

function complete(command: Command, verb: Verb, io: Io, program: string, outcome: { code: number }): Command {
  command.description(verb.description ? `${verb.summary}\n\n${verb.description}` : verb.summary);
  command.helpOption("-h, --help", "Print this help.").allowExcessArguments(false);
  for (const { name, help, choices } of verb.arguments ?? []) {
    const argument = new Argument(name, help);
    command.addArgument(choices ? argument.choices(choices) : argument);
  }
  for (const flag of verb.flags) command.addOption(optionOf(flag));
  command.addHelpText("after", examplesText(verb, program));
  return command.action(async (...given: unknown[]) => {
    const [options, ...values] = [command.opts(), ...given.slice(0, command.registeredArguments.length)];
    checkValues(options, (name) => command.options.find((option) => option.attributeName() === name)?.long ?? name);
    const session = createSession(io, program, options as SessionOptions);
    const { run } = await verb.load();
    outcome.code = (await run(session, { arguments: texts(values), options })) ?? EXIT.fine;
  });
}

/** Of arguments that may be repeated commander makes a list. */
const texts = (values: readonly unknown[]) => values.flat().filter((value) => typeof value === "string");

function optionOf({ flags, help, default: standard, choices, problem, hidden, group }: FlagRow): Option {
  const option = new Option(flags, help);
  if (group) option.helpGroup(group);
  if (choices) option.choices(choices);
  if (problem) option.argParser((value: string) => checked(value, problem));
  if (standard !== undefined) option.default(standard);
  return hidden ? option.hideHelp() : option;
}

/** @throws UsageError */
function checked(value: string, problemOf: NonNullable<FlagRow["problem"]>): string {
  const problem = problemOf(value);
  if (problem !== undefined) throw new UsageError(problem);
  return value;
}

function examplesText({ examples }: Verb, program: string): string {
  const lines = examples.map(({ command, does }) => `  # ${does}\n  ${program} ${command}`);
  return lines.length === 0 ? "" : `\nExamples:\n${lines.join("\n")}`;
}

/** Tells what went wrong in one line, and gives the exit code for it. */
function failed(error: unknown, io: Io, program: string, verb: Verb | undefined): number {
  const [{ signal }, stderr] = [io, escaping(io.stderr)];
  if (error instanceof CommanderError && error.exitCode === 0) return EXIT.fine; // help was asked for and printed
  if (signal.aborted) {
    stderr.write(`${program}: stopped\n`);
    return EXIT.interrupted;
  }
  const usage = error instanceof CommanderError || error instanceof UsageError;
  if (error instanceof CommanderError && error.code === "commander.help") return EXIT.usage; // no verb: help was printed
  stderr.write(`${program}: ${messageOf(error)}\n`);
  if (usage) stderr.write(`See '${[program, ...(verb ? [verb.name] : [])].join(" ")} --help'.\n`);
  return usage ? EXIT.usage : EXIT.error;
}

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return escapeLine(message.replace(/^error: /, "").replace(/\s*\n\s*/g, " "));
}
