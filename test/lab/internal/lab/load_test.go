package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/internal/enter"
)

// TestLoadIntoAMachineThatStarts checks what the error says while there is no pod by which programs are run in the
// machine, and that there is none once it answers.
func TestLoadIntoAMachineThatStarts(t *testing.T) {
	l := Lab{Settings: Settings{StateDir: t.TempDir()}}
	self, err := enter.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	kube := t.TempDir()
	first := record{Node: self, KubeDir: kube}
	if err := l.member(1).save(first); err != nil {
		t.Fatal(err)
	}
	m := l.member(config.MachineNumber)
	for name, test := range map[string]struct {
		kubectl string
		says    []string
	}{
		"it starts":  {"echo 'Error from server (NotFound): pods \"shell-hw1\" not found' >&2; exit 1", []string{"hw1", "run lab up", "lab load again", `"shell-hw1" not found`}},
		"it answers": {`case "$*" in *"exec --quiet --namespace=kube-system shell-hw1 -- nsenter"*"ctr --namespace k8s.io version") ;; *) exit 1;; esac`, nil},
	} {
		if err := os.WriteFile(filepath.Join(kube, "kubectl"), []byte("#!/bin/sh\n"+test.kubectl+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		err := m.takesImages(record{})
		if (err != nil) != (test.says != nil) {
			t.Errorf("%s: got the error %v", name, err)
		}
		for _, want := range test.says {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error does not say %q: %v", name, want, err)
			}
		}
	}
	if err := l.member(2).takesImages(record{}); err != nil {
		t.Errorf("a node in namespaces: %v", err)
	}
}
