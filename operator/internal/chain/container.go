package chain

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/placeholder"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/vnf"
)

const (
	// contractDirectory has the files that the user's own container may read.
	contractDirectory = "/etc/vnfbench"
	// keyNetwork is the file with the values of the function's ports.
	keyNetwork = "network.json"
	// pathNetworkStatus, below contractDirectory, is Multus' report on the pod's ports.
	pathNetworkStatus = "network-status.json"
	// contractVolume is the volume of contractDirectory.
	contractVolume = "vnfbench"
	// maxContainerStorage bounds what the user's own container writes: the kubelet ends a pod that has more.
	maxContainerStorage = 1 << 30
)

// customConfigMap returns the values of the ports of the user's own container.
func customConfigMap(p *plan.Plan, function plan.Function) *corev1.ConfigMap {
	text, err := placeholder.Of(function.Config).JSON()
	if err != nil {
		// The numbers are those that the placeholders were made of.
		panic(err)
	}
	object := functionConfigMap(p, function)
	object.Data = map[string]string{keyNetwork: text}
	return object
}

// customPod returns the pod of the user's own program: that of any function, with another container.
func customPod(p *plan.Plan, function plan.Function) *corev1.Pod {
	pod, custom := functionPod(p, function, nil), function.Container
	pod.Spec.Volumes = []corev1.Volume{{Name: contractVolume, VolumeSource: contractFiles(pod.Name, custom)}}
	if custom.ImagePullSecret != "" {
		pod.Spec.ImagePullSecrets = pullSecrets([]string{custom.ImagePullSecret})
	}
	container := &pod.Spec.Containers[0]
	container.ImagePullPolicy = cmp.Or(custom.ImagePullPolicy, p.ImagePullPolicy)
	container.Command, container.Args = custom.Command, custom.Args
	container.Env, container.Ports = customVariables(function), nil
	container.VolumeMounts = []corev1.VolumeMount{{Name: contractVolume, MountPath: contractDirectory, ReadOnly: true}}
	container.SecurityContext = customSecurityContext(custom.Capabilities)
	container.ReadinessProbe = containerProbe(custom.Readiness)
	container.Resources.Requests[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(0, resource.BinarySI)
	container.Resources.Limits[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(maxContainerStorage, resource.BinarySI)
	if custom.WithoutLog {
		container.TerminationMessagePolicy = corev1.TerminationMessageReadFile
	}
	addHugepages(&pod.Spec, custom.Hugepages)
	return pod
}

// contractFiles returns the files of the contract: the values of the ports, what Multus says of them, and the user's text.
func contractFiles(own string, custom *plan.Container) corev1.VolumeSource {
	sources := []corev1.VolumeProjection{
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: own}}},
		networkStatus(pathNetworkStatus),
	}
	secret := custom.UserDataSecret
	if custom.UserDataDigest != "" {
		secret = own
	}
	if secret != "" {
		sources = append(sources, corev1.VolumeProjection{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: secret},
			Items:                []corev1.KeyToPath{{Key: keyUserData, Path: keyUserData}},
		}})
	}
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}
}

// customVariables returns the values of the ports, and then the user's own variables, which may name them.
func customVariables(function plan.Function) []corev1.EnvVar {
	var out []corev1.EnvVar
	for _, variable := range placeholder.Of(function.Config).Variables() {
		out = append(out, corev1.EnvVar{Name: variable.Name, Value: variable.Value})
	}
	for _, variable := range function.Container.Env {
		out = append(out, corev1.EnvVar{Name: variable.Name, Value: variable.Value})
	}
	return out
}

// customSecurityContext returns the security context of the user's own container. It keeps the user of its
// image where it has no capabilities, and may write to its own file system: images of others expect that, and
// what they write ends with the pod.
func customSecurityContext(capabilities []v1alpha1.ContainerCapability) *corev1.SecurityContext {
	var added []corev1.Capability
	for _, capability := range capabilities {
		added = append(added, corev1.Capability(capability))
	}
	rights := restrictedSecurityContext(added...)
	rights.ReadOnlyRootFilesystem = new(false)
	if len(added) == 0 {
		rights.RunAsUser = nil
	}
	return rights
}

// containerProbe returns nil if the generator's probe frames decide when the chain is ready.
func containerProbe(readiness v1alpha1.CustomReadiness) *corev1.Probe {
	port := intstr.FromInt32(readiness.Port)
	probe := functionProbe()
	switch readiness.Kind {
	case v1alpha1.ReadinessHTTP:
		probe.ProbeHandler = corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: readiness.Path, Port: port, Scheme: corev1.URISchemeHTTP}}
	case v1alpha1.ReadinessTCP:
		probe.ProbeHandler = corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: port}}
	case v1alpha1.ReadinessExec:
		probe.ProbeHandler = corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: readiness.Command}}
	default:
		return nil
	}
	return probe
}

// customSysctls returns the settings of a port of the user's own container. Where a program reads the port, the
// kernel neither forwards nor sends there: a pod inherits forwarding from its node, and would forward frames twice.
func customSysctls(function plan.Function, port vnf.Port) map[string]string {
	if function.Container.Forwarding == v1alpha1.ForwardingUserSpace {
		return map[string]string{"net.ipv4.conf.IFNAME.forwarding": "0", "net.ipv6.conf.IFNAME.disable_ipv6": "1"}
	}
	return portSysctls(function, port)
}

// podSysctls returns settings that name no interface, for the pod of a user's own container that may have none for this port: a
// virtual function. One with a driver of the kernel is an interface, and its IPv6 stays on: the setting of all interfaces is
// that of eth0 too. It returns nil for any other port.
func podSysctls(p *plan.Plan, end plan.End) map[string]string {
	owned := slices.ContainsFunc(p.Functions, func(f plan.Function) bool {
		return f.Name == end.Function && f.Container != nil && f.OwnsPorts()
	})
	if !owned || end.ResourceName == "" || end.PCIAddress != "" {
		return nil
	}
	return map[string]string{"net.ipv4.conf.all.forwarding": "0"}
}
