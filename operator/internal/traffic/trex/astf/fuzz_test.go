package astf

import (
	"encoding/json"
	"fmt"
	"testing"

	"vnfbench.io/operator/internal/testing/mutate"
)

// FuzzCounters checks that no description and no answer of a server with counters causes a panic, and that
// only counters that are wanted are kept.
func FuzzCounters(f *testing.F) {
	var described description
	answer := map[string]json.RawMessage{}
	for i, name := range wanted {
		described.Data = append(described.Data, struct {
			ID   int    `json:"id"`
			Name string `json:"name"`
			Real bool   `json:"real"`
		}{i, name, true})
		answer[fmt.Sprint(i)] = json.RawMessage("12.5")
	}
	names, namesErr := json.Marshal(described)
	group, groupErr := json.Marshal(map[string]any{"1": map[string]any{"client": answer, "server": answer, "epoch": 3}})
	if namesErr != nil || groupErr != nil {
		f.Fatal(namesErr, groupErr)
	}
	f.Add(names, group, []byte{}, []byte{})
	f.Add(names, group, []byte{0, 9, 0, 8}, []byte{0, 9, 0, 11, 0, 4, 2, 0})
	f.Fuzz(func(t *testing.T, names, group, namesEdits, groupEdits []byte) {
		var described description
		var raw map[string]json.RawMessage
		if json.Unmarshal(mutate.JSON(names, namesEdits), &described) != nil || json.Unmarshal(mutate.JSON(group, groupEdits), &raw) != nil {
			return
		}
		byNumber, err := described.names()
		if err != nil {
			return
		}
		replies, err := groupReplies(raw, []int{1})
		if err != nil {
			return
		}
		got, err := replies[1].named(byNumber)
		if err != nil {
			return
		}
		if len(got.client) > len(wanted) || len(got.server) > len(wanted) {
			t.Fatalf("%d and %d counters are kept", len(got.client), len(got.server))
		}
		got.client.nanoseconds()
	})
}
