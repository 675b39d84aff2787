package v1alpha1_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
)

// Bounds of what one request may cost.
const (
	// mostUnits is what the API server's authors give as about 0.1 s.
	mostUnits = celconfig.PerCallLimit
	// mostChecks is how many rights of the author may be asked for.
	mostChecks = 3
	// unitsOfCheck is what the API server counts for one, whether it looks into its memory or asks a webhook.
	unitsOfCheck = 350_000
)

// cost of a request: units of CEL, without those of the checks of its author's rights.
type cost struct {
	units  int64
	checks int
}

// request is a request to create an object, or to update it if there is an old one.
type request struct {
	name        string
	object, old *unstructured.Unstructured
	// isValid says that no rule may fail.
	isValid bool
}

// kindOf is a kind as its CRD describes it.
type kindOf struct {
	file, kind, resource string
	rules                *schemacel.Validator
}

// allKinds reads the CRDs.
func allKinds(t *testing.T) (kinds []kindOf) {
	t.Helper()
	files, err := filepath.Glob("../../../config/crd/bases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d CRDs: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		var schema apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &schema, nil); err != nil {
			t.Fatal(err)
		}
		structural, err := structuralschema.NewStructural(&schema)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, kindOf{filepath.Base(file), crd.Spec.Names.Kind, crd.Spec.Names.Plural, schemacel.NewValidator(structural, true, celconfig.PerCallLimit)})
	}
	return kinds
}

// costOfSchema evaluates the rules of the CRD as the API server does.
func (k kindOf) costOfSchema(t *testing.T, r request) int64 {
	t.Helper()
	var old any
	if r.old != nil {
		old = r.old.Object
	}
	problems, left := k.rules.Validate(t.Context(), nil, nil, r.object.Object, old, celconfig.RuntimeCELCostBudget)
	if left < 0 || r.isValid && len(problems) > 0 {
		t.Errorf("%s, %s: the rules of the CRD: %s", k.kind, r.name, clip(fmt.Sprint(problems)))
	}
	return celconfig.RuntimeCELCostBudget - left
}

// policy is a compiled ValidatingAdmissionPolicy.
type policy struct {
	spec                    admissionregistrationv1.ValidatingAdmissionPolicySpec
	name                    string
	matches, rules, message cel.ConditionEvaluator
}

func compiledPolicies(t *testing.T) (out []policy) {
	t.Helper()
	objects, err := policies()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.GetKind() != "ValidatingAdmissionPolicy" {
			continue
		}
		var object admissionregistrationv1.ValidatingAdmissionPolicy
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &object); err != nil {
			t.Fatal(err)
		}
		compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
		if err != nil {
			t.Fatal(err)
		}
		spec := object.Spec
		var variables []cel.NamedExpressionAccessor
		for _, v := range spec.Variables {
			variables = append(variables, &validating.Variable{Name: v.Name, Expression: v.Expression})
		}
		var conditions, rules, messages []cel.ExpressionAccessor
		for i := range spec.MatchConditions {
			conditions = append(conditions, (*matchconditions.MatchCondition)(&spec.MatchConditions[i]))
		}
		for _, v := range spec.Validations {
			rules = append(rules, &validating.ValidationCondition{Expression: v.Expression})
			if v.MessageExpression != "" {
				messages = append(messages, &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression})
			}
		}
		withRights, without := cel.OptionalVariableDeclarations{HasAuthorizer: true}, cel.OptionalVariableDeclarations{}
		compiler.CompileAndStoreVariables(variables, withRights, environment.StoredExpressions)
		compile := func(expressions []cel.ExpressionAccessor, declared cel.OptionalVariableDeclarations) cel.ConditionEvaluator {
			return compiler.CompileCondition(expressions, declared, environment.StoredExpressions)
		}
		out = append(out, policy{spec, o.GetName(), compile(conditions, withRights), compile(rules, withRights), compile(messages, without)})
	}
	return out
}

// applies reports whether the policy names the request.
func (p policy) applies(resource string, operation admission.Operation) bool {
	return slices.ContainsFunc(p.spec.MatchConstraints.ResourceRules, func(r admissionregistrationv1.NamedRuleWithOperations) bool {
		return slices.Contains(r.Resources, resource) && slices.Contains(r.Operations, admissionregistrationv1.OperationType(operation))
	})
}

// cost evaluates the policy as the API server does: its conditions and, where they hold, its rules and the messages of all of them.
// It also reports whether the rules were evaluated.
func (p policy) cost(t *testing.T, k kindOf, r request, operation admission.Operation) (c cost, evaluated bool) {
	t.Helper()
	kind, resource := r.object.GroupVersionKind(), v1alpha1.GroupVersion.WithResource(k.resource)
	var old runtime.Object
	versioned := &admission.VersionedAttributes{VersionedObject: admission.NewLazyObject(r.object), VersionedKind: kind}
	if r.old != nil {
		old, versioned.VersionedOldObject = r.old, admission.NewLazyObject(r.old)
	}
	versioned.Attributes = admission.NewAttributesRecord(r.object, old, kind, r.object.GetNamespace(), r.object.GetName(), resource, "", operation, nil, false, &user.DefaultInfo{})
	asked := cel.CreateAdmissionRequest(versioned.Attributes, metav1.GroupVersionResource(resource), metav1.GroupVersionKind(kind))
	rights := cel.OptionalVariableBindings{Authorizer: authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		c.checks++
		return authorizer.DecisionAllow, "", nil
	})}
	evaluate := func(expressions cel.ConditionEvaluator, bindings cel.OptionalVariableBindings, budget int64, mayFail bool) []cel.EvaluationResult {
		results, left, err := expressions.ForInput(t.Context(), versioned, asked, bindings, nil, budget)
		if err != nil {
			t.Fatalf("%s, %s: %v", p.name, r.name, err)
		}
		c.units += budget - left
		for i, result := range results {
			if result.Error != nil && !mayFail {
				t.Errorf("%s, %s: expression %d: %v", p.name, r.name, i, result.Error)
			}
		}
		return results
	}
	for _, result := range evaluate(p.matches, rights, celconfig.RuntimeCELCostBudgetMatchConditions, false) {
		if result.EvalResult.Value() != true {
			return c, false
		}
	}
	evaluate(p.rules, rights, celconfig.RuntimeCELCostBudget, !r.isValid)
	// A message that names what is wrong fails where nothing is.
	evaluate(p.message, cel.OptionalVariableBindings{}, celconfig.RuntimeCELCostBudget, true)
	c.units -= int64(c.checks) * unitsOfCheck
	return c, true
}

// requestsOf returns requests for objects of a kind, from the least to the most expensive that a user can send.
func requestsOf(t *testing.T, k kindOf) []request {
	t.Helper()
	if smallest[k.kind] == "" || largest[k.kind] == "" {
		t.Fatalf("kind %s has no objects in admission_largest_test.go", k.kind)
	}
	small, large := object(t, smallest[k.kind], nil), object(t, largest[k.kind], nil)
	for _, o := range []*unstructured.Unstructured{small, large} {
		// The answer of the API server has the defaults.
		if err := create(o); err != nil {
			t.Fatalf("%s: %s", k.kind, clip(err.Error()))
		}
	}
	requests := []request{{"smallest", small, nil, true}, {"largest", large, nil, true}, {"largest, changed", changed(large), large, true}}
	for variant := range 6 {
		full := fullestOf(t, k.file, k.kind, variant)
		requests = append(requests, request{fmt.Sprintf("fullest %d", variant), full, nil, false}, request{fmt.Sprintf("fullest %d, changed", variant), changed(full), full, false})
	}
	// The schema bounds neither metadata nor the experiment of a suite: the API server takes requests of 3 MiB.
	owned, before := small.DeepCopy(), small.DeepCopy()
	ours := metav1.OwnerReference{APIVersion: "vnfbench.io/v1", Kind: "A", Name: "a", UID: "a"}
	owned.SetOwnerReferences(append(slices.Repeat([]metav1.OwnerReference{{APIVersion: "v1", Kind: "A", Name: "a", UID: "a"}}, 50_000), ours))
	before.SetOwnerReferences([]metav1.OwnerReference{ours})
	before.SetFinalizers(append(slices.Repeat([]string{"example.com/a"}, 100_000), v1alpha1.Finalizer))
	requests = append(requests, request{"50,000 owners", owned, nil, true}, request{"50,000 owners, and no finalizer", owned, before, true},
		request{"50,000 owners of before", changed(owned), owned, true}, request{"50,000 owners less", small, owned, true})
	if strings.HasPrefix(k.kind, "BenchmarkSuite") {
		long := small.DeepCopy()
		chain := slices.Repeat([]any{map[string]any{"function": "Router"}}, 100_000)
		if err := unstructured.SetNestedSlice(long.Object, chain, "spec", "template", "experiment", "chain"); err != nil {
			t.Fatal(err)
		}
		requests = append(requests, request{"a chain of 100,000", long, nil, true})
	}
	return requests
}

// changed returns an object with another spec.
func changed(o *unstructured.Unstructured) *unstructured.Unstructured {
	out := o.DeepCopy()
	out.Object["spec"].(map[string]any)["suspend"] = "changed"
	if o.GetKind() == "BenchmarkMeasurement" { // its spec cannot change
		out = o.DeepCopy()
	}
	return out
}

// TestAdmissionCostsLittle prints what the rules of the schema and of the policies cost for requests of each kind, and fails where
// a request costs more than about 100 ms by the API server's own measure.
func TestAdmissionCostsLittle(t *testing.T) {
	all, evaluatedOnce := compiledPolicies(t), map[string]int64{}
	for _, k := range allKinds(t) {
		totals := map[string]int64{}
		for _, r := range requestsOf(t, k) {
			operation := admission.Create
			if r.old != nil {
				operation = admission.Update
			}
			ofSchema := k.costOfSchema(t, r)
			sum := cost{units: ofSchema}
			for _, p := range all {
				if !p.applies(k.resource, operation) {
					continue
				}
				c, evaluated := p.cost(t, k, r, operation)
				sum.units, sum.checks = sum.units+c.units, sum.checks+c.checks
				if evaluated {
					evaluatedOnce[p.name] = max(evaluatedOnce[p.name], c.units)
				}
			}
			t.Logf("%s, %s: %d units, %d of them by the schema, and %d checks of rights", k.kind, r.name, sum.units, ofSchema, sum.checks)
			if sum.units > mostUnits || sum.checks > mostChecks {
				t.Errorf("%s, %s: %d units and %d checks, at most %d and %d are allowed: shorten the rules", k.kind, r.name, sum.units, sum.checks, mostUnits, mostChecks)
			}
			totals[r.name] = sum.units
		}
		if totals["smallest"] >= totals["largest"] && k.kind != "BenchmarkMeasurement" { // whose rule compares it with the old one
			t.Errorf("%s: the smallest costs %d units, and the largest %d: nothing was evaluated", k.kind, totals["smallest"], totals["largest"])
		}
	}
	for _, p := range all {
		if evaluatedOnce[p.name] == 0 {
			t.Errorf("%s: no request has evaluated its rules", p.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(evaluatedOnce)) {
		t.Logf("%s: at most %d units", name, evaluatedOnce[name])
	}
}
