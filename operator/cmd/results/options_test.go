package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"vnfbench.io/operator/internal/controller/watches"
)

func TestParse(t *testing.T) {
	o, err := parse(strings.Fields("-archive s3://lab -namespace a,b -metrics-bind-address 0 -shutdown-timeout 7s -log-format text -index-size 1Gi"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if o.archiveURL != "s3://lab" || o.namespaces.String() != "a,b" || o.shutdownTimeout != 7*time.Second || o.indexBytes != 1<<30 {
		t.Errorf("%+v", o)
	}
	settings, err := o.manager(watches.New(clock.RealClock{}), o.namespaces)
	if err != nil || len(settings.Cache.DefaultNamespaces) != 2 || settings.Metrics.BindAddress != "0" || settings.LeaderElection {
		t.Errorf("%+v, %v", settings, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, arguments := range map[string]string{
		"no archive":      "",
		"an argument":     "-archive mem:// start",
		"log format":      "-archive mem:// -log-format xml",
		"a small index":   "-archive mem:// -index-size 1Mi",
		"no size":         "-archive mem:// -index-size large",
		"no time to stop": "-archive mem:// -shutdown-timeout 0s",
		"unknown flag":    "-archive mem:// -bucket x",
		"authentication":  "-archive mem:// -pages-authentication Password",
		"a proxy without the name of its certificate": "-archive mem:// -pages-authentication Proxy -proxy-authorities ca.crt",
	} {
		if _, err := parse(strings.Fields(arguments), io.Discard); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
