package main

import (
	"path/filepath"
	"testing"

	"github.com/intel/sriov-cni/pkg/utils"
)

func TestRequestedMAC(t *testing.T) {
	for configuration, want := range map[string]string{
		`{}`:                           "",
		`{"mac": "02:00:00:00:00:01"}`: "02:00:00:00:00:01",
		`{"mac": "02:00:00:00:00:01", "runtimeConfig": {"mac": "02:00:00:00:00:02"}}`: "02:00:00:00:00:02",
	} {
		got, err := requestedMAC([]byte(configuration))
		if err != nil || got.String() != want {
			t.Errorf("%s: got %q, %v, want %q", configuration, got, err, want)
		}
	}
	for _, configuration := range []string{`{"mac": "no"}`, `[`} {
		if _, err := requestedMAC([]byte(configuration)); err == nil {
			t.Errorf("%s: no error", configuration)
		}
	}
}

// TestStateIsKept checks that DEL finds all that ADD has kept, and that a second DEL finds nothing to do.
func TestStateIsKept(t *testing.T) {
	dir := t.TempDir()
	kept := state{true, "gen0", 100, 3, "gen0v3", "west"}
	if err := utils.SaveNetConf("pod", dir, "west", kept); err != nil {
		t.Fatal(err)
	}
	conf, found, err := load(filepath.Join(dir, "pod-west"))
	if err != nil || !found {
		t.Fatalf("found %v, %v", found, err)
	}
	if got := (state{conf.DPDKMode, conf.Master, conf.Vlan, conf.VFID, conf.HostIFNames, conf.ContIFNames}); got != kept {
		t.Errorf("got %+v, want %+v", got, kept)
	}
	if _, found, err := load(filepath.Join(dir, "pod-east")); err != nil || found {
		t.Errorf("what was never kept is found: %v, %v", found, err)
	}
}
