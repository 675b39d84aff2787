package v1alpha1_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	builder "k8s.io/cli-runtime/pkg/resource"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/procedure"
	"vnfbench.io/operator/internal/study"
	"vnfbench.io/operator/internal/suite"
	"vnfbench.io/operator/internal/testing/plantest"
)

const (
	studies    = "../../../config/studies"
	studyPages = "../../../docs/studies"
	// startOfRun is what a run of the lab takes in addition to its trials: the pods start and end, and are deleted. A virtual machine boots, too.
	startOfRun        = 20 * time.Second
	startOfMachineRun = 60 * time.Second
	// mostOfLab is how long the lab's size of a study takes at most.
	mostOfLab = 30 * time.Minute
)

// existingNetworks are those that a Testbed of the studies joins, which its owner makes.
var existingNetworks = map[string]bool{
	"west-generator": true, "west-device": true, "east-generator": true, "east-device": true,
	"west-generator-9000": true, "west-device-9000": true, "east-generator-9000": true, "east-device-9000": true,
}

// rendered returns what `kubectl apply -k` sends, in its order.
func rendered(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	infos, err := builder.NewLocalBuilder().Unstructured().Local().FilenameParam(false, &builder.FilenameOptions{Kustomize: folder}).Flatten().Do().Infos()
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for _, info := range infos {
		out = append(out, info.Object.(*unstructured.Unstructured))
	}
	return out
}

// clusterOf returns the nodes that a size of a study is for: one, or two with network cards.
func clusterOf(size string) []corev1.Node {
	if strings.HasPrefix(size, "lab") {
		node := nodeOf("lab", "2")
		node.Labels[kubevirtv1.NodeSchedulable] = "true"
		return []corev1.Node{node}
	}
	generator, device := nodeOf("gen-1", "16"), nodeOf("dut-1", "48")
	generator.Labels["vnfbench.io/role"], device.Labels["vnfbench.io/role"] = "generator", "device"
	for _, name := range []string{"west", "east"} {
		plantest.Offer(&generator, "openshift.io/gen_"+name, 1)
		plantest.Offer(&device, "openshift.io/dut_"+name, 4)
		plantest.Offer(&device, "openshift.io/vm_"+name, 4)
	}
	plantest.Offer(&device, "hugepages-1Gi", 16<<30)
	device.Status.Allocatable[corev1.ResourceMemory], device.Status.Capacity[corev1.ResourceMemory] = resource.MustParse("64Gi"), resource.MustParse("64Gi")
	for _, label := range []string{kubevirtv1.NodeSchedulable, kubevirtv1.CPUManager} {
		device.Labels[label] = "true"
	}
	device.Labels[kubevirtv1.RealtimeLabel] = ""
	return []corev1.Node{device, generator}
}

// nodeOf returns a node with so many CPUs.
func nodeOf(name, cpus string) corev1.Node {
	node := plantest.Node(name)
	node.Status.Allocatable[corev1.ResourceCPU], node.Status.Capacity[corev1.ResourceCPU] = resource.MustParse(cpus), resource.MustParse(cpus)
	return node
}

// furtherSizes are folders of studies whose suites are of the size lab, but take longer.
var furtherSizes = map[string][]study.Size{"vcpe": {{Name: "lab-30-minutes", Suites: map[string]string{"long": "vcpe-long-lab"}}}}

// TestStudies renders both sizes of each study, admits all objects, and plans each cell for a cluster as the size needs. The page of the study has how
// long it takes by these plans.
func TestStudies(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(studies, "*", study.File))
	if err != nil || len(folders) < 2 {
		t.Fatalf("found %d studies: %v", len(folders), err)
	}
	for _, file := range folders {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		of, err := study.Read(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if name := filepath.Base(filepath.Dir(file)); name != of.Name {
			t.Errorf("the folder %s has the study %s", name, of.Name)
		}
		page, err := os.ReadFile(filepath.Join(studyPages, of.Name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		if got := sizesOf(of); !slices.Equal(got, []string{"full", "lab"}) {
			t.Errorf("%s has the sizes %q", of.Name, got)
		}
		for _, size := range slices.Concat(of.Sizes, furtherSizes[of.Name]) {
			t.Run(of.Name+"/"+size.Name, func(t *testing.T) {
				measurements, trials, whole := planStudy(t, of, size)
				row := fmt.Sprintf("| `%s` | %d | %s | %s |", size.Name, measurements, roughly(trials), roughly(whole))
				t.Log(row)
				if size.Name == "lab" && whole > mostOfLab {
					t.Errorf("it takes %s, and %s is the most", whole, mostOfLab)
				}
				if !strings.Contains(string(page), row) {
					t.Errorf("docs/studies/%s.md has no line %q", of.Name, row)
				}
			})
		}
	}
}

func sizesOf(of study.Study) []string {
	var out []string
	for _, size := range of.Sizes {
		out = append(out, size.Name)
	}
	return out
}

// roughly writes a duration as "25 min" or "12 h 30 min", rounded up to whole minutes.
func roughly(d time.Duration) string {
	minutes := int((d + time.Minute - 1) / time.Minute)
	if minutes < 60 {
		return fmt.Sprintf("%d min", minutes)
	}
	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}

// planStudy admits and plans one size of a study, and returns the number of measurements, and how long their trials take without and with the start of
// the runs.
func planStudy(t *testing.T, of study.Study, size study.Size) (measurements int, trials, whole time.Duration) {
	t.Helper()
	testbeds, namespaces, found := map[string]*v1alpha1.Testbed{}, map[string]bool{}, map[string]bool{}
	in := plantest.Input(0)
	in.Nodes, in.KubeVirt, in.NetworkResources = clusterOf(size.Name), true, map[string]string{}
	maps.Copy(in.Networks, existingNetworks)
	all := rendered(t, filepath.Join(studies, of.Name, size.Name))
	// An execution waits for a Testbed that comes after its suite.
	isSuite := func(o *unstructured.Unstructured) bool { return o.GetKind() == "BenchmarkSuite" }
	for _, o := range slices.Concat(slices.DeleteFunc(slices.Clone(all), isSuite), slices.DeleteFunc(slices.Clone(all), func(o *unstructured.Unstructured) bool { return !isSuite(o) })) {
		switch o.GetKind() {
		case "Namespace":
			namespaces[o.GetName()] = true
		case "Testbed":
			if err := create(o); err != nil {
				t.Fatal(err)
			}
			testbed := &v1alpha1.Testbed{}
			if err := convert(o, testbed); err != nil {
				t.Fatal(err)
			}
			testbeds[o.GetName()] = testbed
		case "NetworkAttachmentDefinition":
			// The cluster of the test does not have the kind.
			in.Networks[o.GetName()] = true
			if resourceName := o.GetAnnotations()["k8s.v1.cni.cncf.io/resourceName"]; resourceName != "" {
				in.NetworkResources[o.GetName()] = resourceName
			}
		case "BenchmarkSuite":
			if !namespaces[o.GetNamespace()] {
				t.Errorf("%s is in namespace %q, which is none of %v before it", o.GetName(), o.GetNamespace(), namespaces)
			}
			found[o.GetName()] = true
			n, d, w := planSuite(t, o, testbeds, in)
			measurements, trials, whole = measurements+n, trials+d, whole+w
		default:
			t.Errorf("the study has a %s", o.GetKind())
		}
	}
	for _, name := range size.Suites {
		if !found[name] {
			t.Errorf("the study names suite %s, and the folder has %v", name, found)
		}
		delete(found, name)
	}
	if len(found) > 0 {
		t.Errorf("the study does not name %v", found)
	}
	return measurements, trials, whole
}

// planSuite admits a suite, and admits and plans a run of each of its cells.
func planSuite(t *testing.T, o *unstructured.Unstructured, testbeds map[string]*v1alpha1.Testbed, in plan.Input) (measurements int, trials, whole time.Duration) {
	t.Helper()
	// The namespace is there only where the study is applied.
	o.SetNamespace("default")
	if err := create(o); err != nil {
		t.Fatal(err)
	}
	var of v1alpha1.BenchmarkSuite
	if err := convert(o, &of); err != nil {
		t.Fatal(err)
	}
	parsed, err := suite.Parse(&of.Spec.Template)
	if err != nil {
		t.Fatal(err)
	}
	for i, cell := range parsed.Cells {
		experiment, err := parsed.Experiment(i)
		if err != nil {
			t.Fatal(err)
		}
		admitted := object(t, goodRun, map[string]string{"metadata.name": o.GetName() + "-" + cell.Name})
		admitted.Object["spec"] = map[string]any{"experiment": experiment}
		if err := create(admitted); err != nil {
			t.Fatalf("%s: %v", cell.Name, err)
		}
		run := &v1alpha1.BenchmarkRun{}
		if err := convert(admitted, run); err != nil {
			t.Fatal(err)
		}
		in.Run, in.Testbed = run, testbeds[run.TestbedName()]
		if in.Testbed == nil {
			t.Fatalf("%s names testbed %q, which the study does not have", o.GetName(), run.TestbedName())
		}
		made, err := plan.Make(in)
		if err != nil {
			t.Fatalf("%s: %v", cell.Name, err)
		}
		repeats, start := int(of.Spec.Template.Repeats), startOfRun
		if slices.ContainsFunc(run.Spec.Experiment.Chain, func(f v1alpha1.NetworkFunction) bool { return f.Runtime == v1alpha1.RuntimeVirtualMachine }) {
			start = startOfMachineRun
		}
		one := time.Duration(procedure.Progress(made.Instructions, nil).RemainingSeconds) * time.Second
		measurements += repeats
		trials, whole = trials+time.Duration(repeats)*one, whole+time.Duration(repeats)*(one+start)
	}
	return measurements, trials, whole
}
