package terraform_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/mod/modfile"
)

var update = flag.Bool("update", false, "write the golden files again")

// machineryModule is Talos' library.
const machineryModule = "github.com/siderolabs/talos/pkg/machinery"

// machine is what Terraform asks the provider for one configuration; see the program taloscheck.
type machine struct {
	Name              string   `json:"name"`
	Type              string   `json:"type"`
	Cluster           string   `json:"cluster"`
	Endpoint          string   `json:"endpoint"`
	TalosVersion      string   `json:"talosVersion"`
	KubernetesVersion string   `json:"kubernetesVersion"`
	Patches           []string `json:"patches"`
	Configuration     string   `json:"configuration,omitempty"`
}

// verdict is what Talos thinks of a machine.
type verdict struct {
	Configuration, Hostname string
	KubeletConfiguration    map[string]any
	Refusals, Warnings      []string
}

// talosAnswer is what the program taloscheck answers.
type talosAnswer struct {
	Version, Linux   string
	KubernetesMinors []int
	KernelArgs       []string
	SystemReserved   map[string]string
	Machines         map[string]verdict
}

// talosPrograms are the built programs by the version of their library.
var talosPrograms = map[string]string{}

// talosProgram builds taloscheck with the library of a version of Talos. The version is that of go.mod or
// of one of talos-*.mod, which are its substitutes.
func talosProgram(t *testing.T, version string) string {
	t.Helper()
	if path := talosPrograms[version]; path != "" {
		return path
	}
	files, err := filepath.Glob("talos-*.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "go.mod") {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := modfile.Parse(file, content, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(parsed.Require, func(r *modfile.Require) bool { return r.Mod.Path == machineryModule && r.Mod.Version == version }) {
			continue
		}
		path := filepath.Join(scratchFolder, "taloscheck-"+version)
		command := exec.Command("../scripts/again.sh", "go", "build", "-modfile="+file, "-o", path, "./taloscheck")
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("building taloscheck with %s: %v\n%s", file, err, output)
		}
		talosPrograms[version] = path
		return path
	}
	t.Fatalf("neither go.mod nor one of talos-*.mod requires %s %s: tests check configurations by the code of the Talos that they are for", machineryModule, version)
	return ""
}

// askTalos lets the code of a version of Talos judge machines.
func askTalos(t *testing.T, version string, machines []machine) talosAnswer {
	t.Helper()
	question, err := json.Marshal(map[string]any{"machines": machines})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(talosProgram(t, version))
	command.Stdin = bytes.NewReader(question)
	var output, complaints bytes.Buffer
	command.Stdout, command.Stderr = &output, &complaints
	if err := command.Run(); err != nil {
		t.Fatalf("taloscheck: %v\n%s", err, complaints.Bytes())
	}
	var answer talosAnswer
	if err := json.Unmarshal(output.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Version != version {
		t.Fatalf("taloscheck is of Talos %s, want %s", answer.Version, version)
	}
	return answer
}

// ofTheTestsMachine is what Talos says of a driver's binding where the machine that judges, and not
// the one that is configured, has no IOMMU.
var ofTheTestsMachine = regexp.MustCompile(`IOMMU is not enabled|/sys/class/iommu`)

// refused says what Talos does not like about machines, and what they are called wrongly.
func refused(answer talosAnswer, machines []machine) []string {
	var found []string
	for _, one := range machines {
		judged, ok := answer.Machines[one.Name]
		if !ok {
			found = append(found, one.Name+" was not judged")
			continue
		}
		for _, complaint := range slices.Concat(judged.Refusals, judged.Warnings) {
			if !ofTheTestsMachine.MatchString(complaint) {
				found = append(found, one.Name+": "+complaint)
			}
		}
		if judged.Hostname != one.Name {
			found = append(found, fmt.Sprintf("%s is called %q", one.Name, judged.Hostname))
		}
	}
	return found
}

// resource is one of a state's.
type resource struct {
	Type, Mode string
	Index      any
	Values     json.RawMessage
}

// module is a state's module with those that it calls.
type module struct {
	Resources []resource
	Children  []module `json:"child_modules"`
}

// all are the resources of a module and of those that it calls.
func (m module) all() []resource {
	found := m.Resources
	for _, child := range m.Children {
		found = append(found, child.all()...)
	}
	return found
}

// resources are what a run of tests leaves.
func resources(t *testing.T, lines [][]byte, run string) []resource {
	t.Helper()
	var found []resource
	for _, line := range lines {
		var message struct {
			Run   string `json:"@testrun"`
			State *struct {
				Root   module `json:"root_module"`
				Values struct {
					Root module `json:"root_module"`
				}
			} `json:"test_state"`
		}
		if json.Unmarshal(line, &message) != nil || message.State == nil || message.Run != run {
			continue // a line that is not for programs, or about another run
		}
		// Terraform writes the root at the top, OpenTofu among a state's values.
		found = slices.Concat(message.State.Root.all(), message.State.Values.Root.all())
	}
	if len(found) == 0 {
		t.Fatalf("run %s leaves nothing", run)
	}
	return found
}

// managed counts what a run makes.
func managed(t *testing.T, lines [][]byte, run string) int {
	t.Helper()
	count := 0
	for _, one := range resources(t, lines, run) {
		if one.Mode == "managed" {
			count++
		}
	}
	return count
}

// requested are the configurations that a run asks the provider for.
func requested(t *testing.T, lines [][]byte, run string) []machine {
	t.Helper()
	var found []machine
	for _, one := range resources(t, lines, run) {
		if one.Type != "talos_machine_configuration" {
			continue
		}
		var values struct {
			Cluster    string   `json:"cluster_name"`
			Endpoint   string   `json:"cluster_endpoint"`
			Type       string   `json:"machine_type"`
			Talos      string   `json:"talos_version"`
			Kubernetes string   `json:"kubernetes_version"`
			Patches    []string `json:"config_patches"`
		}
		if err := json.Unmarshal(one.Values, &values); err != nil {
			t.Fatal(err)
		}
		found = append(found, machine{
			Name: fmt.Sprint(one.Index), Type: values.Type, Cluster: values.Cluster, Endpoint: values.Endpoint,
			TalosVersion: values.Talos, KubernetesVersion: values.Kubernetes, Patches: values.Patches,
		})
	}
	if len(found) == 0 {
		t.Fatalf("run %s asks for no machine's configuration", run)
	}
	return found
}

// pairing is a row of versions.md: a Talos, and what of Kubernetes it is checked with and takes.
type pairing struct {
	talos      string
	kubernetes []string
	minimum    int
	maximum    int
}

// pairings are the table of Talos and Kubernetes in versions.md.
func pairings(t *testing.T) []pairing {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(source, "versions.md"))
	if err != nil {
		t.Fatal(err)
	}
	var found []pairing
	for _, row := range regexp.MustCompile(`(?m)^\| (v1\.\d+\.\d+) \| ([0-9., ]+) \| 1\.(\d+) to 1\.(\d+) \|$`).FindAllStringSubmatch(string(page), -1) {
		one := pairing{talos: row[1], kubernetes: strings.Split(row[2], ", ")}
		one.minimum, _ = strconv.Atoi(row[3])
		one.maximum, _ = strconv.Atoi(row[4])
		found = append(found, one)
	}
	if len(found) < 2 {
		t.Fatalf("versions.md has %d rows of Talos and Kubernetes, want 2 or more", len(found))
	}
	return found
}

// TestMachineConfigurations lets Talos judge the module's configurations in each pair of
// versions that versions.md names: made and checked by that version's own code, and made
// by the newest one, as the provider does, and checked by that version's. Among them is a machine
// with mirrors of a registry and each kind of patch, and that which the page has for whole NICs.
func TestMachineConfigurations(t *testing.T) {
	said := messages(t, "modules/cluster", "cluster.tftest.hcl")
	machines := requested(t, said, "cluster")
	if len(machines) != 3 {
		t.Fatalf("%d machines, want 3", len(machines))
	}
	for _, one := range machines {
		checkGolden(t, one.Name+".yaml", strings.Join(one.Patches, "---\n"))
	}
	patched := requested(t, said, "patches_that_talos_takes")
	page, err := os.ReadFile(filepath.Join(source, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	rebind := regexp.MustCompile("(?s)<<-EOT\n(\\s*apiVersion: v1alpha1\\s*kind: PCIDriverRebindConfig\n.*?)\\s*EOT\n").FindSubmatch(page)
	if len(patched) != 1 || !strings.Contains(strings.Join(patched[0].Patches, "\n"), "RegistryMirrorConfig") || rebind == nil {
		t.Fatalf("%d machines with patches, and the page's patch is %q", len(patched), rebind)
	}
	patched[0].Patches = append(patched[0].Patches, string(rebind[1]))
	machines = append(machines, patched[0])
	rows := pairings(t)
	newest := rows[0].talos
	for _, row := range rows {
		for _, kubernetes := range row.kubernetes {
			t.Run(row.talos+"/"+kubernetes, func(t *testing.T) {
				for i := range machines {
					machines[i].TalosVersion, machines[i].KubernetesVersion, machines[i].Configuration = row.talos, kubernetes, ""
				}
				answer := askTalos(t, row.talos, machines)
				for _, complaint := range refused(answer, machines) {
					t.Error(complaint)
				}
				checkKubelet(t, answer)
				if row.talos == newest {
					return
				}
				made := askTalos(t, newest, machines)
				for i := range machines {
					machines[i].Configuration = made.Machines[machines[i].Name].Configuration
				}
				for _, complaint := range refused(askTalos(t, row.talos, machines), machines) {
					t.Errorf("made by %s: %s", newest, complaint)
				}
			})
		}
	}
}

// checkKubelet compares what the module says instead of Talos with what Talos says.
func checkKubelet(t *testing.T, answer talosAnswer) {
	t.Helper()
	kubelet := answer.Machines["dut-1"].KubeletConfiguration
	if kubelet["cpuManagerPolicy"] != "static" {
		t.Errorf("CPU manager policy %v", kubelet["cpuManagerPolicy"])
	}
	reserved, _ := kubelet["systemReserved"].(map[string]any)
	for name, want := range answer.SystemReserved {
		if reserved[name] != want {
			t.Errorf("systemReserved of %s is %v, and Talos' own %s: a list takes the place of Talos' whole one", name, reserved[name], want)
		}
	}
}

// TestTalosRefuses checks that Talos' code notices what is wrong: without this, a check
// that accepts everything would pass.
func TestTalosRefuses(t *testing.T) {
	newest := pairings(t)[0]
	valid := machine{
		Name: "cp-1", Type: "controlplane", Cluster: "nfv-lab", Endpoint: "https://192.0.2.11:6443",
		TalosVersion: newest.talos, KubernetesVersion: newest.kubernetes[0],
		Patches: []string{"machine: {install: {disk: /dev/sda}}", "{apiVersion: v1alpha1, kind: HostnameConfig, auto: \"off\", hostname: cp-1}"},
	}
	if complaints := refused(askTalos(t, newest.talos, []machine{valid}), []machine{valid}); len(complaints) > 0 {
		t.Fatalf("the valid one: %q", complaints)
	}
	for name, test := range map[string]struct {
		change func(*machine)
		want   string
	}{
		"a field that is not there":        {func(m *machine) { m.Patches = append(m.Patches, "machine: {install: {disc: /dev/sda}}") }, "unknown keys"},
		"a list of JSON patches":           {func(m *machine) { m.Patches = append(m.Patches, "[{op: add, path: /machine/time, value: {}}]") }, "JSON6902 patches are not supported"},
		"a second name":                    {func(m *machine) { m.Patches = append(m.Patches, "machine: {network: {hostname: cp-1}}") }, "static hostname is already set"},
		"arguments next to the image's":    {func(m *machine) { m.Patches = append(m.Patches, "machine: {install: {extraKernelArgs: [iommu=pt]}}") }, "can't be used together"},
		"a Kubernetes that is too new":     {func(m *machine) { m.KubernetesVersion = fmt.Sprintf("1.%d.0", newest.maximum+1) }, "is too new to be used with Talos"},
		"a Kubernetes that is too old":     {func(m *machine) { m.KubernetesVersion = fmt.Sprintf("1.%d.0", newest.minimum-1) }, "is too old to be used with Talos"},
		"a name that Talos would make too": {func(m *machine) { m.Patches[1] = "{apiVersion: v1alpha1, kind: HostnameConfig, hostname: cp-1}" }, "cannot be set at the same time"},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := valid
			wrong.Patches = slices.Clone(valid.Patches)
			test.change(&wrong)
			complaints := refused(askTalos(t, newest.talos, []machine{wrong}), []machine{wrong})
			if !strings.Contains(strings.Join(complaints, "\n"), test.want) {
				t.Errorf("complaints %q lack %q", complaints, test.want)
			}
		})
	}
}

// TestKubernetesOfTalos compares the versions of Kubernetes that each Talos takes: in
// versions.md, in the module and its message, and in Talos' own code.
func TestKubernetesOfTalos(t *testing.T) {
	var ranges map[string]cty.Value
	for _, block := range blocks(t, filepath.Join(source, "modules/cluster")) {
		if attribute, ok := block.Body.Attributes["kubernetes"]; ok && block.Type == "locals" {
			value, diagnostics := attribute.Expr.(*hclsyntax.ObjectConsExpr).Value(nil)
			if diagnostics.HasErrors() {
				t.Fatal(diagnostics)
			}
			ranges = value.AsValueMap()
		}
	}
	rows := pairings(t)
	if len(ranges) != len(rows) {
		t.Errorf("the module knows %d versions of Talos, and versions.md %d", len(ranges), len(rows))
	}
	message, err := os.ReadFile(filepath.Join(source, "modules/cluster/variables.tf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		answer := askTalos(t, row.talos, nil)
		if got := answer.KubernetesMinors; got[0] != row.minimum || got[len(got)-1] != row.maximum {
			t.Errorf("Talos %s takes the minor versions %v of Kubernetes, and versions.md says 1.%d to 1.%d", row.talos, got, row.minimum, row.maximum)
		}
		minor := strings.Split(row.talos, ".")[1]
		want := map[string]cty.Value{"min_minor": cty.NumberIntVal(int64(row.minimum)), "max_minor": cty.NumberIntVal(int64(row.maximum))}
		if got := ranges[minor]; got == cty.NilVal || !got.RawEquals(cty.ObjectVal(want)) {
			t.Errorf("the module's versions of Kubernetes for Talos 1.%s are %#v, want %d to %d", minor, got, row.minimum, row.maximum)
		}
		if say := fmt.Sprintf("1.%d to 1.%d", row.minimum, row.maximum); !strings.Contains(string(message), "Talos 1."+minor+" takes Kubernetes "+say) &&
			!strings.Contains(string(message), "Talos 1."+minor+" takes "+say) {
			t.Errorf("the module's message does not say that Talos 1.%s takes %s", minor, say)
		}
	}
}

// TestLinuxOfTalos compares the kernel of the newest Talos with the matrix of versions, whose
// other cells test/config compares.
func TestLinuxOfTalos(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/support.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| Linux \| [^|]+ \| [^|]+ \| ([0-9.]+) \|`).FindSubmatch(page)
	if linux := askTalos(t, pairings(t)[0].talos, nil).Linux; row == nil || !strings.HasPrefix(linux, string(row[1])+".") {
		t.Errorf("Talos has Linux %s, and the matrix says %q", linux, row)
	}
}

// TestBootArguments checks that a network boot starts the kernel as an image of the newest
// Talos does: all of its arguments, after those of the network and the console.
func TestBootArguments(t *testing.T) {
	var got []string
	if err := json.Unmarshal(outputs(t, "modules/baremetal-nodes", "stable.tftest.hcl")["boot_args"], &got); err != nil {
		t.Fatal(err)
	}
	want := slices.Concat([]string{"initrd=initramfs.xz", "talos.platform=metal", "console=tty0"}, askTalos(t, pairings(t)[0].talos, nil).KernelArgs)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the network boot's arguments are\n%q, want\n%q", got, want)
	}
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
