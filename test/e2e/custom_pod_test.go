package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

const testpmdImage = "localhost/vnfbench-test/dpdk-testpmd:1"

// testpmd packs Debian's dpdk-testpmd, with a shell, into an image and loads it into the lab: what a user's image is to
// the operator, nothing of this project is in it.
func testpmd(t *testing.T) {
	t.Helper()
	testpmdAs(t, testpmdImage)
}

// testpmdAs does so under another name, which is a part of the image's content.
func testpmdAs(t *testing.T, name string) {
	t.Helper()
	if out, err := exec.Command("../scripts/prerequisites.sh", "testpmd").CombinedOutput(); err != nil {
		t.Fatalf("prerequisites.sh testpmd: %v: %s", err, out)
	}
	// The buses of PCI and of virtual devices are libraries of theirs: a second file of one would be a second bus.
	var plugins []string
	for _, pattern := range []string{
		"/usr/lib/*/dpdk/pmds-*/librte_mempool_ring.so.*.*", "/usr/lib/*/dpdk/pmds-*/librte_net_af_packet.so.*.*", "/usr/lib/*/dpdk/pmds-*/librte_net_e1000.so.*.*",
		// The C library loads it when a thread is to end.
		"/lib/*/libgcc_s.so.1",
	} {
		found, err := filepath.Glob(pattern)
		must(t, err)
		if len(found) == 0 {
			t.Fatalf("there is no %s: is Debian's DPDK whole?", pattern)
		}
		plugins = append(plugins, found[0])
	}
	var files []string
	for _, program := range [][]string{append([]string{"dpdk-testpmd"}, plugins...), {"sh"}} {
		list := exec.Command("../scripts/program-files.sh", program...)
		list.Stderr = os.Stderr
		out, err := list.Output()
		must(t, err)
		files = append(files, strings.Fields(string(out))...)
	}
	slices.Sort(files)
	files = slices.Compact(files)
	// EAL makes its folder there.
	folder := filepath.Join(t.TempDir(), "run")
	must(t, os.WriteFile(folder, nil, 0o600))
	archive := filepath.Join(t.TempDir(), "testpmd.tar")
	arguments := append([]string{"image", "--tag", name, "--label", "org.opencontainers.image.ref.name=" + name, "--out", archive, "--entrypoint", `["/usr/bin/dpdk-testpmd"]`, "--user", "0:0", folder + ":/var/run/.keep"}, files...)
	for _, arguments := range [][]string{arguments, {"load", archive}} {
		if out, err := exec.Command(os.Getenv("LAB"), arguments...).CombinedOutput(); err != nil {
			t.Fatalf("lab %s: %v: %s", arguments[0], err, out)
		}
	}
}

// containerRun returns the sample's chain with the test's image and a short measurement. testpmd takes a whole core, of
// which the lab has two, so a part of the frames may be lost at any rate.
func containerRun(t *testing.T, name, readiness string, startupSeconds int) string {
	t.Helper()
	text, err := os.ReadFile("../../config/samples/custom-testpmd.yaml")
	must(t, err)
	run := string(text)
	for _, change := range [][2]string{
		{"name: custom-testpmd", "name: " + name},
		{"registry.example/dpdk-testpmd:22.11", testpmdImage},
		{"readiness: {bootSeconds: 5}", "imagePullPolicy: Never\n        readiness: " + readiness},
		{"    testbedRef: {name: lab}\n", fmt.Sprintf("    testbedRef: {name: lab}\n    startupSeconds: %d\n", startupSeconds)},
		{"frameBytes: [64, 512, 1518]", "frameBytes: [128]"},
		{"      profile: Quick\n", `      warmUpMilliseconds: 500
      settleMilliseconds: 2000
      latency:
        trialMilliseconds: 2000
        loads: [{name: low, framesPerSecond: 100}]
      throughput:
        minimumFramesPerSecond: 100
        maximumSearchSeconds: 240
        goals: [{name: PDR, lossPartsPerMillion: 100000, trialMilliseconds: 1000, durationSumMilliseconds: 1000, widthPartsPerMillion: 500000}]
`},
	} {
		if !strings.Contains(run, change[0]) {
			t.Fatalf("the sample does not have %q", change[0])
		}
		run = strings.Replace(run, change[0], change[1], 1)
	}
	return run
}

// TestCustomContainer measures Debian's dpdk-testpmd as a user's own container, from the sample.
func TestCustomContainer(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	testpmd(t)
	apply(t, ns, containerRun(t, "testpmd", "{bootSeconds: 2}", 120))
	until(t, ns, "testpmd", stepTimeout, "measuring", func(run *v1alpha1.BenchmarkRun) bool {
		return finished(run) || condition(run, v1alpha1.ConditionMeasured).Reason == v1alpha1.ReasonMeasuring
	})
	var pods corev1.PodList
	must(t, cluster.List(t.Context(), &pods, client.InNamespace(ns), client.MatchingLabels{v1alpha1.LabelComponent: "function"}))
	for _, pod := range pods.Items {
		if rights := pod.Spec.Containers[0].SecurityContext; !slices.Equal(rights.Capabilities.Add, []corev1.Capability{"NET_ADMIN", "NET_RAW"}) || *rights.Privileged {
			t.Errorf("the container has %+v", rights)
		}
	}
	run := ends(t, ns, "testpmd", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	if len(run.Status.Results) != 1 {
		t.Fatalf("%d results", len(run.Status.Results))
	}
	result := run.Status.Results[0]
	for _, load := range result.Latency {
		for _, d := range load.Directions {
			t.Logf("%s: %d of %d frames received, %d ns at p50", d.Direction, d.ReceivedFrames, d.SentFrames, d.Latency.P50Nanoseconds)
			if d.LossPartsPerMillion > 50_000 {
				t.Errorf("%s: %d of a million frames are lost at 100 frames/s", d.Direction, d.LossPartsPerMillion)
			}
		}
	}
	for _, found := range result.Throughput {
		t.Logf("%s: %d frames/s, %s", found.Goal, found.FramesPerSecond, found.UpperBoundCause)
		if found.FramesPerSecond < 100 {
			t.Errorf("testpmd forwards %d frames/s, below the least load", found.FramesPerSecond)
		}
	}
	if report := run.Status.Chain; len(report) != 1 || !strings.Contains(report[0].ImageID, "sha256:") || len(report[0].Attachments) != 2 {
		t.Errorf("status.chain is %+v", report)
	}
	if hop := run.Status.Generator.Hop; hop != "Tap" {
		t.Errorf("the hop to a user's program is %s", hop)
	}
	nothingLeft(t, ns)
}

// TestCustomContainerContract checks in the container what the operator gives it: the values of the ports by environment and
// file, the user's text, and Multus' report, until which the container is not ready.
func TestCustomContainerContract(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	testpmd(t)
	text := containerRun(t, "contract", `{kind: Exec, command: [sh, -c, "[ -s /etc/vnfbench/network-status.json ]"]}`, 120)
	const readiness = "        readiness: "
	apply(t, ns, strings.Replace(text, readiness, "        userData: '{{ .West.MAC }} and {{ .East.NextHopIPv4 }}'\n"+readiness, 1))
	until(t, ns, "contract", stepTimeout, "measuring", func(run *v1alpha1.BenchmarkRun) bool {
		return finished(run) || condition(run, v1alpha1.ConditionMeasured).Reason == v1alpha1.ReasonMeasuring
	})
	var pods corev1.PodList
	must(t, cluster.List(t.Context(), &pods, client.InNamespace(ns), client.MatchingLabels{v1alpha1.LabelComponent: "function"}))
	if len(pods.Items) != 1 {
		t.Fatalf("%d pods of functions, want 1", len(pods.Items))
	}
	// The image has a shell, and no cat.
	out, code := kubectl(t, "-n", ns, "exec", pods.Items[0].Name, "-c", "function", "--", "sh", "-ec", `
echo "$VNFBENCH_WEST_NEXT_HOP_MAC"; echo ==; echo "$VNFBENCH_EAST_NEXT_HOP_MAC"
for file in network.json userdata network-status.json; do
  echo ==
  while IFS= read -r line || [ -n "$line" ]; do printf '%s\n' "$line"; done <"/etc/vnfbench/$file"
done`)
	found := strings.Split(strings.TrimSpace(out), "\n==\n")
	if code != 0 || len(found) != 5 {
		t.Fatalf("the shell ended with code %d and printed:\n%s", code, out)
	}
	type port struct{ MAC, HostIPv4, NextHopIPv4, NextHopMAC string }
	var network struct{ West, East port }
	must(t, json.Unmarshal([]byte(found[2]), &network))
	mac := functionMACs(t, ns)
	want := [2]port{{mac["west"], "198.18.0.2", "198.18.0.1", found[0]}, {mac["east"], "198.18.1.1", "198.18.1.2", found[1]}}
	if got := [2]port{network.West, network.East}; got != want || mac["west"] == "" || found[0] == "" {
		t.Errorf("network.json has %+v, want %+v", got, want)
	}
	if userData := network.West.MAC + " and 198.18.1.2"; found[3] != userData {
		t.Errorf("userdata is %q, want %q", found[3], userData)
	}
	type report struct{ Interface, MAC string }
	var reports []report
	must(t, json.Unmarshal([]byte(found[4]), &reports))
	for _, name := range []string{"west", "east"} {
		if !slices.Contains(reports, report{name, mac[name]}) {
			t.Errorf("network-status.json lacks port %s with %s: %+v", name, mac[name], reports)
		}
	}
	ends(t, ns, "contract", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	nothingLeft(t, ns)
}

// TestCustomContainerIsNeverReady checks a container that runs and never reports, and one that ends at once.
func TestCustomContainerIsNeverReady(t *testing.T) {
	ns := namespace(t)
	testbed(t, ns)
	testpmd(t)
	apply(t, ns, containerRun(t, "silent", "{kind: TCP, port: 5002}", 20))
	run := ends(t, ns, "silent", metav1.ConditionFalse, v1alpha1.ReasonChainNotReady)
	if message := condition(run, v1alpha1.ConditionSucceeded).Message; !strings.Contains(message, "runs and is not ready") {
		t.Errorf("the message is %s", message)
	}
	ended := strings.Replace(containerRun(t, "ended", "{kind: TCP, port: 5002}", 20), "- --no-pci\n", "- --no-such-option\n", 1)
	apply(t, ns, ended)
	run = ends(t, ns, "ended", metav1.ConditionFalse, v1alpha1.ReasonChainNotReady)
	// DPDK prints its usage and its errors. They go into the log by two pipes: the end of either can be last.
	message := condition(run, v1alpha1.ConditionSucceeded).Message
	if !strings.Contains(message, `container "function" ended with exit code`) ||
		!strings.Contains(message, "thread stack size if not specified") && !strings.Contains(message, "EAL: ") {
		t.Errorf("the message is %s", message)
	}
	nothingLeft(t, ns)
}
