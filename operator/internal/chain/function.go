package chain

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/vnf"
)

const (
	containerFunction = "function"
	portHTTP          = 8080
	functionGrace     = 5
)

// Function is the objects of one function of the chain: a pod with its
// configuration, or a virtual machine with its own.
type Function struct {
	ConfigMap *corev1.ConfigMap
	Pod       *corev1.Pod
	// Machine and Secret are there in place of the others with runtime
	// VirtualMachine. The Secret of a function Custom is Seed's to make.
	Secret  *corev1.Secret
	Machine *kubevirtv1.VirtualMachineInstance
}

// Objects are the function's, what the others need first.
func (f Function) Objects() []Object {
	if f.Machine != nil && f.Secret == nil {
		return []Object{f.Machine}
	}
	if f.Machine != nil {
		return []Object{f.Secret, f.Machine}
	}
	return []Object{f.ConfigMap, f.Pod}
}

// Functions are the chain's, west to east.
func Functions(p *plan.Plan) []Function {
	functions := make([]Function, 0, len(p.Functions))
	for _, function := range p.Functions {
		if function.IsCustom() {
			functions = append(functions, Function{Machine: customMachine(p, function)})
			continue
		}
		if function.IsMachine() {
			functions = append(functions, Function{Secret: machineSecret(p, function), Machine: machine(p, function)})
			continue
		}
		functions = append(functions, Function{ConfigMap: functionConfigMap(p, function), Pod: functionPod(p, function)})
	}
	return functions
}

func functionConfigMap(p *plan.Plan, function plan.Function) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metadata(p, p.Names().Function(function.Name), ComponentFunction),
		Immutable:  new(true),
		Data:       map[string]string{path.Base(vnf.DefaultPath): document(function.Config)},
	}
}

func functionPod(p *plan.Plan, function plan.Function) *corev1.Pod {
	meta := metadata(p, p.Names().Function(function.Name), ComponentFunction)
	meta.Annotations[annotationNetworks] = attachments(p, function.Name)
	const volume = "config"
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: meta,
		Spec: corev1.PodSpec{
			// A crash is seen in the restart count; the measurement goes on or
			// fails by what it finds.
			RestartPolicy:                 corev1.RestartPolicyAlways,
			TerminationGracePeriodSeconds: new(int64(functionGrace)),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			Affinity:                      onNode(p.DeviceNode),
			Tolerations:                   function.Tolerations,
			ImagePullSecrets:              pullSecrets(p.ImagePullSecrets),
			Containers:                    []corev1.Container{functionContainer(p, function, volume)},
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

func functionContainer(p *plan.Plan, function plan.Function, volume string) corev1.Container {
	return corev1.Container{
		Name:            containerFunction,
		Image:           function.Image,
		ImagePullPolicy: p.ImagePullPolicy,
		Command:         []string{"vnf", "run", "--config", vnf.DefaultPath, "--listen", ":8080"},
		Ports:           []corev1.ContainerPort{{Name: "http", ContainerPort: portHTTP, Protocol: corev1.ProtocolTCP}},
		Resources:       withDevices(requirements(function.Resources), p.DevicesOf(function.Name)),
		VolumeMounts:    []corev1.VolumeMount{{Name: volume, MountPath: path.Dir(vnf.DefaultPath), ReadOnly: true}},
		// NET_ADMIN: links, addresses, routes, neighbours, bridges, packet
		// filters and tunnels of its own network namespace.
		SecurityContext: confined("NET_ADMIN"),
		// One answer "no" counts at once: a chain that stopped forwarding spoils
		// the trial. A late answer does not: under full load the node may have
		// no time for it. There is no liveness probe, because a restart in the
		// middle of a trial would hide what the trial is to find.
		ReadinessProbe: &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
				Path: "/readyz", Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP,
			}},
			PeriodSeconds:    1,
			TimeoutSeconds:   10,
			SuccessThreshold: 1,
			FailureThreshold: 1,
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}
