package chain

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/caller"
	"vnfbench.io/operator/internal/observer"
	"vnfbench.io/operator/internal/plan"
)

const (
	containerObserver = "observer"
	// observerUser owns nothing on any node.
	observerUser = 65532
	// observerStartSeconds is how long it may take to listen.
	observerStartSeconds = 60
	// PortStatus is the port on which a function reports its status.
	PortStatus = portHTTP
)

// observerPod renders the pod that reports what the device's node did. It exists as long as
// the chain.
func observerPod(p *plan.Plan, rule *caller.Rule) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: podMetadata(p, p.Names().Observer, ComponentObserver),
		Spec: corev1.PodSpec{
			// No figure depends on it, so it may restart when it ends.
			RestartPolicy:                 corev1.RestartPolicyAlways,
			TerminationGracePeriodSeconds: new(int64(functionGrace)),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			// The threads of the chain's virtual machines are the node's. Of other processes it sees
			// what every user of the node may see: it answers without a capability to see more. Pod Security's
			// level "baseline" forbids hostPID.
			HostPID:          true,
			Affinity:         nodeAffinity(p.DeviceNode),
			Tolerations:      p.Observer.Tolerations,
			ImagePullSecrets: pullSecrets(p.ImagePullSecrets),
			Containers: []corev1.Container{{
				Name:            containerObserver,
				Image:           p.Observer.Image,
				ImagePullPolicy: p.ImagePullPolicy,
				Command:         observerCommand(p),
				Env:             agentVariables(rule),
				Ports:           []corev1.ContainerPort{{Name: "http", ContainerPort: observer.Port, Protocol: corev1.ProtocolTCP}},
				Resources:       requirements(p.Observer.Resources),
				SecurityContext: observerSecurityContext(p),
				// Only a startup probe: no probe runs during a trial.
				StartupProbe: &corev1.Probe{
					ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
						Path: "/readyz", Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP,
					}},
					PeriodSeconds:    1,
					TimeoutSeconds:   10,
					SuccessThreshold: 1,
					FailureThreshold: observerStartSeconds,
				},
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			}},
		},
	}
}

// observerSecurityContext returns that of a user without rights. An observer that counts cycles begins as user 0,
// because Kubernetes gives capabilities to no other: it opens the counters (PERFMON), and becomes that
// user (SETUID) before it answers anyone.
func observerSecurityContext(p *plan.Plan) *corev1.SecurityContext {
	out := &corev1.SecurityContext{
		RunAsUser:                new(int64(observerUser)),
		RunAsGroup:               new(int64(observerUser)),
		RunAsNonRoot:             new(true),
		Privileged:               new(false),
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if p.Observer.CountsCycles {
		out.RunAsUser, out.RunAsNonRoot = new(int64(0)), new(false)
		out.Capabilities.Add = []corev1.Capability{"PERFMON", "SETUID"}
	}
	return out
}

func observerCommand(p *plan.Plan) []string {
	command := []string{"vnf", "observe", "--listen", listenAddress(observer.Port)}
	if p.Observer.CountsCycles {
		command = append(command, "--cycles", "--become-user", strconv.Itoa(observerUser))
	}
	for _, function := range p.Functions {
		if guest := GuestName(p, function); guest != "" {
			command = append(command, "--guest", guest)
		}
	}
	return command
}

// GuestName returns libvirt's name of a function's virtual machine on its node, by
// KubeVirt's rule; "" for a pod.
func GuestName(p *plan.Plan, function plan.Function) string {
	if function.Runtime != v1alpha1.RuntimeVirtualMachine {
		return ""
	}
	return p.Run.Namespace + "_" + p.Names().Function(function.Name)
}
