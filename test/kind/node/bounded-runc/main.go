// bounded-runc is runc for a machine that may not hold every capability the kernel knows. A privileged container is given
// all of them, and runc cannot start it when one lies outside the bounding set of the machine; so bounded-runc takes such
// capabilities out of the container's configuration, and then becomes runc. It never adds any.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/moby/sys/capability"
	"github.com/opencontainers/runtime-spec/specs-go"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bounded-runc:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if bundle := valueOf(args, "--bundle", "-b"); bundle != "" {
		if err := edit(filepath.Join(bundle, "config.json"), "process"); err != nil {
			return err
		}
	}
	if process := valueOf(args, "--process", "-p"); process != "" {
		if err := edit(process); err != nil {
			return err
		}
	}
	runc, err := exec.LookPath("runc")
	if err != nil {
		return err
	}
	return syscall.Exec(runc, append([]string{runc}, args...), os.Environ())
}

// valueOf finds a flag's value in "--flag value" or "--flag=value".
func valueOf(args []string, names ...string) string {
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		switch {
		case !slices.Contains(names, name):
		case joined:
			return value
		case i+1 < len(args):
			return args[i+1]
		}
	}
	return ""
}

// edit bounds the capabilities of the process that the JSON in file describes, at the given key or as a whole. All else in
// the file stays as it is, known to this program or not.
func edit(file string, key ...string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err = rewrite(text, append(key, "capabilities"))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, text, 0o600)
}

func rewrite(text json.RawMessage, path []string) (json.RawMessage, error) {
	if len(path) == 0 {
		return boundText(text)
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	inner, found := fields[path[0]]
	if !found || string(inner) == "null" {
		return text, nil
	}
	inner, err := rewrite(inner, path[1:])
	if err != nil {
		return nil, err
	}
	fields[path[0]] = inner
	return json.Marshal(fields)
}

func boundText(text json.RawMessage) (json.RawMessage, error) {
	var sets specs.LinuxCapabilities
	if err := json.Unmarshal(text, &sets); err != nil {
		return nil, err
	}
	own, err := capability.NewPid2(0)
	if err != nil {
		return nil, err
	}
	if err := own.Load(); err != nil {
		return nil, err
	}
	held := map[string]bool{}
	for _, c := range capability.ListKnown() {
		held["CAP_"+strings.ToUpper(c.String())] = own.Get(capability.BOUNDING, c)
	}
	for _, set := range []*[]string{&sets.Bounding, &sets.Effective, &sets.Inheritable, &sets.Permitted, &sets.Ambient} {
		*set = slices.DeleteFunc(*set, func(name string) bool { return !held[name] })
	}
	return json.Marshal(sets)
}
