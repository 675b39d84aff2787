package terraform_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	if output, err := terraform.run(source, "fmt", "-check", "-recursive", "-diff", "-no-color"); err != nil {
		t.Errorf("run `terraform fmt -recursive terraform`: %v\n%s", err, output)
	}
}

// TestModules validates every module and root, and runs its own tests. Each
// has some: an untested module would pass by being there.
func TestModules(t *testing.T) {
	passed := regexp.MustCompile(`Success! [1-9][0-9]* passed, 0 failed`)
	for _, folder := range folders(t) {
		t.Run(folder, func(t *testing.T) {
			path := initialized(t, folder)
			if output, err := terraform.run(path, "validate", "-no-color"); err != nil {
				t.Fatalf("validate: %v\n%s", err, output)
			}
			output, err := terraform.run(path, "test", "-no-color")
			if err != nil || !passed.MatchString(output) {
				t.Fatalf("test: %v\n%s", err, output)
			}
			t.Log(lastLine(output))
		})
	}
}

// TestNoProvisioners checks that there is no provisioner: what one does is in no state and no plan.
func TestNoProvisioners(t *testing.T) {
	err := filepath.WalkDir(source, func(path string, entry os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".tf" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, word := range []string{"provisioner \"", "local-exec", "remote-exec", "count ="} {
			if strings.Contains(string(content), word) {
				t.Errorf("%s has %q: no provisioners, and for_each with stable keys instead of count", path, word)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// roots are what a user applies.
var roots = []string{"clusters/lab-proxmox", "clusters/lab-metal"}

// messages are what a run of tests says for programs, one JSON document a line.
func messages(t *testing.T, folder, file string) [][]byte {
	t.Helper()
	text, err := terraform.run(initialized(t, folder), "test", "-json", "-verbose", "-filter=tests/"+file)
	if err != nil {
		t.Fatalf("test: %v\n%s", err, text)
	}
	return lines(text)
}

// lines are those of an output.
func lines(text string) [][]byte { return bytes.Split([]byte(text), []byte("\n")) }

// state is what one run of a file of tests leaves.
type state struct {
	run     string
	outputs map[string]output
}

type output struct {
	Sensitive bool
	Value     json.RawMessage
}

// states are what the runs of a file of tests leave, in their order. Terraform
// writes the outputs with a state's other parts, OpenTofu among its values.
func states(t *testing.T, folder, file string) []state {
	t.Helper()
	var found []state
	for _, line := range messages(t, folder, file) {
		var message struct {
			Run   string `json:"@testrun"`
			State *struct {
				Outputs map[string]output
				Values  struct{ Outputs map[string]output }
			} `json:"test_state"`
		}
		if json.Unmarshal(line, &message) != nil || message.State == nil {
			continue // a line that is not for programs, or about something else
		}
		one := state{run: message.Run, outputs: message.State.Outputs}
		if one.outputs == nil {
			one.outputs = message.State.Values.Outputs
		}
		found = append(found, one)
	}
	if len(found) == 0 {
		t.Fatalf("%s of %s names no state", file, folder)
	}
	return found
}

// outputs are the values that a module's outputs have after the runs of a file of its tests.
func outputs(t *testing.T, folder, file string) map[string]json.RawMessage {
	t.Helper()
	values := map[string]json.RawMessage{}
	for _, state := range states(t, folder, file) {
		for name, output := range state.outputs {
			values[name] = output.Value
		}
	}
	return values
}

// TestOthersKeepTheirIDs checks that a machine which leaves takes no other with it: all else
// keeps the id that the provider once gave it.
func TestOthersKeepTheirIDs(t *testing.T) {
	for folder, output := range map[string]string{"modules/baremetal-nodes": "boot_ids", "modules/proxmox-nodes": "vm_ids"} {
		t.Run(folder, func(t *testing.T) {
			ids := map[string]map[string]any{}
			for _, state := range states(t, folder, "stable.tftest.hcl") {
				of := map[string]any{}
				if err := json.Unmarshal(state.outputs[output].Value, &of); err != nil {
					t.Fatalf("output %s of run %s: %v", output, state.run, err)
				}
				ids[state.run] = of
			}
			before, after := ids["three"], ids["without_the_middle"]
			if before["b"] == nil {
				t.Fatalf("b is not among %v", before)
			}
			delete(before, "b")
			if len(after) == 0 || !reflect.DeepEqual(before, after) {
				t.Errorf("ids were %v without b, and are %v", before, after)
			}
		})
	}
}

// TestOthersStay checks that what leaves a map is all that a plan removes, and nothing is
// changed or made again: with a machine no other one, and nothing in the cluster; with an
// addon no other release. The plan does not wait for the cluster's health: with the new list
// of machines a cluster is healthy after the apply.
func TestOthersStay(t *testing.T) {
	spare := regexp.MustCompile(`\["spare-1"\]$`)
	configuration := `module.cluster.talos_machine_configuration_apply.node["spare-1"]`
	for _, test := range []struct {
		folder  string
		leaves  *regexp.Regexp
		removed string
		// machines says that machines are what leaves.
		machines bool
	}{
		{"clusters/lab-proxmox", spare, configuration, true},
		{"clusters/lab-metal", spare, configuration, true},
		{"modules/addons", regexp.MustCompile(`^helm_release\.(sriov_policy\["dut-west"\]|cni_plugins\["this"\])$`), `helm_release.sriov_policy["dut-west"]`, false},
	} {
		t.Run(test.folder, func(t *testing.T) {
			removed, waitsAtApply := map[string]bool{}, false
			for _, line := range messages(t, test.folder, "stable.tftest.hcl") {
				var message struct {
					Run  string `json:"@testrun"`
					Plan *struct {
						Changes []struct {
							Address string
							Mode    string
							Change  struct{ Actions []string }
						} `json:"resource_changes"`
					} `json:"test_plan"`
				}
				if json.Unmarshal(line, &message) != nil || message.Plan == nil {
					continue
				}
				for _, change := range message.Plan.Changes {
					actions := strings.Join(change.Change.Actions, ",")
					switch {
					case strings.HasPrefix(change.Address, "module.cluster.data.talos_cluster_health.") && actions == "read" && message.Run == "without_it":
						waitsAtApply = true
					case actions == "no-op" || change.Mode == "data":
					case actions == "delete" && test.leaves.MatchString(change.Address):
						removed[change.Address] = true
					default:
						t.Errorf("%s: %s", actions, change.Address)
					}
				}
			}
			// A machine leaves with its configuration, and the policy with the plugins.
			if !removed[test.removed] || len(removed) < 2 {
				t.Errorf("removed are %v, want two, with %s", removed, test.removed)
			}
			if waitsAtApply != test.machines {
				t.Errorf("that the cluster's health waits for the apply is %t, want %t: in the plan the machines are not yet what it asks for", waitsAtApply, test.machines)
			}
		})
	}
}

// TestSecretsAreInNoPlainOutput checks that what gives power over the cluster is in
// outputs that Terraform hides, and in no other.
func TestSecretsAreInNoPlainOutput(t *testing.T) {
	// What the tests' mocks give as credentials, plain and in base64.
	secret := regexp.MustCompile(`secret-of-|c2VjcmV0`)
	for _, root := range roots {
		t.Run(root, func(t *testing.T) {
			hidden, plain := 0, 0
			for _, state := range states(t, root, "plan.tftest.hcl") {
				for name, output := range state.outputs {
					switch {
					case output.Sensitive:
						hidden++
					case secret.Match(output.Value):
						t.Errorf("output %s shows a secret", name)
					default:
						plain++
					}
				}
			}
			if hidden == 0 || plain == 0 {
				t.Errorf("found %d hidden and %d plain outputs", hidden, plain)
			}
		})
	}
}

// TestVersions checks that the page of versions says what the module pins and what the
// roots default to.
func TestVersions(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(source, "versions.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{
		"kubevirt": "KubeVirt", "multus": "Multus", "sriov": "SR-IOV network operator", "kube_prometheus_stack": "kube-prometheus-stack",
	}
	var versions map[string]string
	if err := json.Unmarshal(outputs(t, "modules/addons", "addons.tftest.hcl")["versions"], &versions); err != nil {
		t.Fatal(err)
	}
	if len(versions) != len(names) {
		t.Errorf("the module pins %v; the page's names are known of %v", versions, names)
	}
	for key, version := range versions {
		if row := "| " + names[key] + " | " + version + " |"; !bytes.Contains(page, []byte(row)) {
			t.Errorf("versions.md lacks %q", row)
		}
	}
	pinned := regexp.MustCompile(`variable "(talos|kubernetes)_version" \{[^}]*default\s*= "([^"]+)"`)
	for _, root := range roots {
		text, err := os.ReadFile(filepath.Join(source, root, "variables.tf"))
		if err != nil {
			t.Fatal(err)
		}
		found := pinned.FindAllSubmatch(text, -1)
		if len(found) != 2 {
			t.Fatalf("%s has %d versions, want 2", root, len(found))
		}
		for _, match := range found {
			name := map[string]string{"talos": "Talos", "kubernetes": "Kubernetes"}[string(match[1])]
			if row := fmt.Sprintf("| %s | %s |", name, match[2]); !bytes.Contains(page, []byte(row)) {
				t.Errorf("versions.md lacks %q, the default of %s", row, root)
			}
		}
	}
}

// TestAddons keeps what the module's own chart carries.
func TestAddons(t *testing.T) {
	var carried map[string]string
	for _, state := range states(t, "modules/addons", "addons.tftest.hcl") {
		if state.run != "everything" {
			continue
		}
		if err := json.Unmarshal(state.outputs["manifests"].Value, &carried); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"kubevirt", "vnfbench-cni-plugins", "sriov-policy-gen-west", "sriov-policy-dut-west"} {
		if carried[name] == "" {
			t.Fatalf("%s is not among %v", name, carried)
		}
		checkGolden(t, "addon-"+name+".yaml", carried[name])
	}
}

// TestLint runs tflint with the rules that it brings itself over every module
// and root.
func TestLint(t *testing.T) {
	path := os.Getenv(variableLint)
	if path == "" {
		path, _ = exec.LookPath("tflint")
	}
	if path == "" {
		t.Skip("NOT RUN: tflint is not installed, and could not be built; " + variableLint + " may name it")
	}
	rules, err := filepath.Abs(filepath.Join(source, ".tflint.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	lint := func(folder string) ([]byte, error) {
		command := exec.Command(path, "--config", rules, "--format", "compact")
		command.Dir = folder
		return command.CombinedOutput()
	}
	for _, folder := range folders(t) {
		t.Run(folder, func(t *testing.T) {
			if output, err := lint(filepath.Join(source, folder)); err != nil {
				t.Errorf("%v\n%s", err, output)
			}
		})
	}
	t.Run("finds what is wrong", func(t *testing.T) {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "main.tf"), []byte("variable \"unused\" {}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if output, err := lint(folder); err == nil || !bytes.Contains(output, []byte("terraform_unused_declarations")) {
			t.Errorf("a variable that nothing uses was accepted: %v\n%s", err, output)
		}
	})
}
