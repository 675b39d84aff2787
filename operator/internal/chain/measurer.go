package chain

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vnfbench.io/operator/internal/plan"
)

const (
	containerMeasurer = "measurer"
	measurerGrace     = 10
	measurerRetries   = 6
	// MaxGraceSeconds is the longest time that a pod of a run has to end.
	MaxGraceSeconds = max(functionGrace, measurerGrace, neighborGrace)
	// ExitCodeFinal is the measurer's exit code for a failure that another attempt would meet
	// again: the Job fails at once.
	ExitCodeFinal = 42

	instructionsDirectory = "/etc/vnfbench"
	tokenDirectory        = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenSeconds is how long a stolen token is valid; the kubelet renews it.
	tokenSeconds = 3600
)

// PlanConfigMap returns the ConfigMap that keeps the plan. It is immutable, as the plan
// must be.
func PlanConfigMap(p *plan.Plan) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metadata(p, p.Names().Plan, ComponentMeasurer),
		Immutable:  new(true),
		Data: map[string]string{
			plan.KeyPlan:         string(p.JSON()),
			plan.KeyInstructions: indentedJSON(p.Instructions),
		},
	}
}

// ResultsConfigMap returns the ConfigMap that the measurer fills. It names no data, so that
// applying it again removes nothing.
func ResultsConfigMap(p *plan.Plan) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metadata(p, p.Names().Results, ComponentMeasurer),
	}
}

// ServiceAccount returns the measurer's account.
func ServiceAccount(p *plan.Plan) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta:                     metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta:                   metadata(p, p.Names().ServiceAccount, ComponentMeasurer),
		AutomountServiceAccountToken: new(false),
	}
}

// Role returns the right to patch the results' ConfigMap, and to make the chunks of the results, which
// are known by their names. A patch answers with the whole object, so the measurer needs no right to read. The
// API server knows the name of an object that is made by server-side apply, and asks for the verb create with
// that name; it knows none of one that is posted, so that the measurer can post nothing.
func Role(p *plan.Plan) *rbacv1.Role {
	return &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: metadata(p, p.Names().Role, ComponentMeasurer),
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{p.Names().Results}, Verbs: []string{"patch"}},
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: p.Names().Chunks(), Verbs: []string{"create", "patch"}},
		},
	}
}

// RoleBinding binds the role to the measurer's service account.
func RoleBinding(p *plan.Plan) *rbacv1.RoleBinding {
	names := p.Names()
	return &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: metadata(p, names.RoleBinding, ComponentMeasurer),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: names.Role},
		Subjects: []rbacv1.Subject{{
			Kind: rbacv1.ServiceAccountKind, Namespace: p.Run.Namespace, Name: names.ServiceAccount,
		}},
	}
}

// MeasurerJob returns the Job that makes the trials, in one pod with both traffic ports.
func MeasurerJob(p *plan.Plan) *batchv1.Job {
	meta, pod := metadata(p, p.Names().Job, ComponentMeasurer), podMetadata(p, "", ComponentMeasurer)
	pod.Namespace, pod.Annotations[annotationNetworks] = "", attachments(p, "")
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"},
		ObjectMeta: meta,
		Spec: batchv1.JobSpec{
			Parallelism:           new(int32(1)),
			Completions:           new(int32(1)),
			BackoffLimit:          new(int32(measurerRetries)),
			ActiveDeadlineSeconds: new(p.DeadlineSeconds),
			// Two measurers would share the bridges: the next one starts after the last one is gone.
			PodReplacementPolicy: new(batchv1.Failed),
			PodFailurePolicy:     measurerFailurePolicy(),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: pod,
				Spec:       measurerPod(p),
			},
		},
	}
}

// measurerFailurePolicy returns a policy that ends the Job at a final failure, and does not
// count an eviction of the pod or a drain of its node.
func measurerFailurePolicy() *batchv1.PodFailurePolicy {
	return &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{
			Action: batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				ContainerName: new(containerMeasurer),
				Operator:      batchv1.PodFailurePolicyOnExitCodesOpIn,
				Values:        []int32{ExitCodeFinal},
			},
		},
		{
			Action: batchv1.PodFailurePolicyActionIgnore,
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
				{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
			},
		},
	}}
}

func measurerPod(p *plan.Plan) corev1.PodSpec {
	const instructions, token = "instructions", "token"
	pod := corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		TerminationGracePeriodSeconds: new(int64(measurerGrace)),
		ServiceAccountName:            p.Names().ServiceAccount,
		AutomountServiceAccountToken:  new(false),
		EnableServiceLinks:            new(false),
		Affinity:                      nodeAffinity(p.GeneratorNode),
		Tolerations:                   p.Generator.Tolerations,
		ImagePullSecrets:              pullSecrets(p.ImagePullSecrets),
		Containers: []corev1.Container{{
			Name:            containerMeasurer,
			Image:           p.Generator.Image,
			ImagePullPolicy: p.ImagePullPolicy,
			Command: []string{
				"measurer",
				"--instructions", instructionsDirectory + "/" + plan.KeyInstructions,
				"--namespace", p.Run.Namespace,
				"--results", p.Names().Results,
			},
			Env: append([]corev1.EnvVar{
				fromField("POD_NAME", "metadata.name"),
				fromField("POD_UID", "metadata.uid"),
			}, agentTokenPath(p)...),
			Resources: withDevices(requirements(p.Generator.Resources), p.DevicesOf("")),
			VolumeMounts: []corev1.VolumeMount{
				{Name: instructions, MountPath: instructionsDirectory, ReadOnly: true},
				{Name: token, MountPath: tokenDirectory, ReadOnly: true},
			},
			TerminationMessagePath:   corev1.TerminationMessagePathDefault,
			TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		}},
		Volumes: []corev1.Volume{
			{Name: instructions, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: p.Names().Plan},
				Items:                []corev1.KeyToPath{{Key: plan.KeyInstructions, Path: plan.KeyInstructions}},
			}}},
			{Name: token, VolumeSource: corev1.VolumeSource{Projected: tokenVolume(p)}},
		},
	}
	addGenerator(p, &pod)
	return pod
}

// tokenVolume returns what the kubelet mounts into pods by itself, with a shorter lifetime
// of the token, and the token for the run's agents.
func tokenVolume(p *plan.Plan) *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{Sources: append([]corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
			Path: corev1.ServiceAccountTokenKey, ExpirationSeconds: new(int64(tokenSeconds)),
		}},
		{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
			Items:                []corev1.KeyToPath{{Key: corev1.ServiceAccountRootCAKey, Path: corev1.ServiceAccountRootCAKey}},
		}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
			{Path: corev1.ServiceAccountNamespaceKey, FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}},
		}}},
	}, agentToken(p)...)}
}

func fromField(name, field string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: field},
	}}
}
