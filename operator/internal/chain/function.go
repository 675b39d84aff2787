package chain

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/vnf"
)

const (
	// ContainerFunction is the container of a function in a pod.
	ContainerFunction = "function"
	portHTTP          = 8080
	functionGrace     = 5
)

func functionConfigMap(p *plan.Plan, function plan.Function) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metadata(p, p.Names().Function(function.Name), ComponentFunction),
		Immutable:  new(true),
		Data:       map[string]string{path.Base(vnf.DefaultPath): indentedJSON(function.Config)},
	}
}

func functionPod(p *plan.Plan, function plan.Function, rule *caller.Rule) *corev1.Pod {
	meta := podMetadata(p, p.Names().Function(function.Name), ComponentFunction)
	meta.Annotations[annotationNetworks] = attachments(p, function.Name)
	const volume = "config"
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: meta,
		Spec: corev1.PodSpec{
			// The restart count shows a crash; the measurement continues or fails by what it finds.
			RestartPolicy:                 corev1.RestartPolicyAlways,
			TerminationGracePeriodSeconds: new(int64(functionGrace)),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			Affinity:                      nodeAffinity(p.DeviceNode),
			Tolerations:                   function.Tolerations,
			ImagePullSecrets:              pullSecrets(p.ImagePullSecrets),
			Containers:                    []corev1.Container{functionContainer(p, function, volume, rule)},
			Volumes: []corev1.Volume{{
				Name: volume,
				VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: meta.Name},
				}},
			}},
		},
	}
	addNeeds(p, function, &pod.Spec)
	return pod
}

func functionContainer(p *plan.Plan, function plan.Function, volume string, rule *caller.Rule) corev1.Container {
	return corev1.Container{
		Name:            ContainerFunction,
		Image:           function.Image,
		ImagePullPolicy: p.ImagePullPolicy,
		Command:         []string{"vnf", "run", "--config", vnf.DefaultPath, "--listen", listenAddress(portHTTP)},
		Env:             agentVariables(rule),
		Ports:           []corev1.ContainerPort{{Name: "http", ContainerPort: portHTTP, Protocol: corev1.ProtocolTCP}},
		Resources:       withDevices(requirements(function.Resources), p.DevicesOf(function.Name)),
		VolumeMounts:    []corev1.VolumeMount{{Name: volume, MountPath: path.Dir(vnf.DefaultPath), ReadOnly: true}},
		// NET_ADMIN: links, addresses, routes, neighbors, bridges, packet
		// filters and tunnels in the pod's network namespace.
		SecurityContext:          restrictedSecurityContext("NET_ADMIN"),
		ReadinessProbe:           functionProbe(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// functionProbe asks a function's agent. One answer "no" counts at once: a chain that stopped forwarding
// spoils the trial. A late answer does not: under full load the node may have no time for it. There is no
// liveness probe, because a restart in the middle of a trial would hide what the trial is meant to find.
func functionProbe() *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: "/readyz", Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP,
		}},
		PeriodSeconds:    1,
		TimeoutSeconds:   10,
		SuccessThreshold: 1,
		FailureThreshold: 1,
	}
}
