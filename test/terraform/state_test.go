package terraform_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// stateStore is a backend as GitLab's: it keeps one state, and locks it.
type stateStore struct {
	mutex sync.Mutex
	state []byte
	calls []string
}

func (s *stateStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.calls = append(s.calls, r.Method+" "+r.URL.Path)
	switch {
	case strings.HasSuffix(r.URL.Path, "/lock"): // it is always free
	case r.Method == http.MethodGet && s.state == nil:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodGet:
		_, _ = w.Write(s.state) // a reader that goes away reads nothing
	case r.Method == http.MethodPost:
		content, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.state = content
	}
}

// stateBlocks are the blocks of hcl on the page about states, by a word in each.
func stateBlocks(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/how-to/terraform-state.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, match := range regexp.MustCompile("(?s)```hcl\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		for _, word := range []string{`backend "s3"`, `backend "http"`, "encryption {"} {
			if strings.Contains(match[1], word) {
				found[word] = match[1]
			}
		}
	}
	if len(found) != 3 {
		t.Fatalf("the page has %d blocks, want those of S3, HTTP and encryption", len(found))
	}
	return found
}

// TestState checks that the page's backends are read, and that the one of HTTP keeps,
// locks and gives back a state: what is applied once is not applied again.
func TestState(t *testing.T) {
	blocks := stateBlocks(t)
	const secret = "a-secret-of-the-cluster"
	const root = "resource \"terraform_data\" \"this\" {\n  input = \"" + secret + "\"\n}\n"
	folder := func(t *testing.T, texts ...string) string {
		t.Helper()
		path := t.TempDir()
		if err := os.WriteFile(filepath.Join(path, "main.tf"), []byte(root+strings.Join(texts, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	call := func(t *testing.T, path string, arguments ...string) string {
		t.Helper()
		output, err := terraform.run(path, append(arguments, "-no-color")...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", arguments, err, output)
		}
		return output
	}
	opentofu := strings.Contains(call(t, t.TempDir(), "version"), "OpenTofu")
	t.Run("s3", func(t *testing.T) {
		path := folder(t, blocks[`backend "s3"`])
		call(t, path, "init", "-backend=false")
		call(t, path, "validate")
	})
	store := func(t *testing.T, texts ...string) *stateStore {
		t.Helper()
		kept := &stateStore{}
		server := httptest.NewServer(kept)
		t.Cleanup(server.Close)
		path := folder(t, append(texts, strings.ReplaceAll(blocks[`backend "http"`], "https://git.example.com", server.URL))...)
		call(t, path, "init")
		call(t, path, "apply", "-auto-approve")
		if output := call(t, path, "plan"); !strings.Contains(output, "No changes") {
			t.Errorf("the second plan: %s", output)
		}
		return kept
	}
	t.Run("http", func(t *testing.T) {
		kept := store(t)
		const lock = "/api/v4/projects/1/terraform/state/nfv-lab/lock"
		if !slices.Contains(kept.calls, "POST "+lock) || !slices.Contains(kept.calls, "DELETE "+lock) {
			t.Errorf("calls %q lock nothing", kept.calls)
		}
		if !strings.Contains(string(kept.state), secret) {
			t.Error("the state shows no secret: then the page's warning, and the next test, say nothing")
		}
	})
	t.Run("encryption", func(t *testing.T) {
		if !opentofu {
			t.Skip("Terraform does not encrypt states; OpenTofu does, and is tested with this too")
		}
		previous := terraform.env
		terraform.env = append(slices.Clone(previous), "TF_VAR_state_passphrase=sixteen characters or more")
		t.Cleanup(func() { terraform.env = previous })
		if kept := store(t, blocks["encryption {"]); len(kept.state) == 0 || strings.Contains(string(kept.state), secret) {
			t.Errorf("a state of %d bytes shows the secret", len(kept.state))
		}
	})
}
