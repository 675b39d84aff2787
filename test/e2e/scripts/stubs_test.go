package scripts

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stubbed are the programs that this test's binary acts as; tools are real.
var (
	stubbed = []string{"kubectl", "make", "go", "kind", "k3d", "minikube", "load images", "lab"}
	tools   = []string{"awk", "bash", "cat", "dirname", "grep", "mktemp", "rm", "sed", "sh", "tail"}
)

// answer is what a stub prints and how it ends.
type answer struct {
	Out  string
	Code int
}

// answers have the beginning of a command line each; the longest that matches is taken. Without one a stub prints nothing and succeeds.
type answers map[string]answer

// call is one start of a stub.
type call struct {
	Line string
	// Kubeconfig is the content of the file that KUBECONFIG names, Mode the file's.
	Kubeconfig string
	Mode       os.FileMode
	// Input is what it got with -f -.
	Input string
}

// TestMain makes the test binary act as a program of the stubs.
func TestMain(m *testing.M) {
	if dir := os.Getenv("VNFBENCH_STUBS"); dir != "" {
		code, err := act(dir)
		if err != nil {
			fmt.Fprintln(os.Stderr, "stub:", err)
			code = 125
		}
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// act writes down the call and gives its answer.
func act(dir string) (code int, err error) {
	arguments := os.Args[1:]
	made := call{Line: strings.Join(append([]string{filepath.Base(os.Args[0])}, arguments...), " ")}
	if path := os.Getenv("KUBECONFIG"); path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return 0, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		made.Kubeconfig, made.Mode = string(data), info.Mode()
	}
	if strings.HasSuffix(made.Line, " -f -") {
		input, err := io.ReadAll(os.Stdin)
		if err != nil {
			return 0, err
		}
		made.Input = string(input)
	}
	line, err := json.Marshal(made)
	if err != nil {
		return 0, err
	}
	calls, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer calls.Close()
	if _, err := fmt.Fprintf(calls, "%s\n", line); err != nil {
		return 0, err
	}
	data, err := os.ReadFile(filepath.Join(dir, "answers"))
	if err != nil {
		return 0, err
	}
	var given answers
	if err := json.Unmarshal(data, &given); err != nil {
		return 0, err
	}
	best := ""
	for beginning := range given {
		if strings.HasPrefix(made.Line, beginning) && len(beginning) > len(best) {
			best = beginning
		}
	}
	fmt.Print(given[best].Out)
	return given[best].Code, nil
}

// run starts a script, with arguments, in a copy of the tree's files that it reads.
func run(t *testing.T, script string, given answers, environment ...string) (output string, calls []call, err error) {
	t.Helper()
	top, dir := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := func(target, path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range stubbed {
		link(self, filepath.Join(dir, "path", program))
	}
	for _, tool := range tools {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		link(path, filepath.Join(dir, "path", tool))
	}
	for _, path := range []string{"bin/kubectl-vnfbench", "test/scripts/prerequisites.sh", "test/scripts/image-tag.sh"} {
		link(self, filepath.Join(top, path))
	}
	link(self, filepath.Join(dir, "helm"))
	source, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"demo.sh", "demo-down.sh", "with-cluster.sh", "guard-cluster.sh", "current-cluster.sh", "e2e-extended.sh"} {
		data, err := os.ReadFile(filepath.Join(source, "test/scripts", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, "test/scripts", name), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link(filepath.Join(source, "docs"), filepath.Join(top, "docs"))
	for _, module := range []string{"test/lab", "test/e2e"} {
		if err := os.MkdirAll(filepath.Join(top, module), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	data, err := json.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "answers"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	private := t.TempDir()
	words := strings.Fields(script)
	command := exec.Command(filepath.Join(top, "test/scripts", words[0]), words[1:]...)
	command.Env = append([]string{
		"PATH=" + filepath.Join(dir, "path"), "HELM=" + filepath.Join(dir, "helm"), "VNFBENCH_STUBS=" + dir, "TMPDIR=" + private, "CLUSTER=current",
	}, environment...)
	out, failure := command.CombinedOutput()
	if left, err := os.ReadDir(private); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v (%v)", left, err)
	}
	data, err = os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatalf("nothing was called: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(data)) {
		var made call
		if err := json.Unmarshal([]byte(line), &made); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, made)
	}
	return string(out), calls, failure
}

// at is the place of the first call that begins so, -1 if there is none.
func at(calls []call, beginning string) int {
	return slices.IndexFunc(calls, func(c call) bool { return strings.HasPrefix(c.Line, beginning) })
}

// lines are the command lines of calls.
func lines(calls []call) string {
	var all strings.Builder
	for _, made := range calls {
		fmt.Fprintln(&all, made.Line)
	}
	return all.String()
}

// checkCalls checks that there are calls that begin so, in this order, and none that begins so.
func checkCalls(t *testing.T, calls []call, inOrder, never []string) {
	t.Helper()
	rest := calls
	for _, beginning := range inOrder {
		place := at(rest, beginning)
		if place < 0 {
			t.Fatalf("it did not call, or not in this order, %q:\n%s", beginning, lines(calls))
		}
		rest = rest[place+1:]
	}
	for _, beginning := range never {
		if at(calls, beginning) >= 0 {
			t.Errorf("it called %q:\n%s", beginning, lines(calls))
		}
	}
}
