package config_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/manifests"
)

var update = flag.Bool("update", false, "write the golden files")

func TestGoldens(t *testing.T) {
	for _, policy := range []string{"none", "static"} {
		node := config.Node{Name: "node1", CPUManager: policy}
		files, err := node.Files()
		if err != nil {
			t.Fatal(err)
		}
		for place, data := range files {
			name := filepath.Base(place)
			switch {
			case policy == "none":
				compareGolden(t, name, data)
			case name == "kubelet.yaml": // nothing else depends on the policy
				compareGolden(t, "kubelet-"+policy+".yaml", data)
			}
		}
	}
	var lines strings.Builder
	for _, d := range (config.Node{Name: "node1"}).Daemons() {
		fmt.Fprintf(&lines, "# %s, after %q\n%s\n\n", d.Name, d.Needs, strings.Join(d.Args, " \\\n  "))
	}
	compareGolden(t, "daemons.sh", []byte(lines.String()))
}

func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}

func TestFilesParse(t *testing.T) {
	files, err := config.Node{Name: "node1", CPUManager: "static"}.Files()
	if err != nil {
		t.Fatal(err)
	}
	for place, data := range files {
		if strings.HasSuffix(place, ".yaml") || strings.HasPrefix(place, config.CNIConfigDir) {
			var object map[string]any
			if err := yaml.UnmarshalStrict(data, &object); err != nil || len(object) == 0 {
				t.Errorf("%s: %d fields, error %v", place, len(object), err)
			}
		}
	}
}

// TestManifestsAgree checks that the manifests, which are plain files, repeat the configuration's
// values.
func TestManifestsAgree(t *testing.T) {
	for _, want := range []string{"image: " + config.CoreDNSImage, "clusterIP: " + config.DNSIP} {
		if !strings.Contains(manifests.CoreDNS, want) {
			t.Errorf("CoreDNS's manifest does not say %q", want)
		}
	}
	for _, want := range []string{"path: " + config.VolumeDir, "values: [" + config.NodeName + "]"} {
		if !strings.Contains(manifests.Volume, want+"}") {
			t.Errorf("the volume's manifest does not say %q", want)
		}
	}
}
