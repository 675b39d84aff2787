// Package admission says without a cluster what its API server says of a new object of this project: strict decoding, the schema with its
// defaults, the rules of the schema, and the admission policies, by the API server's own libraries. An object goes in; what is wrong
// comes out, with the field and what to do, and the object has its defaults.
//
// Rights are not checked: who asks is known to a cluster alone.
package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"vnfbench.io/operator/internal/manifests"
)

// Problem is a reason for which an object is refused.
type Problem struct {
	// Field is the path of what is wrong; empty where it is the whole object.
	Field   string
	Message string
	// Remedy is what to do; empty where the message says all that is known.
	Remedy string
}

// Server admits objects.
type Server struct {
	kinds    map[schema.GroupKind]*kind
	policies []policy
}

// kind is what the API server knows of a CustomResourceDefinition.
type kind struct {
	crd        *apiextensionsv1.CustomResourceDefinition
	version    string
	properties *apiextensionsv1.JSONSchemaProps
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	// rules are compiled when they are first needed, which takes a second for the largest kind.
	rules *schemacel.Validator
}

// New reads the definitions and the policies of this version.
func New() (*Server, error) {
	crds, err := manifests.CRDs()
	if err != nil {
		return nil, err
	}
	s := &Server{kinds: map[schema.GroupKind]*kind{}}
	for i := range crds {
		k, err := newKind(&crds[i])
		if err != nil {
			return nil, fmt.Errorf("reading the definition of %s: %w", crds[i].Spec.Names.Kind, err)
		}
		s.kinds[schema.GroupKind{Group: crds[i].Spec.Group, Kind: crds[i].Spec.Names.Kind}] = k
	}
	s.policies, err = compilePolicies()
	return s, err
}

func newKind(crd *apiextensionsv1.CustomResourceDefinition) (*kind, error) {
	if len(crd.Spec.Versions) != 1 {
		return nil, fmt.Errorf("it has %d versions, and this package reads one", len(crd.Spec.Versions))
	}
	k := &kind{crd: crd, version: crd.Spec.Versions[0].Name, properties: crd.Spec.Versions[0].Schema.OpenAPIV3Schema}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(k.properties, &internal, nil); err != nil {
		return nil, err
	}
	var err error
	if k.structural, err = structuralschema.NewStructural(&internal); err != nil {
		return nil, err
	}
	if err := defaulting.PruneDefaults(k.structural); err != nil {
		return nil, err
	}
	k.schema, _, err = validation.NewSchemaValidator(&internal)
	return k, err
}

// Knows reports whether a kind is one of the project's.
func (s *Server) Knows(of schema.GroupKind) bool { return s.kinds[of] != nil }

// Namespaced reports whether objects of a kind are in a namespace.
func (s *Server) Namespaced(of schema.GroupKind) bool {
	k := s.kinds[of]
	return k != nil && k.crd.Spec.Scope == apiextensionsv1.NamespaceScoped
}

// assumedNamespace is that of objects that name none.
const assumedNamespace = "default"

// Admit returns what the API server refuses about a new object of a kind that it knows. It puts the defaults into the object, and takes
// out what the API server would drop.
func (s *Server) Admit(ctx context.Context, o *unstructured.Unstructured) []Problem {
	group := o.GroupVersionKind()
	k := s.kinds[group.GroupKind()]
	if k == nil {
		return []Problem{{Field: "kind", Message: fmt.Sprintf("%s of %s is no kind of this project", group.Kind, o.GetAPIVersion())}}
	}
	if group.Version != k.version {
		return []Problem{{Field: "apiVersion", Message: fmt.Sprintf("the kind %s has the version %s alone", group.Kind, k.version), Remedy: fmt.Sprintf("write %s/%s", group.Group, k.version)}}
	}
	// The API server fills in the namespace of the request.
	if k.crd.Spec.Scope == apiextensionsv1.NamespaceScoped && o.GetNamespace() == "" {
		o.SetNamespace(assumedNamespace)
		defer o.SetNamespace("")
	}
	unknown, err := k.decode(o)
	if err != nil {
		return []Problem{{Field: "metadata", Message: err.Error()}}
	}
	var problems []Problem
	for _, path := range unknown {
		problems = append(problems, k.unknownField(path))
	}
	refused := k.validate(ctx, o)
	for _, e := range refused {
		problems = append(problems, k.problemOf(e))
	}
	if len(refused) > 0 {
		// As in the API server: policies see valid objects alone.
		return problems
	}
	for _, p := range s.policies {
		problems = append(problems, p.problems(ctx, k, o)...)
	}
	return problems
}

// decode drops what the schema does not have and what a new object does not keep, and puts the defaults in. It returns the fields that
// strict decoding refuses.
func (k *kind) decode(o *unstructured.Unstructured) (unknown []string, err error) {
	meta, hasMeta, unknown, err := objectmeta.GetObjectMetaWithOptions(o.Object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, err
	}
	unknown = append(unknown, pruning.PruneWithOptions(o.Object, k.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	defaulting.PruneNonNullableNullsWithoutDefaults(o.Object, k.structural)
	problem, more := objectmeta.CoerceWithOptions(nil, o.Object, k.structural, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if problem != nil {
		return nil, problem
	}
	if hasMeta {
		if err := objectmeta.SetObjectMeta(o.Object, meta); err != nil {
			return nil, err
		}
	}
	// The API server takes a status by another request.
	delete(o.Object, "status")
	defaulting.Default(o.Object, k.structural)
	return append(unknown, more...), nil
}

// blocking are the errors after which the API server does not evaluate rules.
var blocking = []field.ErrorType{field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid}

// validate checks metadata, schema, lists and rules, in the order of the API server.
func (k *kind) validate(ctx context.Context, o *unstructured.Unstructured) field.ErrorList {
	var errs field.ErrorList
	checked := o.DeepCopy()
	if checked.GetName() == "" && checked.GetGenerateName() != "" {
		checked.SetName(checked.GetGenerateName() + "xxxxx")
	}
	errs = append(errs, apivalidation.ValidateObjectMetaAccessor(checked, k.crd.Spec.Scope == apiextensionsv1.NamespaceScoped, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))...)
	errs = append(errs, validation.ValidateCustomResource(nil, o.Object, k.schema)...)
	errs = append(errs, objectmeta.Validate(ctx, nil, o.Object, k.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.structural, o.Object)...)
	if slices.ContainsFunc(errs, func(e *field.Error) bool { return slices.Contains(blocking, e.Type) }) {
		return errs
	}
	if k.rules == nil {
		k.rules = schemacel.NewValidator(k.structural, true, celconfig.PerCallLimit)
	}
	found, _ := k.rules.Validate(ctx, nil, k.structural, checked.Object, nil, celconfig.RuntimeCELCostBudget)
	return append(errs, found...)
}

// problemOf splits an error of the API server into its message and what to do. The project's rules end with what to do.
func (k *kind) problemOf(e *field.Error) Problem {
	p := Problem{Field: e.Field, Message: e.ErrorBody()}
	switch e.Type {
	case field.ErrorTypeRequired:
		p.Message, p.Remedy = "a required field is absent", k.describe(e.Field, "add it")
		if e.Detail != "" {
			p.Message = e.Detail
		}
	case field.ErrorTypeDuplicate:
		p.Remedy = "remove one of the two"
	default:
		if message, remedy := split(e.Detail); remedy != "" && e.Type == field.ErrorTypeInvalid {
			p.Message, p.Remedy = message, remedy
		} else {
			p.Remedy = k.describe(e.Field, "write what the field takes")
		}
	}
	return p
}

// split returns the two parts of a message that ends with what to do: "what is wrong: what to do".
func split(message string) (what, remedy string) {
	i := strings.LastIndex(message, ": ")
	if i < 0 {
		return message, ""
	}
	return message[:i], message[i+2:]
}

// describe adds to a remedy what the API says of a field.
func (k *kind) describe(path, remedy string) string {
	if p := k.property(path); p != nil && p.Description != "" {
		return fmt.Sprintf("%s: %s", remedy, strings.Join(strings.Fields(p.Description), " "))
	}
	return remedy
}

// property returns the schema of a field, or nil.
func (k *kind) property(path string) *apiextensionsv1.JSONSchemaProps {
	at := k.properties
	for name := range strings.SplitSeq(path, ".") {
		name, indexes, _ := strings.Cut(name, "[")
		next, ok := at.Properties[name]
		if !ok {
			return nil
		}
		at = &next
		for range strings.Count(indexes, "]") {
			if at.Items == nil || at.Items.Schema == nil {
				return nil
			}
			at = at.Items.Schema
		}
	}
	return at
}

// unknownField says which field may be meant.
func (k *kind) unknownField(path string) Problem {
	parent, name := "", path
	if i := strings.LastIndex(path, "."); i >= 0 {
		parent, name = path[:i], path[i+1:]
	}
	p := Problem{Field: path, Message: fmt.Sprintf("unknown field %q", name), Remedy: "remove it"}
	at := k.properties
	if parent != "" {
		at = k.property(parent)
	}
	if at == nil {
		return p
	}
	closest, least := "", 1+len(name)/2
	for known := range at.Properties {
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(known)); d < least || d == least && known < closest {
			closest, least = known, d
		}
	}
	if closest != "" {
		p.Remedy = fmt.Sprintf("write %s, if that is meant, or remove it", closest)
	}
	return p
}
