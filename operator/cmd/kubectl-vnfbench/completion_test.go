package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestCompletionScripts checks that every shell that kubectl knows has a script.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		out := &bytes.Buffer{}
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: out}
		command := newCommand(streams)
		command.SetArgs([]string{"completion", shell})
		if code := execute(t.Context(), command, streams); code != exitSucceeded || !strings.Contains(out.String(), "kubectl-vnfbench") {
			t.Errorf("completion %s ends with %d and prints %q", shell, code, out)
		}
	}
}

// TestKubectlsCompletion runs the script as kubectl does, with words that contain a blank and with
// an empty word, which must arrive too.
func TestKubectlsCompletion(t *testing.T) {
	script, err := filepath.Abs("kubectl_complete-vnfbench")
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "kubectl-vnfbench"), []byte("#!/bin/sh\nprintf '<%s>' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(script, "watch", "-n", "a b", "")
	command.Env = append(os.Environ(), "PATH="+path+":"+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	if want := "<__complete><watch><-n><a b><>"; err != nil || string(out) != want {
		t.Errorf("it runs the plugin with %s, want %s: %v", out, want, err)
	}
}

// TestCommandsAreDocumented checks that the reference has every command, and that each has a help text and an example.
func TestCommandsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "plugin.md"))
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(page), "\n## ")
	out := &bytes.Buffer{}
	commands := newCommand(genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: out}).Commands()
	for _, command := range commands {
		if name := command.Name(); !strings.Contains(table, "`"+name) && !strings.Contains(table, ", `"+name+"`") {
			t.Errorf("docs/reference/plugin.md lacks %s", name)
		}
		if command.Long == "" || command.Example == "" {
			t.Errorf("%s has no help text or no example", command.Name())
		}
	}
	if len(commands) < 15 {
		t.Errorf("only %d commands", len(commands))
	}
}
