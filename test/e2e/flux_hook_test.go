package e2e

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// hook is a web hook that notification-controller calls.
type hook struct {
	lock   sync.Mutex
	events []hookEvent
}

// hookEvent is what the test looks at of a notification.
type hookEvent struct {
	InvolvedObject struct{ Kind, Name string }
	Severity       string
	Reason         string
	Message        string
	Metadata       map[string]string
}

// of reports whether an event is about a commit: its metadata have the revision.
func (e *hookEvent) of(commit string) bool {
	return commit == "" || slices.ContainsFunc(slices.Collect(maps.Values(e.Metadata)), func(value string) bool { return strings.Contains(value, commit) })
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var event hookEvent
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil || json.Unmarshal(body, &event) != nil {
		http.Error(w, "no event", http.StatusBadRequest)
		return
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	h.events = append(h.events, event)
}

// about returns the failures of a Kustomization by a commit, or by any if it is empty, whose message has a text.
func (h *hook) about(name, commit, text string) []hookEvent {
	h.lock.Lock()
	defer h.lock.Unlock()
	var found []hookEvent
	for _, e := range h.events {
		if e.InvolvedObject.Kind == "Kustomization" && e.InvolvedObject.Name == name && e.Severity == "error" && e.of(commit) && strings.Contains(e.Message, text) {
			found = append(found, e)
		}
	}
	return found
}

// until waits for such a failure, and returns its message.
func (h *hook) until(t *testing.T, name, commit, text string) string {
	t.Helper()
	for deadline := time.Now().Add(onceLooked); ; time.Sleep(time.Second) {
		if found := h.about(name, commit, text); len(found) > 0 {
			return found[0].Message
		}
		if time.Now().After(deadline) {
			h.lock.Lock()
			defer h.lock.Unlock()
			t.Fatalf("the web hook got no %q of %s by %s; it got %+v", text, name, commit, h.events)
		}
	}
}
