package chain

import (
	"cmp"
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/endpoint"
	"vnfbench.io/operator/internal/plan"
)

const containerEndpoint = "endpoint"

func endpointConfigMap(p *plan.Plan, end plan.Endpoint) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metadata(p, p.Names().Endpoint(end.Config.Name), ComponentEndpoint),
		Immutable:  new(true),
		Data:       map[string]string{path.Base(endpoint.DefaultPath): indentedJSON(end.Config)},
	}
}

func endpointPod(p *plan.Plan, end plan.Endpoint, rule *caller.Rule) *corev1.Pod {
	meta := podMetadata(p, p.Names().Endpoint(end.Config.Name), ComponentEndpoint)
	meta.Annotations[annotationNetworks] = compactJSON([]attachment{{
		Name: end.Port.Network, Namespace: cmp.Or(end.Port.NetworkNamespace, p.Run.Namespace), Interface: end.Port.Interface, MAC: end.Port.MAC,
	}})
	const config, scratch = "config", "scratch"
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: meta,
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyAlways,
			TerminationGracePeriodSeconds: new(int64(functionGrace)),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			// The ends replace the generator, so they run where it would.
			Affinity:         nodeAffinity(p.GeneratorNode),
			Tolerations:      end.Tolerations,
			ImagePullSecrets: pullSecrets(p.ImagePullSecrets),
			Containers: []corev1.Container{{
				Name:            containerEndpoint,
				Image:           end.Image,
				ImagePullPolicy: p.ImagePullPolicy,
				Command:         []string{"endpoint", "--config", endpoint.DefaultPath, "--listen", listenAddress(endpoint.AgentPort)},
				Env:             agentVariables(rule),
				Ports:           []corev1.ContainerPort{{Name: "http", ContainerPort: endpoint.AgentPort, Protocol: corev1.ProtocolTCP}},
				Resources:       requirements(end.Resources),
				VolumeMounts: []corev1.VolumeMount{
					{Name: config, MountPath: path.Dir(endpoint.DefaultPath), ReadOnly: true},
					{Name: scratch, MountPath: "/tmp"},
				},
				// NET_ADMIN: the measured port's link, addresses, routes and neighbors.
				SecurityContext:          restrictedSecurityContext("NET_ADMIN"),
				ReadinessProbe:           endpointProbe(),
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			}},
			Volumes: []corev1.Volume{
				{Name: config, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: meta.Name},
				}}},
				// iperf3 keeps each connection's buffer of 128 KiB in a file.
				{Name: scratch, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
					Medium: corev1.StorageMediumMemory, SizeLimit: new(resource.MustParse("64Mi")),
				}}},
			},
		},
	}
}

// endpointProbe waits long for an answer: a test takes the CPU that an answer needs, and
// the measurer notices an end that does not answer.
func endpointProbe() *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: "/readyz", Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP,
		}},
		PeriodSeconds:    1,
		TimeoutSeconds:   10,
		SuccessThreshold: 1,
		FailureThreshold: 3,
	}
}

// endpointSysctls let the port carry both families, and keep it from asking for
// routers.
var endpointSysctls = map[string]string{
	"net.ipv6.conf.IFNAME.disable_ipv6": "0",
	"net.ipv6.conf.IFNAME.accept_ra":    "0",
}

func endpointNetworks(p *plan.Plan) []*unstructured.Unstructured {
	var networks []*unstructured.Unstructured
	for _, end := range p.Endpoints {
		if !end.Port.Existing {
			networks = append(networks, definition(p, end.Bridge, end.Port, ComponentEndpoint, endpointSysctls))
		}
	}
	return networks
}
