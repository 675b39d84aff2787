package doctor

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "system", Name: name} }

// node returns a node of a lab that is set for measuring.
func node(name string) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{kubevirtv1.NodeSchedulable: "true"}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	n.Status.NodeInfo = corev1.NodeSystemInfo{KernelVersion: "6.18.1-talos", OperatingSystem: "linux"}
	n.Status.Images = []corev1.ContainerImage{{Names: []string{"registry.example/measurer:1", "registry.example/vnf:1", "registry.example/endpoint:1", "registry.example/neighbor:1"}}}
	n.Status.Allocatable = corev1.ResourceList{
		kvmDevice: resource.MustParse("1k"), vhostDevice: resource.MustParse("1k"),
		"hugepages-1Gi": resource.MustParse("4Gi"), "openshift.io/west": resource.MustParse("8"),
	}
	return n
}

// healthy returns the answers of a cluster that lacks nothing.
func healthy() Facts {
	testbed := v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Name: "lab"}}
	testbed.Spec.Generator.Driver = v1alpha1.DriverXDP
	testbed.Spec.Ports.West.Attachment, testbed.Spec.Ports.East.Attachment = v1alpha1.PortBridge, v1alpha1.PortBridge
	testbed.Spec.SystemUnderTest.Attachments = []v1alpha1.Attachment{v1alpha1.AttachmentVeth, v1alpha1.AttachmentVirtio}
	testbed.Status = v1alpha1.TestbedStatus{
		Conditions:  []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}},
		BridgeNodes: []v1alpha1.BridgeNode{{Name: "node-a"}}, Calibration: &v1alpha1.Calibration{},
		Nodes: []v1alpha1.TestbedNode{{Name: "node-a", Fingerprint: &v1alpha1.Fingerprint{ScalingGovernors: []string{"performance"}, Turbo: "Disabled", SMT: "off"}}},
	}
	operator := appsv1.Deployment{ObjectMeta: named("vnfbench")}
	operator.Spec.Template.Spec.Containers = []corev1.Container{{Args: []string{
		"--traffic-image", "registry.example/measurer:1", "--function-image=registry.example/vnf:1", "-endpoint-image", "registry.example/endpoint:1",
		"--neighbor-image=registry.example/neighbor:1", "--metrics-secure", "--log-level=0",
	}}}
	operator.Status = appsv1.DeploymentStatus{Replicas: 1, AvailableReplicas: 1}
	kubeVirt := kubevirtv1.KubeVirt{}
	kubeVirt.Status = kubevirtv1.KubeVirtStatus{Phase: kubevirtv1.KubeVirtPhaseDeployed, ObservedKubeVirtVersion: "v1.9.0"}
	kubeVirt.Spec.Configuration.DeveloperConfiguration = &kubevirtv1.DeveloperConfiguration{FeatureGates: []string{"CPUManager", "HostDevices"}}
	rights := Rights("bench")
	for i := range rights {
		rights[i].Allowed.Value = true
	}
	return Facts{
		Namespace: "bench", Version: Answer[string]{Value: "v1.37.2"}, Rights: rights,
		Resources: map[string]Answer[[]string]{
			admissionVersion: {Value: []string{"validatingadmissionpolicies"}}, networkVersion: {Value: []string{"network-attachment-definitions"}},
			kubeVirtVersion: {Value: []string{"kubevirts"}}, v1alpha1.GroupVersion.String(): {Value: ourResources},
		},
		NamespaceObject: Answer[*corev1.Namespace]{Value: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bench", Labels: map[string]string{enforce: "privileged"}}}},
		DaemonSets:      Answer[[]appsv1.DaemonSet]{Value: []appsv1.DaemonSet{{ObjectMeta: named("kube-multus-ds"), Status: appsv1.DaemonSetStatus{NumberReady: 1, DesiredNumberScheduled: 1}}}},
		Operators:       Answer[[]appsv1.Deployment]{Value: []appsv1.Deployment{operator}},
		Nodes:           Answer[[]corev1.Node]{Value: []corev1.Node{node("node-a")}},
		Kubelets:        map[string]Answer[Kubelet]{"node-a": {Value: Kubelet{CPUManagerPolicy: "static"}}},
		Testbeds:        Answer[[]v1alpha1.Testbed]{Value: []v1alpha1.Testbed{testbed}},
		KubeVirts:       Answer[[]kubevirtv1.KubeVirt]{Value: []kubevirtv1.KubeVirt{kubeVirt}},
		StorageClasses:  Answer[[]storagev1.StorageClass]{Value: []storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "local", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}}}}},
	}
}

// TestHealthyCluster checks that a cluster that lacks nothing has no other result than OK, and nothing to do.
func TestHealthyCluster(t *testing.T) {
	findings := Examine(healthy())
	for _, f := range findings {
		if f.Result != OK || f.Remedy != "" || f.Found == "" {
			t.Errorf("%+v", f)
		}
	}
	if len(findings) != len(checks) || Failed(findings) {
		t.Errorf("%d findings of %d checks, and Failed is %t", len(findings), len(checks), Failed(findings))
	}
}

// foldersOfTheRepository are in no archive of the plugin and in no chart.
var foldersOfTheRepository = regexp.MustCompile(`\b(docs|config|charts|test|operator)/`)

// TestFindings changes one thing of a healthy cluster at a time, and checks what the check says that looks at it.
func TestFindings(t *testing.T) {
	refused := errors.New("refused")
	without := func(f *Facts, version string) { f.Resources[version] = Answer[[]string]{} }
	for name, test := range map[string]struct {
		check  string
		change func(*Facts)
		want   Result
		found  string
	}{
		"old server":        {"api-server", func(f *Facts) { f.Version.Value = "v1.30.9" }, Fail, "v1.30.9"},
		"vendor's server":   {"api-server", func(f *Facts) { f.Version.Value = "v1.33.5-eks-1a2b" }, OK, "v1.33.5-eks"},
		"unreadable server": {"api-server", func(f *Facts) { f.Version.Value = "edge" }, Unknown, "edge"},
		"no policies":       {"admission-policies", func(f *Facts) { without(f, admissionVersion) }, Fail, "ValidatingAdmissionPolicy"},
		"discovery refused": {"admission-policies", func(f *Facts) { f.Resources[admissionVersion] = Answer[[]string]{Err: refused} }, Unknown, "refused"},
		"not installed":     {"kinds", func(f *Facts) { without(f, v1alpha1.GroupVersion.String()) }, Warning, "not installed"},
		"half installed": {"kinds", func(f *Facts) {
			f.Resources[v1alpha1.GroupVersion.String()] = Answer[[]string]{Value: ourResources[1:]}
		}, Fail, "lacks benchmarkmeasurements"},
		"no operator":         {"operator", func(f *Facts) { f.Operators.Value = nil }, Fail, "no Deployment"},
		"two operators":       {"operator", func(f *Facts) { f.Operators.Value = slices.Repeat(f.Operators.Value, 2) }, Fail, "2 operators"},
		"operator is down":    {"operator", func(f *Facts) { f.Operators.Value[0].Status.AvailableReplicas = 0 }, Fail, "no pod that is available"},
		"operators refused":   {"operator", func(f *Facts) { f.Operators = Answer[[]appsv1.Deployment]{Err: refused} }, Unknown, "refused"},
		"image is elsewhere":  {"images", func(f *Facts) { f.Nodes.Value[0].Status.Images = nil }, Unknown, "4 images"},
		"image is not pulled": {"images", func(f *Facts) { f.Pods.Value = []corev1.Pod{pulling("ImagePullBackOff")} }, Fail, "ImagePullBackOff"},
		"container is made":   {"images", func(f *Facts) { f.Pods.Value = []corev1.Pod{pulling("ContainerCreating")} }, OK, "4 images"},
		"no Multus":           {"multus", func(f *Facts) { without(f, networkVersion) }, Fail, "NetworkAttachmentDefinition"},
		"Multus is not seen":  {"multus", func(f *Facts) { f.DaemonSets.Value = nil }, Unknown, "no DaemonSet"},
		"Multus is not ready": {"multus", func(f *Facts) { f.DaemonSets.Value[0].Status.NumberReady = 0 }, Fail, "system/kube-multus-ds"},
		"Multus by its image": {"multus", func(f *Facts) {
			f.DaemonSets.Value[0].Name = "network"
			f.DaemonSets.Value[0].Spec.Template.Spec.Containers = []corev1.Container{{Image: "ghcr.io/k8snetworkplumbingwg/multus-cni:v4"}}
		}, OK, "system/network"},
		"no run yet":      {"cni-plugins", func(f *Facts) { f.Testbeds.Value[0].Status = v1alpha1.TestbedStatus{} }, Unknown, "no run"},
		"no namespace":    {"pod-security", func(f *Facts) { f.NamespaceObject.Value = nil }, Fail, "does not exist"},
		"baseline":        {"pod-security", func(f *Facts) { f.NamespaceObject.Value.Labels[enforce] = "baseline" }, Fail, "level baseline"},
		"cluster's level": {"pod-security", func(f *Facts) { f.NamespaceObject.Value.Labels = nil }, OK, "cluster's level"},
		"cluster's level is low": {"pod-security", func(f *Facts) {
			f.NamespaceObject.Value.Labels = nil
			f.PodAdmission.Value = "pods is forbidden: violates PodSecurity \"baseline\""
		}, Fail, "baseline"},
		"no dry run":       {"pod-security", func(f *Facts) { f.NamespaceObject.Value.Labels = nil; f.PodAdmission.Err = refused }, Unknown, "refused"},
		"other refusal":    {"pod-security", func(f *Facts) { f.NamespaceObject.Value.Labels = nil; f.PodAdmission.Value = "exceeded quota" }, Unknown, "exceeded quota"},
		"node is cordoned": {"nodes", func(f *Facts) { f.Nodes.Value[0].Spec.Unschedulable = true }, Fail, "lab"},
		"nodes refused":    {"nodes", func(f *Facts) { f.Nodes = Answer[[]corev1.Node]{Err: refused} }, Unknown, "refused"},
		"no node":          {"nodes", func(f *Facts) { f.Nodes.Value, f.Testbeds.Value = nil, nil }, Fail, "none of 0 nodes"},
		"old kernel":       {"kernel", func(f *Facts) { f.Nodes.Value[0].Status.NodeInfo.KernelVersion = "5.15.0-91-generic" }, Fail, "5.15.0-91"},
		"one old kernel": {"kernel", func(f *Facts) {
			old := node("node-b")
			old.Status.NodeInfo.KernelVersion = "5.10.0"
			f.Nodes.Value = append(f.Nodes.Value, old)
		}, Warning, "node-b (5.10.0)"},
		"kernel that starves": {"kernel", func(f *Facts) { f.Nodes.Value[0].Status.NodeInfo.KernelVersion = "6.1.0-28-amd64" }, Warning, "6.1.0-28"},
		"unreadable kernel":   {"kernel", func(f *Facts) { f.Nodes.Value[0].Status.NodeInfo.KernelVersion = "custom" }, Unknown, "custom"},
		"no traffic yet":      {"bpf", func(f *Facts) { f.Testbeds.Value[0].Status.Calibration = nil }, Unknown, "no run"},
		"TRex proves no BPF":  {"bpf", func(f *Facts) { f.Testbeds.Value[0].Spec.Generator.Driver = v1alpha1.DriverTRex }, Unknown, "no run"},
		"shared cores":        {"cpu-manager", func(f *Facts) { f.Kubelets["node-a"] = Answer[Kubelet]{Value: Kubelet{CPUManagerPolicy: "none"}} }, Warning, "node-a"},
		"kubelet refused":     {"cpu-manager", func(f *Facts) { f.Kubelets["node-a"] = Answer[Kubelet]{Err: refused} }, Unknown, "refused"},
		"KubeVirt's label":    {"cpu-manager", func(f *Facts) { f.Kubelets = nil; f.Nodes.Value[0].Labels[kubevirtv1.CPUManager] = "true" }, OK, "node-a"},
		"shared cores and FIFO": {"cpu-manager", func(f *Facts) {
			f.Kubelets["node-a"] = Answer[Kubelet]{Value: Kubelet{CPUManagerPolicy: "none"}}
			f.Testbeds.Value[0].Spec.Generator.XDP.Scheduling = v1alpha1.SchedulingRealTime
		}, Fail, "dedicated cores"},
		"governor": {"platform", func(f *Facts) {
			f.Testbeds.Value[0].Status.Nodes[0].Fingerprint.ScalingGovernors = []string{"powersave"}
		}, Warning, "powersave"},
		"virtual node": {"platform", func(f *Facts) { f.Testbeds.Value[0].Status.Nodes[0].Fingerprint.Hypervisor = "Present" }, Warning, "virtual machine"},
		"unread node":  {"platform", func(f *Facts) { f.Testbeds.Value[0].Status.Nodes[0].Fingerprint = nil }, Unknown, "no run"},
		"missing huge pages": {"huge-pages", func(f *Facts) {
			g := &f.Testbeds.Value[0].Spec.Generator
			g.Driver, g.TRex = v1alpha1.DriverTRex, &v1alpha1.TRexGenerator{Mode: v1alpha1.TRexDPDK, CoresPerPort: 1, Hugepages: &v1alpha1.TRexHugepages{Memory: "8Gi", PageSize: "1Gi"}}
		}, Fail, "hugepages-1Gi"},
		"no huge pages": {"huge-pages", func(f *Facts) { delete(f.Nodes.Value[0].Status.Allocatable, "hugepages-1Gi") }, OK, "no node has any"},
		"missing virtual functions": {"device-plugins", func(f *Facts) {
			f.Testbeds.Value[0].Spec.Ports.West = v1alpha1.TestbedPort{Attachment: v1alpha1.PortSRIOV, SRIOV: &v1alpha1.SRIOVPort{ResourceName: "openshift.io/east"}}
		}, Fail, "openshift.io/east"},
		"no KubeVirt": {"kubevirt", func(f *Facts) { without(f, kubeVirtVersion) }, Fail, "lab"},
		"no KubeVirt, and no use": {"kubevirt", func(f *Facts) {
			without(f, kubeVirtVersion)
			f.Testbeds.Value[0].Spec.SystemUnderTest.Attachments = []v1alpha1.Attachment{v1alpha1.AttachmentVeth}
		}, OK, "pods alone"},
		"old KubeVirt":     {"kubevirt", func(f *Facts) { f.KubeVirts.Value[0].Status.ObservedKubeVirtVersion = "v1.6.2" }, Fail, "v1.6.2"},
		"KubeVirt deploys": {"kubevirt", func(f *Facts) { f.KubeVirts.Value[0].Status.Phase = kubevirtv1.KubeVirtPhaseDeploying }, Warning, "Deploying"},
		"no feature gates": {"kubevirt", func(f *Facts) { f.KubeVirts.Value[0].Spec.Configuration.DeveloperConfiguration = nil }, Warning, "CPUManager is off; the feature gate HostDevices is off"},
		"emulation": {"kubevirt", func(f *Facts) {
			f.KubeVirts.Value[0].Spec.Configuration.DeveloperConfiguration.UseEmulation = true
			delete(f.Nodes.Value[0].Status.Allocatable, kvmDevice)
		}, Warning, "emulated"},
		"no KVM":                  {"kubevirt", func(f *Facts) { delete(f.Nodes.Value[0].Status.Allocatable, kvmDevice) }, Warning, "no /dev/kvm"},
		"no machine on the nodes": {"kubevirt", func(f *Facts) { f.Nodes.Value[0].Labels = nil }, Fail, "no node"},
		"no StorageClass":         {"storage-class", func(f *Facts) { f.StorageClasses.Value = nil }, Warning, "no StorageClass"},
		"no default StorageClass": {"storage-class", func(f *Facts) { f.StorageClasses.Value[0].Annotations = nil }, Warning, "1 StorageClass is"},
		"no Testbed":              {"testbeds", func(f *Facts) { f.Testbeds.Value = nil }, Warning, "no Testbed"},
		"Testbed is not ready": {"testbeds", func(f *Facts) {
			f.Testbeds.Value[0].Status.Conditions[0] = metav1.Condition{Type: v1alpha1.ConditionReady, Status: "False", Reason: "NoMatchingNode", Message: "none"}
		}, Fail, "NoMatchingNode: none"},
		"no right to run":         {"rights-run", func(f *Facts) { f.Rights[0].Allowed.Value = false }, Fail, "create benchmarkruns.vnfbench.io"},
		"no right to read logs":   {"rights-read", refuse("pods", "log"), Warning, "get pods/log"},
		"no right to install":     {"rights-install", refuse("customresourcedefinitions", ""), OK, "installed already"},
		"no right, nothing there": {"rights-install", func(f *Facts) { without(f, v1alpha1.GroupVersion.String()); refuse("customresourcedefinitions", "")(f) }, Fail, "customresourcedefinitions"},
		"rights are not answered": {"rights-run", func(f *Facts) { f.Rights[0].Allowed.Err = refused }, Unknown, "refused"},
		"rights were not asked":   {"rights-run", func(f *Facts) { f.Rights = nil }, Unknown, "not asked"},
	} {
		facts := healthy()
		test.change(&facts)
		findings := Examine(facts)
		i := slices.IndexFunc(findings, func(f Finding) bool { return f.Check == test.check })
		if i < 0 {
			t.Fatalf("%s: there is no check %s", name, test.check)
		}
		got := findings[i]
		for _, f := range findings {
			if folder := foldersOfTheRepository.FindString(f.Found + " " + f.Remedy); folder != "" {
				t.Errorf("%s: %+v names %s, which a user of the plugin alone does not have", name, f, folder)
			}
		}
		if got.Result != test.want || !strings.Contains(got.Found, test.found) || (got.Remedy == "") != (test.want == OK) {
			t.Errorf("%s: %+v, want %s with %q", name, got, test.want, test.found)
		}
		if Failed(findings) != slices.ContainsFunc(findings, func(f Finding) bool { return f.Result == Fail }) || test.want == Fail && !Failed(findings) {
			t.Errorf("%s: Failed is %t", name, Failed(findings))
		}
	}
}

// TestNothingAnswered checks that a cluster that answers nothing has no check that is OK.
func TestNothingAnswered(t *testing.T) {
	refused := errors.New("refused")
	facts := Facts{
		Namespace: "bench", Version: Answer[string]{Err: refused}, NamespaceObject: Answer[*corev1.Namespace]{Err: refused}, PodAdmission: Answer[string]{Err: refused},
		DaemonSets: Answer[[]appsv1.DaemonSet]{Err: refused}, Operators: Answer[[]appsv1.Deployment]{Err: refused}, Nodes: Answer[[]corev1.Node]{Err: refused},
		Testbeds: Answer[[]v1alpha1.Testbed]{Err: refused}, KubeVirts: Answer[[]kubevirtv1.KubeVirt]{Err: refused}, StorageClasses: Answer[[]storagev1.StorageClass]{Err: refused},
	}
	for _, f := range Examine(facts) {
		if f.Result == OK || f.Result == Warning || f.Remedy == "" {
			t.Errorf("%+v", f)
		}
	}
}

// refuse takes a right away.
func refuse(resource, sub string) func(*Facts) {
	return func(f *Facts) {
		for i, r := range f.Rights {
			if r.Resource == resource && r.Subresource == sub {
				f.Rights[i].Allowed.Value = false
			}
		}
	}
}

// pulling returns a pod whose container waits.
func pulling(reason string) corev1.Pod {
	return corev1.Pod{ObjectMeta: named("router"), Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Image: "registry.example/vnf:2", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "manifest unknown"}},
	}}}}
}
