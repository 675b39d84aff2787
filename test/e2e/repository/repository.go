// Package repository runs Git for tests, on repositories that they make.
package repository

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Isolate gives Git an author for commits until the test's end, and none of the machine's settings, such as hooks or signatures.
func Isolate(t *testing.T) {
	t.Helper()
	for _, role := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+role+"_NAME", "a test")
		t.Setenv("GIT_"+role+"_EMAIL", "test@example.com")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
}

// Git runs Git in a folder and returns what it prints, without spaces at both ends. An error ends the test.
func Git(t *testing.T, folder string, arguments ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", arguments...)
	cmd.Dir = folder
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v\n%s%s", strings.Join(arguments, " "), err, out, errors.String())
	}
	return strings.TrimSpace(string(out))
}
