package benchmarkrun

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/plan"
)

// networkObjects are the networks of the run.
func networkObjects(p *plan.Plan) []client.Object {
	var objects []client.Object
	for _, network := range chain.Networks(p) {
		objects = append(objects, network)
	}
	return objects
}

// measurerObjects are networks, policies, the measurer's rights, its results,
// and last the Job that needs them all.
func measurerObjects(p *plan.Plan) []client.Object {
	objects := networkObjects(p)
	for _, policy := range chain.NetworkPolicies(p) {
		objects = append(objects, policy)
	}
	return append(objects, chain.ServiceAccount(p), chain.ResultsConfigMap(p), chain.Role(p), chain.RoleBinding(p), chain.MeasurerJob(p))
}

// functionObjects are those of each function, and of each end of TCP connections,
// that does not exist yet, the configuration first, and the observer where it is
// missing.
func functionObjects(s *scope) ([]client.Object, error) {
	var objects []client.Object
	for i, function := range chain.Functions(s.plan) {
		spec := &s.run.Spec.Experiment.Chain[i]
		if s.exists(spec) {
			continue
		}
		if spec.Custom != nil {
			seed, err := chain.Seed(s.plan, &s.plan.Functions[i], spec.Custom)
			if err != nil {
				return nil, err
			}
			function.Secret = seed
		}
		for _, object := range function.Objects() {
			objects = append(objects, object)
		}
	}
	if s.observerMissing() {
		objects = append(objects, chain.Observer(s.plan))
	}
	for i, end := range chain.Endpoints(s.plan) {
		if s.pod(s.names.Endpoint(s.plan.Endpoints[i].Config.Name)) == nil {
			objects = append(objects, end.ConfigMap, end.Pod)
		}
	}
	return append(objects, neighborObjects(s)...), nil
}

// podsOf are the pods that the plan comes to, the measurer's by its Job's template.
func podsOf(p *plan.Plan) []*corev1.Pod {
	job := chain.MeasurerJob(p)
	traffic := &corev1.Pod{ObjectMeta: *job.Spec.Template.ObjectMeta.DeepCopy(), Spec: job.Spec.Template.Spec}
	traffic.Namespace, traffic.Name = job.Namespace, job.Name
	pods := []*corev1.Pod{traffic}
	for _, function := range chain.Functions(p) {
		if function.Pod != nil {
			pods = append(pods, function.Pod)
		}
	}
	if observer := chain.Observer(p); observer != nil {
		pods = append(pods, observer)
	}
	for _, end := range chain.Endpoints(p) {
		pods = append(pods, end.Pod)
	}
	for _, neighbor := range chain.Neighbors(p) {
		if neighbor.Pod != nil {
			pods = append(pods, neighbor.Pod)
		}
	}
	return pods
}

// tried are the objects that admission may refuse for good: the run's pods and
// virtual machines.
func tried(p *plan.Plan) []client.Object {
	var objects []client.Object
	for _, pod := range podsOf(p) {
		objects = append(objects, pod)
	}
	for _, function := range chain.Functions(p) {
		if function.Machine != nil {
			objects = append(objects, function.Machine)
		}
	}
	for _, neighbor := range chain.Neighbors(p) {
		if neighbor.Machine != nil {
			objects = append(objects, neighbor.Machine)
		}
	}
	return objects
}

// leftovers are what the pods needed. Names alone say which objects they are,
// so they are found even where the plan was never stored.
func leftovers(s *scope) []client.Object {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	objects := []client.Object{
		&networkingv1.NetworkPolicy{ObjectMeta: named(s.names.MeasurerPolicy)},
		&networkingv1.NetworkPolicy{ObjectMeta: named(s.names.FunctionsPolicy)},
		&networkingv1.NetworkPolicy{ObjectMeta: named(s.names.Observer)},
		&rbacv1.RoleBinding{ObjectMeta: named(s.names.RoleBinding)},
		&rbacv1.Role{ObjectMeta: named(s.names.Role)},
		&corev1.ServiceAccount{ObjectMeta: named(s.names.ServiceAccount)},
	}
	for _, function := range gateways(s) {
		objects = append(objects, &corev1.Secret{ObjectMeta: named(s.names.Keys(function.Name))})
	}
	for _, function := range s.run.Spec.Experiment.Chain {
		if function.Runtime == v1alpha1.RuntimeVirtualMachine {
			objects = append(objects, &corev1.Secret{ObjectMeta: named(s.names.Function(function.Name))})
			continue
		}
		objects = append(objects, configMapNamed(s.names.Function(function.Name)))
	}
	objects = append(objects, endpointLeftovers(s)...)
	objects = append(objects, neighborLeftovers(s)...)
	if s.plan != nil {
		objects = append(objects, networkObjects(s.plan)...)
	}
	return objects
}
