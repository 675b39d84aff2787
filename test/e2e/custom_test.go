package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
)

// guestConfiguration is the user data that the project's own guest reads, with placeholders for the
// plan's values. It resolves the generator's addresses, and answers for its own.
const guestConfiguration = `{"function": "Router", "name": "{{ .Name }}",
"ports": [
  {"name": "west", "mac": "{{ .West.MAC }}", "mtuBytes": {{ .West.MTUBytes }}, "resolution": "Asks", "addresses": ["{{ .West.AddressIPv4 }}", "{{ .West.AddressIPv6 }}"]},
  {"name": "east", "mac": "{{ .East.MAC }}", "mtuBytes": {{ .East.MTUBytes }}, "resolution": "Asks", "addresses": ["{{ .East.AddressIPv4 }}", "{{ .East.AddressIPv6 }}"]}],
"routes": [
  {"destination": "{{ .West.NetworkIPv4 }}", "via": "{{ .West.NextHopIPv4 }}", "port": "west"},
  {"destination": "{{ .East.NetworkIPv4 }}", "via": "{{ .East.NextHopIPv4 }}", "port": "east"}],
"neighbors": []}`

// guestImage returns the image with which the operator was installed.
func guestImage(t *testing.T) string {
	t.Helper()
	var deployments appsv1.DeploymentList
	must(t, cluster.List(t.Context(), &deployments, client.InNamespace(systemNamespace), client.MatchingLabels{"app.kubernetes.io/name": "vnfbench"}))
	for _, deployment := range deployments.Items {
		for _, argument := range deployment.Spec.Template.Spec.Containers[0].Args {
			if image, found := strings.CutPrefix(argument, "--guest-image="); found {
				return image
			}
		}
	}
	t.Fatal("the operator was installed without an image of the guest")
	return ""
}

// customRun returns a run with the guest as a user's own machine. shape is its disk, and the other
// fields that differ from their defaults.
func customRun(t *testing.T, name, shape, userData, readiness string, startupSeconds int) string {
	t.Helper()
	text, err := json.Marshal(userData)
	must(t, err)
	chain := "[{name: own, function: Custom, runtime: VirtualMachine, custom: {" + shape + ", readiness: " + readiness + ", userData: " + string(text) + "}}]"
	return machineChain(name, chain, 5000, startupSeconds)
}

// measureCustom measures a user's own machine and returns the finished run. It calls look while frames pass, unless look
// is nil.
func measureCustom(t *testing.T, ns, name, shape, readiness string, look func()) *v1alpha1.BenchmarkRun {
	t.Helper()
	apply(t, ns, customRun(t, name, shape, guestConfiguration, readiness, 240))
	if look != nil {
		until(t, ns, name, waitForGuest, "measuring", func(run *v1alpha1.BenchmarkRun) bool {
			return finished(run) || condition(run, v1alpha1.ConditionMeasured).Reason == v1alpha1.ReasonMeasuring
		})
		look()
	}
	until(t, ns, name, 2*waitForGuest, "finished", finished)
	run := ends(t, ns, name, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	checkPasses(t, run)
	checkMachine(t, run, "virtio")
	released(t, ns, name)
	nothingLeft(t, ns)
	noMachines(t, ns)
	return run
}

// TestKubeVirtCustom measures a user's own machine without a readiness check, with its ports in the
// other order and with the MAC addresses that the testbed fixes: the machine has them, and answers the generator for them.
func TestKubeVirtCustom(t *testing.T) {
	needMachines(t)
	ns := namespace(t)
	sample, err := os.ReadFile("../../config/samples/testbed-virtual-machines.yaml")
	must(t, err)
	fixed := [2]string{"52:54:00:aa:00:02", "52:54:00:aa:00:03"}
	apply(t, ns, strings.Replace(string(sample), "    macAddresses:\n",
		fmt.Sprintf("    macAddresses:\n    - {function: own, west: %q, east: %q}\n", fixed[0], fixed[1]), 1))
	run := measureCustom(t, ns, "custom", "interfaceOrder: EastWest, containerDisk: '"+guestImage(t)+"'", "{bootSeconds: 5}", nil)
	if t.Failed() {
		return
	}
	if run.Status.Generator == nil || len(run.Status.Generator.Ports) != 2 {
		t.Fatalf("the generator is %+v", run.Status.Generator)
	}
	for i, nextHop := range []string{"198.18.0.2", "198.18.1.1"} {
		if port := run.Status.Generator.Ports[i]; port.NextHop != nextHop || port.NextHopMACAddress != fixed[i] {
			t.Errorf("port %s sends to %q of %q, want %q of %q", port.Name, port.NextHopMACAddress, port.NextHop, fixed[i], nextHop)
		}
		// checkMachine has checked that there are two.
		if port := run.Status.Chain[0].VirtualMachine.Ports[i]; port.MAC != fixed[i] {
			t.Errorf("port %s of the machine has %s, want %s", port.Name, port.MAC, fixed[i])
		}
	}
}

// TestKubeVirtCustomByUEFI measures one that a UEFI starts, and that receives HTTP requests until
// it is ready.
func TestKubeVirtCustomByUEFI(t *testing.T) {
	ns := machines(t)
	measureCustom(t, ns, "uefi", "firmware: EFI, containerDisk: '"+guestImage(t)+"'", "{kind: HTTP, port: 8080, path: /readyz}", func() {
		// A BIOS can start the disk too, so check what QEMU was given.
		if qemu := node(t, "pgrep", "-af", "/usr/bin/qemu-system"); !strings.Contains(qemu, "OVMF_CODE.fd") {
			t.Errorf("QEMU runs without a UEFI: %s", qemu)
		}
	})
}

// TestKubeVirtCustomOnClaim measures one whose disk is in a claim. The disk is unchanged after the
// run: what a guest writes goes into a layer above it.
func TestKubeVirtCustomOnClaim(t *testing.T) {
	ns := machines(t)
	disk := claim(t, ns, "own-disk")
	before := node(t, "sha256sum", disk)
	measureCustom(t, ns, "claim", "persistentVolumeClaimRef: {name: own-disk}", "{bootSeconds: 5}", nil)
	if after := node(t, "sha256sum", disk); after != before {
		t.Errorf("the claim's disk was %s and is %s", before, after)
	}
}

// TestKubeVirtCustomOnDataVolume measures one whose disk is in the claim of a DataVolume. The lab
// has no CDI to fill it, so the test fills it: KubeVirt considers a claim without an owning
// DataVolume filled.
func TestKubeVirtCustomOnDataVolume(t *testing.T) {
	ns := machines(t)
	claim(t, ns, "own-volume")
	measureCustom(t, ns, "volume", "dataVolumeRef: {name: own-volume}", "{bootSeconds: 5}", nil)
}

// claim makes a claim with the guest's disk, on a volume that is a directory of the lab's node, and
// returns the disk's path there. The lab has no provisioner of volumes.
func claim(t *testing.T, ns, name string) string {
	t.Helper()
	directory := "/var/lib/vnfbench-" + ns
	t.Cleanup(func() { node(t, "rm", "-r", directory) })
	// KubeVirt looks for disk.img in a volume with a file system, and runs QEMU as user 107.
	node(t, "sh", "-ec", `
		mkdir -p "$0/image"
		ctr -n k8s.io images mount "$1" "$0/image" >/dev/null
		cp "$0"/image/disk/*.img "$0/disk.img"
		ctr -n k8s.io images unmount --rm "$0/image" >/dev/null
		chown 107:107 "$0/disk.img"`, directory, guestImage(t))
	capacity := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("64Mi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: ns + "-" + name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: capacity, AccessModes: modes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:               &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: ns, Name: name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: directory, Type: new(corev1.HostPathDirectory)}},
		},
	}
	must(t, cluster.Create(t.Context(), volume))
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(cluster.Delete(context.Background(), volume)); err != nil {
			t.Errorf("deleting volume %s: %v", volume.Name, err)
		}
	})
	must(t, cluster.Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: new(""), VolumeName: volume.Name,
			Resources: corev1.VolumeResourceRequirements{Requests: capacity},
		},
	}))
	return directory + "/disk.img"
}

// node runs a command in the lab's node and returns what it printed.
func node(t *testing.T, args ...string) string {
	t.Helper()
	// Clean-ups run when the test's own context has ended.
	out, err := exec.Command(os.Getenv("LAB"), append([]string{"shell", "--"}, args...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%s in the node: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestKubeVirtCustomForwardsNothing checks a machine that runs with an empty configuration.
func TestKubeVirtCustomForwardsNothing(t *testing.T) {
	ns := machines(t)
	apply(t, ns, customRun(t, "silent", "containerDisk: '"+guestImage(t)+"'", `{"function": "None"}`, "{}", 60))
	run := ends(t, ns, "silent", metav1.ConditionFalse, v1alpha1.ReasonNextHopUnresolved)
	if message := condition(run, v1alpha1.ConditionSucceeded).Message; !strings.Contains(message, `the console of "own" ends: `) {
		t.Errorf("the message does not hold the guest's last words: %s", message)
	}
	nothingLeft(t, ns)
	noMachines(t, ns)
}
