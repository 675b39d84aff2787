package v1alpha1_test

import (
	"os"
	"testing"
)

// TestCRDsStaySmall holds the bytes of the CRDs below limits: every client that lists the API's
// types reads them all. A new field costs 200 bytes at the top of the status and 400 in its depth.
// A type that occurs in several places can be one list whose entries have a FigureKey.
func TestCRDsStaySmall(t *testing.T) {
	for file, limit := range map[string]int64{
		"vnfbench.io_benchmarkruns.yaml": 370_000,
		"vnfbench.io_testbeds.yaml":      77_000,
	} {
		info, err := os.Stat("../../../config/crd/bases/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > limit {
			t.Errorf("%s has %d bytes, at most %d are allowed", file, info.Size(), limit)
		}
	}
}
