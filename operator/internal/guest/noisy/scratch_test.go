//go:build linux

package noisy

import (
	"testing"
	"testing/fstest"

	"vnfbench.io/operator/internal/neighbor"
)

func TestFindSerial(t *testing.T) {
	for name, tc := range map[string]struct {
		serials map[string]string
		want    string
	}{
		"none":        {nil, ""},
		"another":     {map[string]string{"vda/serial": "vnfscratch2"}, ""},
		"the second":  {map[string]string{"vda/serial": "other\n", "vdb/serial": "vnfscratch"}, "vdb"},
		"with a line": {map[string]string{"vdc/serial": "vnfscratch\n"}, "vdc"},
	} {
		t.Run(name, func(t *testing.T) {
			sys := fstest.MapFS{"sr0": {}}
			for file, text := range tc.serials {
				sys[file] = &fstest.MapFile{Data: []byte(text)}
			}
			if got, err := findSerial(sys, neighbor.ScratchSerial); got != tc.want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}
