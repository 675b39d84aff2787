package neighbor

import (
	"testing"

	"vnfbench.io/operator/internal/testing/mutate"
)

// FuzzParseGuestConfig checks that no configuration causes a panic, and that one that is accepted has
// no port or both.
func FuzzParseGuestConfig(f *testing.F) {
	seed := []byte(`{"ports": [{"name": "west", "mac": "02:00:00:00:00:02", "mtuBytes": 1500}, {"name": "east", "mac": "02:00:00:00:01:0A", "mtuBytes": 9000}]}`)
	f.Add(seed, []byte{})
	f.Add(seed, []byte{0, 3, 0, 8, 0, 5, 3, 0})
	f.Fuzz(func(t *testing.T, text, edits []byte) {
		config, err := ParseGuestConfig(mutate.JSON(text, edits))
		if err != nil {
			return
		}
		if len(config.Ports) != 0 && (len(config.Ports) != 2 || config.Ports[0].Name == config.Ports[1].Name) {
			t.Fatalf("ports %+v were accepted", config.Ports)
		}
	})
}
