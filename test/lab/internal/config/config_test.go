package config_test

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
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
		node := config.Node{Number: 1, CPUManager: policy}
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
	compareGolden(t, "daemons.sh", daemons(config.Node{Number: 1}))
}

// TestWorkerGoldens compares the files of a worker that differ from those of node 1.
func TestWorkerGoldens(t *testing.T) {
	first, err := config.Node{Number: 1, CPUManager: "none"}.Files()
	if err != nil {
		t.Fatal(err)
	}
	worker := config.Node{Number: 2, CPUManager: "none"}
	files, err := worker.Files()
	if err != nil {
		t.Fatal(err)
	}
	var differ []string
	for place, data := range files {
		if string(data) != string(first[place]) {
			differ = append(differ, filepath.Base(place))
			compareGolden(t, "worker-"+filepath.Base(place), data)
		}
	}
	slices.Sort(differ)
	if diff := cmp.Diff([]string{"10-bridge.conflist", "hostname", "hosts", "kube-proxy.yaml"}, differ); diff != "" {
		t.Errorf("unexpected files differ from those of node 1 (-want +got):\n%s", diff)
	}
	compareGolden(t, "worker-daemons.sh", daemons(worker))
}

// TestMachineGoldens compares the files that the machine has instead of a worker's.
func TestMachineGoldens(t *testing.T) {
	worker, err := config.Node{Number: 2, CPUManager: "static"}.Files()
	if err != nil {
		t.Fatal(err)
	}
	machine := config.Node{Number: config.MachineNumber, CPUManager: "static"}
	files, err := machine.Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{config.ConfigDir + "/kubelet.yaml", config.StaticPodDir + "/shell.yaml"} {
		compareGolden(t, "machine-"+filepath.Base(place), files[place])
	}
	if _, found := worker[config.StaticPodDir+"/shell.yaml"]; found {
		t.Error("a worker has the machine's shell")
	}
	if machine.DaemonCPUs() != "" {
		t.Errorf("QEMU is confined to the CPUs %s", machine.DaemonCPUs())
	}
}

func daemons(n config.Node) []byte {
	var lines bytes.Buffer
	for _, d := range n.Daemons() {
		fmt.Fprintf(&lines, "# %s, after %q\n%s\n\n", d.Name, d.Needs, strings.Join(d.Args, " \\\n  "))
	}
	return lines.Bytes()
}

// TestNodesDiffer checks what must differ between any two nodes.
func TestNodesDiffer(t *testing.T) {
	nodes := append((config.Node{Number: 1}).Others(), config.Node{Number: 1})
	if len(nodes) != config.MaxNodes {
		t.Fatalf("node 1 knows %d others, want all but itself of %d", len(nodes)-1, config.MaxNodes)
	}
	seen := map[string]config.Node{}
	_, all, err := net.ParseCIDR(config.PodCIDR)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		for _, value := range []string{n.Name(), n.IP(), n.PodCIDR()} {
			if other, taken := seen[value]; taken {
				t.Errorf("%s has %s, as %s has", n.Name(), value, other.Name())
			}
			seen[value] = n
		}
		address, _, err := net.ParseCIDR(n.PodCIDR())
		if err != nil || !all.Contains(address) {
			t.Errorf("the pods' addresses %s of %s are outside of the cluster's %s: %v", n.PodCIDR(), n.Name(), config.PodCIDR, err)
		}
		if _, _, err := net.ParseCIDR(n.Prefix()); err != nil {
			t.Error(err)
		}
		if local := strings.Contains(n.APIServerURL(), "127.0.0.1"); local != n.ControlPlane() {
			t.Errorf("%s finds the API server at %s", n.Name(), n.APIServerURL())
		}
	}
}

func TestRoutes(t *testing.T) {
	want := []config.Route{{"", "172.30.0.1"}, {"10.244.0.0/24", "172.30.0.2"}, {"10.244.2.0/24", "172.30.0.4"}}
	if diff := cmp.Diff(want, (config.Node{Number: 2}).Routes()); diff != "" {
		t.Errorf("unexpected routes (-want +got):\n%s", diff)
	}
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
	files, err := config.Node{Number: 1, CPUManager: "static"}.Files()
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
	for _, want := range []string{"path: " + config.VolumeDir, "values: [" + (config.Node{Number: 1}).Name() + "]"} {
		if !strings.Contains(manifests.Volume, want+"}") {
			t.Errorf("the volume's manifest does not say %q", want)
		}
	}
}
