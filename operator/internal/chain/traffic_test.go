package chain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/testing/plantest"
)

// TestTRexConfinement checks that TRex has no more rights than other containers.
func TestTRexConfinement(t *testing.T) {
	want := []corev1.Capability{"IPC_LOCK", "NET_ADMIN", "NET_RAW"}
	for name, in := range map[string]plan.Input{"AFPacket": plantest.TRexAFPacket(), "DPDK": plantest.TRexDPDK()} {
		t.Run(name, func(t *testing.T) {
			pod := chain.MeasurerJob(mustMake(t, in)).Spec.Template.Spec
			if pod.HostNetwork || pod.HostPID || pod.HostIPC || len(pod.Containers) != 1 {
				t.Error("the pod shares more of the node than it needs, or has another container")
			}
			for _, volume := range pod.Volumes {
				if volume.HostPath != nil {
					t.Errorf("volume %q is a path of the node", volume.Name)
				}
			}
			container := pod.Containers[0]
			context := container.SecurityContext
			if !slices.Equal(context.Capabilities.Add, want) || !slices.Equal(context.Capabilities.Drop, []corev1.Capability{"ALL"}) {
				t.Errorf("capabilities %+v, want %v alone", context.Capabilities, want)
			}
			if *context.RunAsUser != 0 || *context.Privileged || *context.AllowPrivilegeEscalation || !*context.ReadOnlyRootFilesystem {
				t.Errorf("security context %+v", context)
			}
			if container.Command[0] != "measurer" || container.Image != plantest.TRexImage {
				t.Errorf("%v of image %q", container.Command, container.Image)
			}
			for _, volume := range []string{"/tmp", "/var/run/dpdk"} {
				if source := mountedAt(pod, volume); source.EmptyDir == nil || source.EmptyDir.SizeLimit == nil {
					t.Errorf("%s is not a directory of bounded size: %+v", volume, source)
				}
			}
		})
	}
}

// mountedAt returns what a pod's container sees at a path.
func mountedAt(pod corev1.PodSpec, path string) corev1.VolumeSource {
	for _, mount := range pod.Containers[0].VolumeMounts {
		for _, volume := range pod.Volumes {
			if mount.MountPath == path && mount.Name == volume.Name {
				return volume.VolumeSource
			}
		}
	}
	return corev1.VolumeSource{}
}

// TestDPDKPod checks that the pod requests what DPDK needs, and all of it is guaranteed.
func TestDPDKPod(t *testing.T) {
	for _, size := range []corev1.StorageMedium{"1Gi", "2Mi"} {
		t.Run(string(size), func(t *testing.T) {
			in := plantest.TRexDPDK()
			in.Testbed.Spec.Generator.TRex.Hugepages.PageSize = "2Mi"
			in.Nodes[1].Status.Allocatable["hugepages-2Mi"] = resource.MustParse("8Gi")
			if size == "1Gi" {
				in = plantest.TRexDPDK()
			}
			pod := chain.MeasurerJob(mustMake(t, in)).Spec.Template.Spec
			resources := pod.Containers[0].Resources
			if diff := cmp.Diff(resources.Requests, resources.Limits); diff != "" {
				t.Errorf("not guaranteed (-requests +limits):\n%s", diff)
			}
			for name, want := range map[corev1.ResourceName]string{
				"cpu": "8", "memory": "1Gi", "hugepages-" + corev1.ResourceName(size): "4Gi", "openshift.io/gen_west": "1", "openshift.io/gen_east": "1",
			} {
				if got := resources.Limits[name]; got.Cmp(resource.MustParse(want)) != 0 {
					t.Errorf("%s: %s, want %s", name, got.String(), want)
				}
			}
			pages := mountedAt(pod, "/dev/hugepages").EmptyDir
			if pages == nil || pages.Medium != "HugePages-"+size {
				t.Errorf("/dev/hugepages is %+v", pages)
			}
		})
	}
}

// TestDPDKPortsAreNamed checks that the measurer finds Multus' annotation next to its instructions.
func TestDPDKPortsAreNamed(t *testing.T) {
	pod := chain.MeasurerJob(mustMake(t, plantest.TRexDPDK())).Spec.Template.Spec
	var files []string
	for _, source := range mountedAt(pod, "/etc/vnfbench").Projected.Sources {
		if source.ConfigMap != nil {
			files = append(files, source.ConfigMap.Items[0].Path)
		}
		if source.DownwardAPI != nil {
			item := source.DownwardAPI.Items[0]
			files = append(files, item.Path+" = "+item.FieldRef.FieldPath)
		}
	}
	want := []string{"instructions.json", "pod/network-status = metadata.annotations['k8s.v1.cni.cncf.io/network-status']"}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if source := mountedAt(chain.MeasurerJob(mustMake(t, plantest.TRexAFPacket())).Spec.Template.Spec, "/etc/vnfbench"); source.ConfigMap == nil {
		t.Errorf("mode AFPacket needs its interfaces' names alone, and has %+v", source)
	}
}

// TestDPDKNetworks checks that no plugin looks for an interface that does not exist, and the
// functions' virtual functions are tuned as always.
func TestDPDKNetworks(t *testing.T) {
	p := mustMake(t, plantest.TRexDPDK())
	configs := map[string]string{}
	for _, object := range chain.Networks(p) {
		text, _, err := unstructured.NestedString(object.Object, "spec", "config")
		if err != nil {
			t.Fatal(err)
		}
		configs[object.GetName()] = text
	}
	for end, tuned := range map[plan.End]bool{
		p.Segments[0].West: false, p.Segments[0].East: true, p.Segments[1].West: true, p.Segments[1].East: false,
	} {
		text := configs[end.Network]
		if !strings.Contains(text, `"type":"sriov"`) || strings.Contains(text, `"type":"tuning"`) != tuned {
			t.Errorf("port %s of %q: tuned should be %t: %s", end.Interface, end.Function, tuned, text)
		}
	}
}

// TestNoPodReachesTheTrafficPod checks that policies protect TRex's server, which does not authenticate clients.
func TestNoPodReachesTheTrafficPod(t *testing.T) {
	for name, in := range map[string]plan.Input{"AFPacket": plantest.TRexAFPacket(), "DPDK": plantest.TRexDPDK()} {
		p := mustMake(t, in)
		found := false
		for _, policy := range policiesOf(p) {
			if policy.Name != p.Names().MeasurerPolicy {
				continue
			}
			found = true
			if !slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) || len(policy.Spec.Ingress) != 0 {
				t.Errorf("%s: lets in %+v", name, policy.Spec.Ingress)
			}
			labels := chain.MeasurerJob(p).Spec.Template.Labels
			for key, value := range policy.Spec.PodSelector.MatchLabels {
				if labels[key] != value {
					t.Errorf("%s: the policy is not the traffic pod's: %s", name, key)
				}
			}
		}
		if !found {
			t.Errorf("%s: no policy of the traffic pod", name)
		}
	}
}
