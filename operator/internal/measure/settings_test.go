package measure

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDriverSettings: settings survive an indented document, and are read completely or not
// at all.
func TestDriverSettings(t *testing.T) {
	type own struct {
		Cores int `json:"cores"`
	}
	written, err := NewDriverSettings("Pigeon", own{3})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(Instructions{Driver: written}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	var read Instructions
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(written, read.Driver); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	var got own
	if err := read.Driver.Decode(&got); err != nil || got.Cores != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, text := range []string{"", `{"cores":3,"warp":9}`, `{"cores":"3"}`, `{"cores":3}{}`} {
		err := (DriverSettings{Name: "Pigeon", Settings: []byte(text)}).Decode(&own{})
		if ReasonOf(err) != reasonVersionMismatch {
			t.Errorf("%q: got %v, want %s", text, err, reasonVersionMismatch)
		}
	}
}
