package evidence

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"vnfbench.io/operator/internal/measure"
)

// TestAnswersWithTheToken checks that a function that shows the token in what it says about itself does not bring it into the results.
func TestAnswersWithTheToken(t *testing.T) {
	pods, address := newPods(t)
	pods.say("/status", func(w http.ResponseWriter, r *http.Request) {
		shown := answer(0, 0, 0, 0, 0)
		shown.Firewall.Implementation, shown.CountersProblem = r.Header.Get("Authorization"), r.Header.Get("Authorization")
		_ = json.NewEncoder(w).Encode(shown)
	})
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := New(measure.Sources{Functions: []measure.FunctionSource{{Name: "fw", Address: address}}}, file)
	defer c.Close()
	text, err := json.Marshal([]any{c.Device(t.Context()), c.Between(c.Before(t.Context()), c.After(t.Context(), 0), 0)})
	if err != nil || strings.Contains(string(text), "secret") || strings.Count(string(text), "Bearer [token]") < 2 {
		t.Errorf("the results have %s", text)
	}
}

// TestTokenGoesToTheSources checks that all sources get the token, and that an agent's refusal is in the record, without it
// even where the agent shows it.
func TestTokenGoesToTheSources(t *testing.T) {
	pods, address := newPods(t)
	var mu sync.Mutex
	asked := map[string]bool{}
	refuse := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.Path+" "+r.Header.Get("Authorization")] = true
		http.Error(w, "the token has expired: "+r.Header.Get("Authorization"), http.StatusUnauthorized)
	}
	for _, path := range []string{"/node", "/snapshot", "/status"} {
		pods.say(path, refuse)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := New(measure.Sources{Observer: address, Functions: []measure.FunctionSource{{Name: "fw", Address: address}, {Name: "own"}}}, file)
	defer c.Close()
	device := c.Device(t.Context())
	e := c.Between(c.Before(t.Context()), c.After(t.Context(), 0), 0)
	for _, path := range []string{"/node", "/snapshot", "/status"} {
		if !asked[path+" Bearer secret"] {
			t.Errorf("%s was not asked with the token: %v", path, asked)
		}
	}
	notes := strings.Join(append(device.Problems, e.Notes...), "; ")
	if !strings.Contains(notes, "function fw did not answer: it refused: the token has expired: Bearer [token]") || strings.Contains(notes, "secret") {
		t.Errorf("the notes are %s", notes)
	}
}

// TestOpenAgentsAreNamed checks that agents which answer without the token are named, and that one which refuses, or a
// run without tokens, is not.
func TestOpenAgentsAreNamed(t *testing.T) {
	closed, closedAddress := newPods(t)
	refuses := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			http.Error(w, "no token", http.StatusUnauthorized)
		}
	}
	closed.say("/node", refuses)
	closed.say("/status", refuses)
	old, oldAddress := newPods(t)
	old.say("/status", func(http.ResponseWriter, *http.Request) {})
	sources := measure.Sources{
		Observer:  closedAddress,
		Functions: []measure.FunctionSource{{Name: "new", Address: closedAddress}, {Name: "old", Address: oldAddress}, {Name: "own"}, {Name: "gone", Address: "127.0.0.1:1"}},
		Neighbors: []measure.NeighborSource{{Name: "stress", Address: oldAddress}},
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for tokenFile, want := range map[string]string{file: "function old, neighbor stress", "": ""} {
		c := New(sources, tokenFile)
		if got := strings.Join(c.Device(t.Context()).OpenAgents, ", "); got != want {
			t.Errorf("with token %q: %q, want %q", tokenFile, got, want)
		}
		c.Close()
	}
}
