package v1alpha1_test

import (
	"context"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/cel/environment"

	"vnfbench.io/operator/api/v1alpha1"
)

// costOf evaluates the rules of a policy as the API server does, and returns their cost in
// CEL units. The API server refuses a request whose policy costs more than
// celconfig.RuntimeCELCostBudget.
func costOf(t *testing.T, policy *admissionregistrationv1.ValidatingAdmissionPolicy, object *unstructured.Unstructured) int64 {
	t.Helper()
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		t.Fatal(err)
	}
	var variables []cel.NamedExpressionAccessor
	for _, v := range policy.Spec.Variables {
		variables = append(variables, &validating.Variable{Name: v.Name, Expression: v.Expression})
	}
	declared := cel.OptionalVariableDeclarations{HasAuthorizer: true}
	compiler.CompileAndStoreVariables(variables, declared, environment.StoredExpressions)
	var rules []cel.ExpressionAccessor
	for _, v := range policy.Spec.Validations {
		rules = append(rules, &validating.ValidationCondition{Expression: v.Expression})
	}
	evaluator := compiler.CompileCondition(rules, declared, environment.StoredExpressions)
	kind, resource := object.GroupVersionKind(), schema.GroupVersionResource{Group: v1alpha1.GroupVersion.Group, Version: "v1alpha1", Resource: "benchmarkruns"}
	attributes := admission.NewAttributesRecord(object, nil, kind, object.GetNamespace(), object.GetName(), resource, "",
		admission.Create, nil, false, &user.DefaultInfo{})
	versioned := &admission.VersionedAttributes{Attributes: attributes, VersionedObject: admission.NewLazyObject(object), VersionedKind: kind}
	request := cel.CreateAdmissionRequest(attributes, metav1.GroupVersionResource(resource), metav1.GroupVersionKind(kind))
	results, left, err := evaluator.ForInput(context.Background(), versioned, request, cel.OptionalVariableBindings{Authorizer: authorizerfactory.NewAlwaysAllowAuthorizer()}, nil, celconfig.RuntimeCELCostBudget)
	if err != nil {
		t.Fatalf("%s: %v", policy.Name, err)
	}
	for i, result := range results {
		if result.Error != nil {
			t.Fatalf("%s: rule %d: %v", policy.Name, i, result.Error)
		}
	}
	return celconfig.RuntimeCELCostBudget - left
}

// TestPoliciesCostLittle prints what each policy costs for the smallest and the largest
// run, and fails where one uses more than a tenth of what the API server allows.
func TestPoliciesCostLittle(t *testing.T) {
	objects, err := policies()
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]*unstructured.Unstructured{"smallest": object(t, goodRun, nil), "largest": object(t, largestRun(), nil)}
	for name, run := range runs {
		// The answer of the API server has the defaults.
		if err := create(run); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for _, o := range objects {
		policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
		// Those of Testbeds, of suites, of owners and of updates are not evaluated for a new run.
		if o.GetKind() != "ValidatingAdmissionPolicy" || o.GetName() == "vnfbench-testbed-generator" || o.GetName() == "vnfbench-benchmarksuite-template" || o.GetName() == "vnfbench-benchmarksuite-owner" || o.GetName() == "vnfbench-benchmarkrun-finalizer" {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, policy); err != nil {
			t.Fatal(err)
		}
		smallest, largest := costOf(t, policy, runs["smallest"]), costOf(t, policy, runs["largest"])
		t.Logf("%s: %d CEL cost units for the smallest run, %d for the largest, of %d", policy.Name, smallest, largest, celconfig.RuntimeCELCostBudget)
		if largest > celconfig.RuntimeCELCostBudget/10 {
			t.Errorf("%s: the largest run costs %d units: shorten its rules", policy.Name, largest)
		}
		if smallest == 0 || largest <= smallest {
			t.Errorf("%s: %d units for the smallest run and %d for the largest: nothing was evaluated", policy.Name, smallest, largest)
		}
	}
}
