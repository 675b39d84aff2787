package chain

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/plan"
)

const (
	containerCleanup       = "cleanup"
	cleanupRetries         = 3
	cleanupDeadlineSeconds = 300
	// cleanupKeepSeconds is longer than the Jobs of all nodes may take, whose results count together. The operator
	// deletes them with the testbed.
	cleanupKeepSeconds = 600
)

// BridgeCleanup returns a Job in the given namespace that deletes a testbed's bridges from
// a node: the CNI plugin makes bridges and does not remove them. The command keeps a link
// that is not a bridge or that still has ports.
func BridgeCleanup(testbed *v1alpha1.Testbed, namespace, node string, defaults plan.Defaults) *batchv1.Job {
	labels := map[string]string{
		labelName:               application,
		labelManagedBy:          application,
		v1alpha1.LabelTestbed:   string(testbed.UID),
		v1alpha1.LabelComponent: ComponentCleanup,
	}
	return &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      plan.CleanupName(testbed, node),
			Labels:    labels,
		},
		Spec: batchv1.JobSpec{
			BackoffLimit:            new(int32(cleanupRetries)),
			ActiveDeadlineSeconds:   new(int64(cleanupDeadlineSeconds)),
			TTLSecondsAfterFinished: new(int32(cleanupKeepSeconds)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       cleanupPod(testbed, node, defaults),
			},
		},
	}
}

func cleanupPod(testbed *v1alpha1.Testbed, node string, defaults plan.Defaults) corev1.PodSpec {
	return corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		TerminationGracePeriodSeconds: new(int64(functionGrace)),
		AutomountServiceAccountToken:  new(false),
		EnableServiceLinks:            new(false),
		// The bridges are in the node's network namespace.
		HostNetwork: true,
		Affinity:    nodeAffinity(node),
		// The clean-up must reach the run's nodes, whatever taints were added since.
		Tolerations:      []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		ImagePullSecrets: pullSecrets(defaults.ImagePullSecrets),
		Containers: []corev1.Container{{
			Name:            containerCleanup,
			Image:           defaults.FunctionImage,
			ImagePullPolicy: defaults.ImagePullPolicy,
			Command:         slices.Concat([]string{"vnf", "delete-bridges"}, plan.BridgeNames(testbed)),
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{
					corev1.ResourceCPU:    resource.MustParse("10m"),
					corev1.ResourceMemory: resource.MustParse("32Mi"),
				},
				Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")},
			},
			// NET_ADMIN: deleting links.
			SecurityContext:          restrictedSecurityContext("NET_ADMIN"),
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		}},
	}
}
