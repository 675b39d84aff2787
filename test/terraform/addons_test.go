package terraform_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

const (
	// variableHelmProvider and variableKubernetesProvider name the real providers' programs; absent,
	// their tests are not run.
	variableHelmProvider       = "VNFBENCH_HELM_PROVIDER"
	variableKubernetesProvider = "VNFBENCH_KUBERNETES_PROVIDER"
	// variableLab names the program of a lab that is up, and variableImageTag the tag of this
	// project's images there.
	variableLab      = "VNFBENCH_LAB"
	variableImageTag = "VNFBENCH_IMAGE_TAG"
	// variableKubeVirt names the manifest of KubeVirt's operator, whose images the lab has; absent,
	// KubeVirt is not asked for.
	variableKubeVirt = "VNFBENCH_KUBEVIRT_MANIFEST"
)

const (
	// systemNamespace is the operator's, and kubeVirtNamespace that of KubeVirt's own manifest.
	systemNamespace   = "vnfbench-system"
	kubeVirtNamespace = "kubevirt"
	// theOperator is its release's address in the example.
	theOperator = "module.addons.helm_release.vnfbench"
	// leftTimeout is longer than Kubernetes takes to remove what depends on what was removed.
	leftTimeout = 2 * time.Minute
	// kubeVirtTimeout is longer than KubeVirt's operator takes for a change of what is deployed.
	kubeVirtTimeout = 5 * time.Minute
)

// addonsExample is the module's example, and exampleOperator the part of it that a test changes.
const addonsExample = "examples/addons"

const exampleOperator = `vnfbench = { chart = "../../../charts/vnfbench", registry = "registry.example.com/lab", tag = "TAG" }`

// TestAddonsInTheLab applies the example of the module addons, and both roots, to a lab's cluster by
// the real providers of Helm and Kubernetes. After each step it asks the cluster, and not
// Terraform's state, what there is.
//
// The roots' machines are made by the real providers too, on a fake of Proxmox' API and on a real
// Matchbox. Talos is a substitute that makes nothing, and answers with the lab's credentials.
func TestAddonsInTheLab(t *testing.T) {
	needed := []string{
		variableHelmProvider, variableKubernetesProvider, variableLab, variableImageTag,
		variableProxmoxProvider, variableFakepve, variableMatchbox, variableMatchboxProvider,
	}
	if absent := slices.DeleteFunc(needed, func(name string) bool { return os.Getenv(name) != "" }); len(absent) > 0 {
		t.Skipf("NOT RUN: %s name nothing; make test-terraform-addons sets all of them", strings.Join(absent, ", "))
	}
	installers := map[string]string{
		"hashicorp/helm": os.Getenv(variableHelmProvider), "hashicorp/kubernetes": os.Getenv(variableKubernetesProvider),
	}
	l := lab{t: t, program: os.Getenv(variableLab), tag: os.Getenv(variableImageTag)}
	with, manifest := withProviders(t, installers), os.Getenv(variableKubeVirt)
	l.lacks(systemNamespace)
	t.Run("operator", func(t *testing.T) { applyOperator(newAddons(t, l, with, addonsExample)) })
	if manifest != "" {
		l.lacks(kubeVirtNamespace)
		t.Run("KubeVirt", func(t *testing.T) { applyKubeVirt(newAddons(t, l, with, addonsExample), manifest) })
	}
	t.Run("lab-proxmox", func(t *testing.T) { applyProxmoxRoot(t, l, installers) })
	t.Run("lab-metal", func(t *testing.T) { applyMetalRoot(t, l, installers) })
}

// applyOperator follows an operator that is installed, changed and removed.
func applyOperator(a *addons) {
	before := a.objects()
	a.configure("{}", "")
	a.run("Plan: 2 to add, 0 to change, 0 to destroy", "plan")

	// What the API server refuses in the middle leaves no release whose name the next apply would find in use.
	a.configure("extraObjects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: Not_A_Name}}]", "")
	a.refused("Not_A_Name", "apply", "-auto-approve")
	if left := a.kubectl("--namespace="+systemNamespace, "get", "secrets", "--selector=owner=helm", "--output=name"); left != "" {
		a.t.Errorf("of the release that failed, there is %s", left)
	}
	a.configure("{}", "")
	a.run("1 added, 0 changed, 0 destroyed", "apply", "-auto-approve")
	a.noChanges()
	a.operatorIsReady("256Mi")
	level := "pod-security.kubernetes.io/enforce"
	if labels := a.labels("namespace", systemNamespace); labels[level] != "privileged" {
		a.t.Errorf("the namespace has the labels %v", labels)
	}

	// A value of the chart, and a part more and less.
	a.configure("resources: {limits: {memory: 300Mi}}", "")
	a.run("0 added, 1 changed, 0 destroyed", "apply", "-auto-approve")
	a.noChanges()
	a.operatorIsReady("300Mi")
	a.configure("{}", `cni_plugins = { image = "localhost/busybox:1", folder = "/bin", plugins = ["busybox"] }`)
	a.run("1 added, 1 changed, 0 destroyed", "apply", "-auto-approve")
	a.noChanges()
	a.operatorIsReady("256Mi")
	var plugins struct {
		Status struct{ DesiredNumberScheduled, NumberReady int }
	}
	a.get(&plugins, "daemonset", "vnfbench-cni-plugins", "--namespace=kube-system")
	if plugins.Status.NumberReady == 0 || plugins.Status.NumberReady != plugins.Status.DesiredNumberScheduled {
		a.t.Errorf("plugins are on %d nodes of %d", plugins.Status.NumberReady, plugins.Status.DesiredNumberScheduled)
	}
	a.configure("{}", "")
	a.run("0 added, 0 changed, 1 destroyed", "apply", "-auto-approve")

	// What someone changes in the cluster is put right.
	a.kubectl("label", "namespace", systemNamespace, level+"=baseline", "--overwrite")
	a.run("0 added, 1 changed, 0 destroyed", "apply", "-auto-approve")
	if labels := a.labels("namespace", systemNamespace); labels[level] != "privileged" {
		a.t.Errorf("after an apply, the namespace has the labels %v", labels)
	}

	// A release that Terraform does not know is taken over by the command of the documentation.
	a.run("Successfully removed 1 resource", "state", "rm", theOperator)
	a.refused("cannot re-use a name that is still in use", "apply", "-auto-approve")
	a.operatorIsReady("256Mi")
	a.run("Import successful", "import", theOperator, systemNamespace+"/vnfbench")
	a.run("0 added, 1 changed, 0 destroyed", "apply", "-auto-approve")
	a.noChanges()
	a.operatorIsReady("256Mi")

	// Runs and Testbeds outlive the operator by their CRDs, and the next one takes these over.
	a.run("2 destroyed", "destroy", "-auto-approve")
	a.nothingLeft(before)
	a.run("2 added, 0 changed, 0 destroyed", "apply", "-auto-approve")
	a.operatorIsReady("256Mi")
	a.run("2 destroyed", "destroy", "-auto-approve")
	a.nothingLeft(before)
}

// applyKubeVirt follows KubeVirt, which is installed with the operator, changed and removed.
func applyKubeVirt(a *addons, manifest string) {
	before := a.objects()
	part := fmt.Sprintf("kubevirt = { operator_manifest = %q, use_emulation = true, host_devices = {%%s} }", manifest)
	a.configure("{}", fmt.Sprintf(part, ""))
	a.run("4 added, 0 changed, 0 destroyed", "apply", "-auto-approve")
	a.operatorIsReady("256Mi")
	a.kubeVirtIsReady("null")
	a.noChanges()

	// Devices that virtual machines may have, as KubeVirt writes their ids.
	a.configure("{}", fmt.Sprintf(part, `"intel.com/x520" = "8086:10fb"`))
	a.run("0 added, 1 changed, 0 destroyed", "apply", "-auto-approve")
	a.kubeVirtIsReady(`{"pciHostDevices":[{"pciVendorSelector":"8086:10FB","resourceName":"intel.com/x520"}]}`)
	a.noChanges()

	// KubeVirt's finalizer lets it go when its operator has removed all of it, so that one goes last.
	a.run("4 destroyed", "destroy", "-auto-approve")
	a.nothingLeft(before)
}

// applyProxmoxRoot follows the root lab-proxmox, whose machines are on a fake of Proxmox' API.
func applyProxmoxRoot(t *testing.T, l lab, installers map[string]string) {
	const root = "clusters/lab-proxmox"
	_, factory := newImageFactory(t)
	real := maps.Clone(installers)
	real["bpg/proxmox"] = os.Getenv(variableProxmoxProvider)
	l.t = t
	p := newPVE(t, os.Getenv(variableFakepve), withAnswers(t, root, real, l.answers(factory)))
	p.login("PROXMOX_VE_USERNAME=root@pam", "PROXMOX_VE_PASSWORD="+pvePassword)
	a := addonsIn(t, l, p.with, p.root)

	values := replaced(t, exampleValues(t, root), proxmoxEndpoint, p.url+"/")
	before := a.objects()
	a.applyRoot(values)
	if machines := p.machines(); len(machines) != 3 {
		t.Errorf("machines are %+v, want three", machines)
	}
	a.addMachine("2 added, 0 changed, 0 destroyed", replaced(t, values, "nodes = {", fmt.Sprintf(oneMore, "pve2")))
	a.run("Destroy complete!", "destroy", "-auto-approve")
	a.nothingLeft(before)
	p.nothingLeft()
}

// oneMoreBare is a machine more, of the image class of gen-1.
const oneMoreBare = `nodes = {
  a-1 = {
    mac          = "0c:c4:7a:00:00:41"
    role         = "worker"
    address      = "192.0.2.41/24"
    install_disk = "/dev/sda"
    measurement  = { reserved_cpus = "0-1", isolated_cpus = "2-15" }
  }`

// applyMetalRoot follows the root lab-metal, whose machines boot from a real Matchbox.
func applyMetalRoot(t *testing.T, l lab, installers map[string]string) {
	const root = "clusters/lab-metal"
	m := newMatchbox(t, os.Getenv(variableMatchbox))
	real := maps.Clone(installers)
	real["poseidon/matchbox"] = os.Getenv(variableMatchboxProvider)
	l.t = t
	a := newAddons(t, l, withAnswers(t, root, real, l.answers("http://factory.example")), root)

	values := strings.ReplaceAll(replaced(t, exampleValues(t, root), "matchbox.example:8081", m.endpoint), "~/.matchbox", m.folder)
	before := a.objects()
	a.applyRoot(values)
	script, want := get(t, "http://"+m.address+"/ipxe?mac=0c:c4:7a:00:00:31"), regexp.MustCompile(`http://factory\.example/image/[0-9a-f]{64}/v[0-9.]+/kernel-amd64`)
	if !want.MatchString(script) {
		t.Errorf("Matchbox answers dut-1\n%s\nwant %s", script, want)
	}
	a.addMachine("3 added, 0 changed, 0 destroyed", replaced(t, values, "nodes = {", oneMoreBare))
	a.run("Destroy complete!", "destroy", "-auto-approve")
	a.nothingLeft(before)
	m.nothingLeft(t)
}

// applyRoot applies a root from machines to the operator. The real providers plan the operator
// before there is an address of the cluster.
func (a *addons) applyRoot(values string) {
	a.t.Helper()
	a.write("lab.auto.tfvars", a.ofTheLab(values))
	a.run(`module.addons["this"].helm_release.vnfbench will be created`, "plan")
	a.run(" 0 changed, 0 destroyed", "apply", "-auto-approve")
	a.operatorIsReady("256Mi")
	a.noChanges()
}

// addMachine applies a root with a machine more, which changes nothing in the cluster.
func (a *addons) addMachine(want, values string) {
	a.t.Helper()
	operator := []string{"get", "deployment", "vnfbench", "--namespace=" + systemNamespace, "--output=jsonpath={.metadata.uid} {.metadata.generation}"}
	before := a.kubectl(operator...)
	a.write("lab.auto.tfvars", a.ofTheLab(values))
	a.run(want, "apply", "-auto-approve")
	a.noChanges()
	if after := a.kubectl(operator...); after != before {
		a.t.Errorf("with a machine more, the operator's Deployment is %s; it was %s", after, before)
	}
}

// exampleAddons is what an example of a root installs into its cluster.
var exampleAddons = regexp.MustCompile(`(?ms)^addons = \{$.*?^\}$`)

// ofTheLab are the values of a root's example with the operator alone of its addons, by the lab's images.
func (a *addons) ofTheLab(values string) string {
	a.t.Helper()
	return replaced(a.t, values, exampleAddons.FindString(values), fmt.Sprintf("addons = { vnfbench = { registry = \"localhost\", tag = %q } }", a.tag))
}

// addons is a folder that Terraform applies to a lab's cluster.
type addons struct {
	lab
	with tool
	root string
	// main is what main.tf was when it was copied.
	main string
}

// newAddons makes a copy of a folder.
func newAddons(t *testing.T, l lab, with tool, folder string) *addons {
	t.Helper()
	return addonsIn(t, l, with, with.initialized(t, folder))
}

// addonsIn takes a copy of a folder. What is left of it in the cluster at the end is destroyed.
func addonsIn(t *testing.T, l lab, with tool, root string) *addons {
	t.Helper()
	l.t = t
	home := t.TempDir()
	kubeconfig := filepath.Join(home, ".kube", "config")
	if err := os.Mkdir(filepath.Dir(kubeconfig), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kubeconfig, []byte(l.kubeconfig()), 0o600); err != nil {
		t.Fatal(err)
	}
	// The example takes ~/.kube/config. No other configuration of a cluster is the user's.
	env := slices.DeleteFunc(slices.Clone(with.env), func(variable string) bool {
		return strings.HasPrefix(variable, "KUBE_") || strings.HasPrefix(variable, "HELM_")
	})
	a := &addons{lab: l, with: tool{path: with.path, env: append(env, "HOME="+home, "TF_CLI_ARGS=-no-color")}, root: root}
	main, err := os.ReadFile(filepath.Join(a.root, "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	a.main = string(main)
	t.Cleanup(func() {
		if output, err := a.with.run(a.root, "destroy", "-auto-approve"); err != nil {
			t.Errorf("what is left cannot be destroyed: %v\n%s", err, output)
		}
	})
	return a
}

// configure writes the example with the lab's images, values of the chart, and further parts.
func (a *addons) configure(values, parts string) {
	a.t.Helper()
	operator := fmt.Sprintf("vnfbench = { chart = \"../../../charts/vnfbench\", registry = \"localhost\", tag = %q, values = [%q] }\n%s", a.tag, values, parts)
	a.write("main.tf", replaced(a.t, a.main, exampleOperator, operator))
}

// write writes a file next to what is applied.
func (a *addons) write(name, text string) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.root, name), []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// terraform runs a command, and logs how long it took.
func (a *addons) terraform(arguments ...string) (string, error) {
	a.t.Helper()
	began := time.Now()
	defer func() { a.t.Logf("%s took %s", arguments[0], time.Since(began).Round(time.Second/10)) }()
	return a.with.run(a.root, arguments...)
}

// run runs a command of Terraform, and wants words in what it says.
func (a *addons) run(want string, arguments ...string) {
	a.t.Helper()
	if output, err := a.terraform(arguments...); err != nil || !strings.Contains(words(output), want) {
		a.t.Fatalf("%v: %v; want %q in\n%s", arguments, err, want, output)
	}
}

// refused runs a command, and wants an error with these words.
func (a *addons) refused(want string, arguments ...string) {
	a.t.Helper()
	if output, err := a.terraform(arguments...); err == nil || !strings.Contains(words(output), want) {
		a.t.Fatalf("%v: %v; want an error with %q in\n%s", arguments, err, want, output)
	}
}

// noChanges wants a plan that is empty.
func (a *addons) noChanges() {
	a.t.Helper()
	if output, err := a.terraform("plan", "-detailed-exitcode"); err != nil {
		a.t.Fatalf("the plan after an apply is not empty: %v\n%s", err, output)
	}
}

// lab is a lab's cluster.
type lab struct {
	t       *testing.T
	program string
	tag     string
}

// output is what the lab's program prints.
func (l lab) output(arguments ...string) (string, error) {
	output, err := exec.Command(l.program, arguments...).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("%w: %s", err, failed.Stderr)
	}
	return strings.TrimSpace(string(output)), err
}

// kubectl is what kubectl prints.
func (l lab) kubectl(arguments ...string) string {
	l.t.Helper()
	output, err := l.output(append([]string{"kubectl", "--"}, arguments...)...)
	if err != nil {
		l.t.Fatalf("kubectl %v: %v", arguments, err)
	}
	return output
}

// get reads an object.
func (l lab) get(into any, arguments ...string) {
	l.t.Helper()
	if err := json.Unmarshal([]byte(l.kubectl(append([]string{"get", "--output=json"}, arguments...)...)), into); err != nil {
		l.t.Fatal(err)
	}
}

// lacks wants a cluster without a namespace.
func (l lab) lacks(namespace string) {
	l.t.Helper()
	if l.kubectl("get", "namespace", namespace, "--ignore-not-found", "--output=name") != "" {
		l.t.Fatalf("the lab has a namespace %s: begin with a new lab, after make lab-down", namespace)
	}
}

// labels are those of an object.
func (l lab) labels(kind, name string) map[string]string {
	l.t.Helper()
	var object struct {
		Metadata struct{ Labels map[string]string }
	}
	l.get(&object, kind, name)
	return object.Metadata.Labels
}

// operatorIsReady checks that the operator runs, of the lab's image and with a limit of memory.
func (l lab) operatorIsReady(memory string) {
	l.t.Helper()
	var operator struct {
		Metadata struct{ Generation int }
		Spec     struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Image     string
						Resources struct{ Limits map[string]string }
					}
				}
			}
		}
		Status struct{ ObservedGeneration, ReadyReplicas, UpdatedReplicas int }
	}
	l.get(&operator, "deployment", "vnfbench", "--namespace="+systemNamespace)
	container := operator.Spec.Template.Spec.Containers[0]
	if want := "localhost/vnfbench/manager:" + l.tag; container.Image != want || container.Resources.Limits["memory"] != memory {
		l.t.Errorf("the operator is of %s with the limits %v, want %s and %s", container.Image, container.Resources.Limits, want, memory)
	}
	if status := operator.Status; status.ObservedGeneration != operator.Metadata.Generation || status.ReadyReplicas != 1 || status.UpdatedReplicas != 1 {
		l.t.Errorf("the operator's Deployment of generation %d has the status %+v", operator.Metadata.Generation, status)
	}
}

// kubeVirtIsReady waits until KubeVirt's operator has deployed KubeVirt as it is asked for, with devices
// that it permits. The operator itself completes what it is asked for, so the generation moves meanwhile.
func (l lab) kubeVirtIsReady(devices string) {
	l.t.Helper()
	l.kubectl("--namespace="+kubeVirtNamespace, "wait", "kubevirt/kubevirt", "--for=condition=Available", "--timeout=15m")
	for deadline := time.Now().Add(kubeVirtTimeout); ; time.Sleep(time.Second) {
		var kubeVirt struct {
			Metadata struct{ Generation int }
			Spec     struct {
				Configuration struct{ PermittedHostDevices any }
			}
			Status struct {
				Phase              string
				ObservedGeneration int
			}
		}
		l.get(&kubeVirt, "kubevirt", "kubevirt", "--namespace="+kubeVirtNamespace)
		permitted, err := json.Marshal(kubeVirt.Spec.Configuration.PermittedHostDevices)
		if err != nil || string(permitted) != devices {
			l.t.Fatalf("KubeVirt permits %s, %v; want %s", permitted, err, devices)
		}
		status := kubeVirt.Status
		if status.Phase == "Deployed" && status.ObservedGeneration == kubeVirt.Metadata.Generation {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("KubeVirt of generation %d has the status %+v", kubeVirt.Metadata.Generation, status)
		}
	}
}

// kubeconfig is the administrator's.
func (l lab) kubeconfig() string {
	l.t.Helper()
	path, err := l.output("kubeconfig")
	if err != nil {
		l.t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(text)
}

// answers are otherAnswers for an image factory, with the lab's credentials as those of Talos' cluster.
func (l lab) answers(factory string) string {
	l.t.Helper()
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server    string
				Authority string `yaml:"certificate-authority-data"`
			}
		}
		Users []struct {
			User struct {
				Certificate string `yaml:"client-certificate-data"`
				Key         string `yaml:"client-key-data"`
			}
		}
	}
	if err := yaml.Unmarshal([]byte(l.kubeconfig()), &config); err != nil || len(config.Clusters) != 1 || len(config.Users) != 1 {
		l.t.Fatalf("the lab's kubeconfig has %d clusters and %d users, %v; want one of each", len(config.Clusters), len(config.Users), err)
	}
	answers := map[string]map[string]any{}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(otherAnswers, "FACTORY", factory)), &answers); err != nil {
		l.t.Fatal(err)
	}
	cluster, user := config.Clusters[0].Cluster, config.Users[0].User
	answers["talos_cluster_kubeconfig"]["kubernetes_client_configuration"] = map[string]string{
		"host": cluster.Server, "ca_certificate": cluster.Authority, "client_certificate": user.Certificate, "client_key": user.Key,
	}
	text, err := json.Marshal(answers)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(text)
}

// unsteady are kinds whose objects come and go by themselves.
var unsteady = []string{"certificatesigningrequests.certificates.k8s.io", "componentstatuses"}

// objects are the names of all objects outside of namespaces, and of those in kube-system that
// releases have.
func (l lab) objects() map[string]bool {
	l.t.Helper()
	found, err := l.tryObjects()
	if err != nil {
		l.t.Fatal(err)
	}
	return found
}

// tryObjects are the objects, or an error while a kind is on its way out.
func (l lab) tryObjects() (map[string]bool, error) {
	kinds, err := l.output("kubectl", "--", "api-resources", "--namespaced=false", "--verbs=list", "--output=name")
	if err != nil {
		return nil, err
	}
	outside := slices.DeleteFunc(strings.Fields(kinds), func(kind string) bool { return slices.Contains(unsteady, kind) })
	found := map[string]bool{}
	for _, arguments := range [][]string{
		{strings.Join(outside, ",")},
		{"configmaps,daemonsets,deployments,rolebindings,roles,secrets,serviceaccounts,services", "--namespace=kube-system"},
	} {
		names, err := l.output(append([]string{"kubectl", "--", "get", "--output=name"}, arguments...)...)
		if err != nil {
			return nil, err
		}
		for _, name := range strings.Fields(names) {
			found[name] = true
		}
	}
	return found, nil
}

// nothingLeft waits until the cluster has what it had before, and the operator's CRDs, which keep
// the results.
func (l lab) nothingLeft(before map[string]bool) {
	l.t.Helper()
	kept, err := filepath.Glob("../../charts/vnfbench/files/crds/*.yaml")
	if err != nil || len(kept) == 0 {
		l.t.Fatalf("the chart has no CRDs: %v", err)
	}
	want := maps.Clone(before)
	for _, file := range kept {
		_, plural, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "_")
		want["customresourcedefinition.apiextensions.k8s.io/"+plural+".vnfbench.io"] = true
	}
	own := func(name string, _ bool) bool {
		return strings.HasPrefix(name, "apiservice.") && strings.HasSuffix(name, ".vnfbench.io") // it comes with the CRDs
	}
	maps.DeleteFunc(want, own)
	for deadline := time.Now().Add(leftTimeout); ; time.Sleep(time.Second) {
		found, err := l.tryObjects()
		maps.DeleteFunc(found, own)
		if err == nil && maps.Equal(found, want) {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("after destroy, there are %v, and there are no more %v, %v", without(found, want), without(want, found), err)
		}
	}
}

// without are the names of one set that another has not, in order.
func without(names, others map[string]bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool { return others[name] })
}
