package observer

import (
	"encoding/json"
	"log/slog"
	"net/http"
)

// Paths of the observer's documents.
const (
	// PathSnapshot has the counters.
	PathSnapshot = "/snapshot"
	// PathNode has what does not change during a run.
	PathNode = "/node"
)

// Handler serves a Snapshot, a Node, and /readyz.
func (o *Observer) Handler(log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, value any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(value); err != nil {
			log.Error("writing an answer", "error", err.Error())
		}
	}
	mux.HandleFunc("GET "+PathSnapshot, func(w http.ResponseWriter, _ *http.Request) {
		snapshot, err := o.Snapshot()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(w, snapshot)
	})
	mux.HandleFunc("GET "+PathNode, func(w http.ResponseWriter, _ *http.Request) { answer(w, o.Node()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answer(w, "ok") })
	return mux
}
