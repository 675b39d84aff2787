package terraform_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
)

var update = flag.Bool("update", false, "write the golden files again")

// metal is a machine that Talos is installed on.
type metal struct{}

func (metal) String() string        { return "metal" }
func (metal) RequiresInstall() bool { return true }
func (metal) InContainer() bool     { return false }

// TestMachineConfigurations gives the module's patches to Talos' own library,
// which refuses fields and values that Talos does not know, and validates the
// whole that comes out.
func TestMachineConfigurations(t *testing.T) {
	var patches map[string][]string
	if err := json.Unmarshal(outputs(t, "modules/cluster", "cluster.tftest.hcl")["patches"], &patches); err != nil {
		t.Fatal(err)
	}
	if len(patches) != 3 {
		t.Fatalf("patches of %d nodes, want 3", len(patches))
	}
	for name, documents := range patches {
		t.Run(name, func(t *testing.T) {
			checkGolden(t, name+".yaml", strings.Join(documents, "---\n"))
			kind := machine.TypeWorker
			if strings.HasPrefix(name, "cp-") {
				kind = machine.TypeControlPlane
			}
			patched := patch(t, kind, documents)
			warnings, err := patched.Validate(metal{})
			if err != nil || len(warnings) > 0 {
				t.Errorf("Talos refuses the configuration: %v, and warns of %v", err, warnings)
			}
			if got := patched.Machine().Network().Hostname(); got != name {
				t.Errorf("the machine is called %q", got)
			}
			if name != "dut-1" {
				return
			}
			if args := patched.Machine().Install().ExtraKernelArgs(); !slices.Contains(args, "nohz_full=2-7") || !slices.Contains(args, "hugepages=8") {
				t.Errorf("kernel arguments %v lack those of a quiet node", args)
			}
			if policy := patched.Machine().Kubelet().ExtraConfig()["cpuManagerPolicy"]; policy != "static" {
				t.Errorf("CPU manager policy %v", policy)
			}
		})
	}
}

// TestWrongPatchIsRefused checks that the library notices a field that is not there.
func TestWrongPatchIsRefused(t *testing.T) {
	if _, err := configpatcher.LoadPatch([]byte("machine: {install: {disc: /dev/sda}}")); err == nil {
		t.Error("was accepted")
	}
}

func patch(t *testing.T, kind machine.Type, documents []string) config.Provider {
	t.Helper()
	input, err := generate.NewInput("nfv-lab", "https://192.0.2.11:6443", "1.33.0", generate.WithVersionContract(config.TalosVersionCurrent))
	if err != nil {
		t.Fatal(err)
	}
	generated, err := input.Config(kind)
	if err != nil {
		t.Fatal(err)
	}
	var list []configpatcher.Patch
	for _, document := range documents {
		one, err := configpatcher.LoadPatch([]byte(document))
		if err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		list = append(list, one)
	}
	output, err := configpatcher.Apply(configpatcher.WithConfig(generated), list)
	if err != nil {
		t.Fatal(err)
	}
	content, err := output.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	// Read again, as a machine would.
	patched, err := configloader.NewFromBytes(content)
	if err != nil {
		t.Fatal(err)
	}
	return patched
}

// TestTestbeds keeps what the roots' examples render; the operator's admission
// tests apply the same files to an API server.
func TestTestbeds(t *testing.T) {
	for _, root := range []string{"lab-proxmox", "lab-metal"} {
		t.Run(root, func(t *testing.T) {
			var manifest string
			if err := json.Unmarshal(outputs(t, "clusters/"+root, "plan.tftest.hcl")["testbeds"], &manifest); err != nil {
				t.Fatal(err)
			}
			checkGolden(t, fmt.Sprintf("testbed-%s.yaml", root), manifest)
		})
	}
}

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs from what is rendered; look at it, then `go test -update`:\n%s", path, got)
	}
}
