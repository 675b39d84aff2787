package admission

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	celtypes "github.com/google/cel-go/common/types"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"vnfbench.io/operator/internal/manifests"
)

// expression is one of a policy. The API server's plugin has types for them too, in a package that brings the fake clients of all kinds.
type expression struct {
	name, text string
	types      []*celgo.Type
}

func (e expression) GetName() string            { return e.name }
func (e expression) GetExpression() string      { return e.text }
func (e expression) ReturnTypes() []*celgo.Type { return e.types }

// policy is a compiled ValidatingAdmissionPolicy.
type policy struct {
	name string
	spec admissionregistrationv1.ValidatingAdmissionPolicySpec
	// matches and rules have the results of the spec's conditions and validations, in their order, messages those of message, which is
	// the number of the validation.
	matches, rules, messages cel.ConditionEvaluator
	message                  []int
}

func compilePolicies() ([]policy, error) {
	objects, err := manifests.Policies()
	if err != nil {
		return nil, err
	}
	var out []policy
	for _, object := range objects {
		p, err := compile(object.Name, object.Spec)
		if err != nil {
			return nil, fmt.Errorf("policy %s: %w", object.Name, err)
		}
		out = append(out, p)
	}
	return out, nil
}

func compile(name string, spec admissionregistrationv1.ValidatingAdmissionPolicySpec) (policy, error) {
	if spec.MatchConstraints == nil || spec.ParamKind != nil {
		return policy{}, fmt.Errorf("it names no resources, or has parameters, which this package does not read")
	}
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return policy{}, err
	}
	// Messages are compiled without the author's rights, as in the API server.
	withRights, without := cel.OptionalVariableDeclarations{HasAuthorizer: true}, cel.OptionalVariableDeclarations{}
	for _, v := range spec.Variables {
		compiler.CompileAndStoreVariable(expression{v.Name, v.Expression, []*celgo.Type{celgo.AnyType, celgo.DynType}}, withRights, environment.StoredExpressions)
	}
	boolean, text := []*celgo.Type{celgo.BoolType}, []*celgo.Type{celgo.StringType}
	var conditions, rules, messages []cel.ExpressionAccessor
	for _, c := range spec.MatchConditions {
		conditions = append(conditions, expression{text: c.Expression, types: boolean})
	}
	p := policy{name: name, spec: spec}
	for i, v := range spec.Validations {
		rules = append(rules, expression{text: v.Expression, types: boolean})
		if v.MessageExpression != "" {
			messages, p.message = append(messages, expression{text: v.MessageExpression, types: text}), append(p.message, i)
		}
	}
	p.matches = compiler.CompileCondition(conditions, withRights, environment.StoredExpressions)
	p.rules = compiler.CompileCondition(rules, withRights, environment.StoredExpressions)
	p.messages = compiler.CompileCondition(messages, without, environment.StoredExpressions)
	return p, nil
}

// applies reports whether the policy is for new objects of a resource.
func (p policy) applies(resource schema.GroupVersionResource) bool {
	return slices.ContainsFunc(p.spec.MatchConstraints.ResourceRules, func(r admissionregistrationv1.NamedRuleWithOperations) bool {
		return slices.Contains(r.APIGroups, resource.Group) && slices.Contains(r.APIVersions, resource.Version) && slices.Contains(r.Resources, resource.Resource) &&
			slices.Contains(r.Operations, admissionregistrationv1.Create)
	})
}

// anyone has every right: rights are for the cluster to check.
var anyone = authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
})

// problems evaluates the policy for a new object, as the API server does.
func (p policy) problems(ctx context.Context, k *kind, o *unstructured.Unstructured) []Problem {
	resource := schema.GroupVersionResource{Group: k.crd.Spec.Group, Version: k.version, Resource: k.crd.Spec.Names.Plural}
	if !p.applies(resource) {
		return nil
	}
	of := o.GroupVersionKind()
	attributes := admission.NewAttributesRecord(o, nil, of, o.GetNamespace(), o.GetName(), resource, "", admission.Create, nil, false, &user.DefaultInfo{Name: "you"})
	versioned := &admission.VersionedAttributes{Attributes: attributes, VersionedObject: admission.NewLazyObject(o), VersionedKind: of}
	request := cel.CreateAdmissionRequest(attributes, metav1.GroupVersionResource(resource), metav1.GroupVersionKind(of))
	rights := cel.OptionalVariableBindings{Authorizer: anyone}
	failed := func(err error) []Problem {
		return []Problem{{Message: fmt.Sprintf("policy %s cannot be evaluated: %v", p.name, err), Remedy: "apply the manifest with --dry-run=server, and report this as a fault"}}
	}
	conditions, _, err := p.matches.ForInput(ctx, versioned, request, rights, nil, celconfig.RuntimeCELCostBudgetMatchConditions)
	if err != nil {
		return failed(err)
	}
	for _, c := range conditions {
		if c.Error != nil {
			return failed(c.Error)
		}
		if c.EvalResult != celtypes.True {
			return nil
		}
	}
	rules, left, err := p.rules.ForInput(ctx, versioned, request, rights, nil, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return failed(err)
	}
	if !slices.ContainsFunc(rules, func(r cel.EvaluationResult) bool { return r.Error != nil || r.EvalResult != celtypes.True }) {
		return nil
	}
	// A message that names what is wrong fails where nothing is: only those of broken rules are read.
	texts, _, err := p.messages.ForInput(ctx, versioned, request, cel.OptionalVariableBindings{}, nil, left)
	if err != nil {
		return failed(err)
	}
	var out []Problem
	for i, rule := range rules {
		switch {
		case rule.Error != nil:
			out = append(out, failed(rule.Error)...)
		case rule.EvalResult != celtypes.True:
			out = append(out, problemOfRule(p.messageOf(i, texts)))
		}
	}
	return out
}

// messageOf returns what a broken rule says.
func (p policy) messageOf(rule int, texts []cel.EvaluationResult) string {
	if i := slices.Index(p.message, rule); i >= 0 && i < len(texts) && texts[i].Error == nil {
		if text, ok := texts[i].EvalResult.Value().(string); ok && strings.TrimSpace(text) != "" {
			return strings.TrimSpace(text)
		}
	}
	if text := strings.TrimSpace(p.spec.Validations[rule].Message); text != "" {
		return text
	}
	return "failed expression: " + strings.TrimSpace(p.spec.Validations[rule].Expression)
}

// leadingField is the path with which the messages of policies begin.
var leadingField = regexp.MustCompile(`^(?:spec|metadata)(?:\.[A-Za-z0-9]+|\[[^\]]+\])*`)

// problemOfRule splits the message of a policy, which begins with a field and ends with what to do.
func problemOfRule(message string) Problem {
	message = strings.Join(strings.Fields(message), " ")
	p := Problem{Field: leadingField.FindString(message)}
	p.Message, p.Remedy = split(message)
	if rest, isLabel := strings.CutPrefix(p.Message, p.Field+": "); isLabel && p.Field != "" {
		p.Message = rest
	}
	return p
}
