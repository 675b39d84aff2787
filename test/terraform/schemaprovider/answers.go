package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	proto "github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// answersVariable names a file of answers, JSON by the name of a resource or data
// source and of its attribute. With it the substitute plans, applies, reads and
// destroys: it makes nothing, keeps what a configuration says, and gives what only a
// real provider would know the value in the file, or else one of the right type.
//
// A text in the file may name attributes of the configuration, as ${schematic_id}, and
// ${digest}, which is one of the whole configuration.
const answersVariable = "SCHEMAPROVIDER_ANSWERS"

// answers are by type and attribute; nil refuses.
type answers map[string]map[string]any

func loadAnswers() (answers, error) {
	name := os.Getenv(answersVariable)
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", answersVariable, err)
	}
	found := answers{}
	if err := json.Unmarshal(data, &found); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return found, nil
}

// plan is what a resource will be: as proposed, and what only the provider knows
// comes at apply. A resource keeps what it was once given.
func (s *server) plan(req *proto.PlanResourceChangeRequest) (*proto.DynamicValue, error) {
	schema := s.schemas.resources[req.TypeName]
	prior, err := req.PriorState.Unmarshal(schema.ValueType())
	if err != nil {
		return nil, err
	}
	proposed, err := req.ProposedNewState.Unmarshal(schema.ValueType())
	if err != nil || proposed.IsNull() || !prior.IsNull() {
		return req.ProposedNewState, err
	}
	return s.complete(schema, proposed, tftypes.Value.IsNull, func(_ string, of tftypes.Type) (tftypes.Value, error) {
		return tftypes.NewValue(of, tftypes.UnknownValue), nil
	})
}

// made is a resource or data source with what only the provider knows.
func (s *server) made(name string, schema *proto.Schema, value tftypes.Value, lacks func(tftypes.Value) bool) (*proto.DynamicValue, error) {
	texts := texts(value)
	return s.complete(schema, value, lacks, func(attribute string, of tftypes.Type) (tftypes.Value, error) {
		return invent(of, s.answers[name][attribute], texts, name+"."+attribute)
	})
}

// complete replaces those computed attributes that lack a value.
func (s *server) complete(schema *proto.Schema, value tftypes.Value, lacks func(tftypes.Value) bool, give func(string, tftypes.Type) (tftypes.Value, error)) (*proto.DynamicValue, error) {
	fields := map[string]tftypes.Value{}
	if err := value.As(&fields); err != nil {
		return nil, err
	}
	for _, attribute := range schema.Block.Attributes {
		if !attribute.Computed || !lacks(fields[attribute.Name]) {
			continue
		}
		given, err := give(attribute.Name, attribute.ValueType())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", attribute.Name, err)
		}
		fields[attribute.Name] = given
	}
	whole, err := proto.NewDynamicValue(schema.ValueType(), tftypes.NewValue(schema.ValueType(), fields))
	return &whole, err
}

// texts are a configuration's own texts by attribute, and a digest of all that is known.
func texts(value tftypes.Value) map[string]string {
	fields, found := map[string]tftypes.Value{}, map[string]string{}
	if value.As(&fields) != nil {
		return found
	}
	digest := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var text string
		if fields[name].IsKnown() && !fields[name].IsNull() && fields[name].As(&text) == nil {
			found[name] = text
			_, _ = fmt.Fprintf(digest, "%s=%q\n", name, text) // a hash takes all
		}
	}
	found["digest"] = hex.EncodeToString(digest.Sum(nil))
	return found
}

// invent makes a value of a type: as it is given, or any.
func invent(of tftypes.Type, given any, texts map[string]string, name string) (tftypes.Value, error) {
	object, isObject := of.(tftypes.Object)
	switch {
	case isObject:
		parts, _ := given.(map[string]any)
		fields := map[string]tftypes.Value{}
		for field, fieldType := range object.AttributeTypes {
			value, err := invent(fieldType, parts[field], texts, name+"."+field)
			if err != nil {
				return value, err
			}
			fields[field] = value
		}
		return tftypes.NewValue(of, fields), nil
	case of.Is(tftypes.String):
		text, is := given.(string)
		if !is {
			text = name
		}
		return tftypes.NewValue(of, os.Expand(text, func(key string) string { return texts[key] })), nil
	case given != nil:
		return tftypes.Value{}, fmt.Errorf("an answer can be a text or an object of texts, not %v", given)
	case of.Is(tftypes.Number):
		return tftypes.NewValue(of, 0), nil
	case of.Is(tftypes.Bool):
		return tftypes.NewValue(of, false), nil
	case of.Is(tftypes.List{}), of.Is(tftypes.Set{}):
		return tftypes.NewValue(of, []tftypes.Value{}), nil
	case of.Is(tftypes.Map{}):
		return tftypes.NewValue(of, map[string]tftypes.Value{}), nil
	default:
		return tftypes.NewValue(of, nil), nil
	}
}

func unknown(value tftypes.Value) bool { return !value.IsKnown() }

func (s *server) ReadResource(_ context.Context, req *proto.ReadResourceRequest) (*proto.ReadResourceResponse, error) {
	if s.answers == nil {
		return &proto.ReadResourceResponse{Diagnostics: s.refuse("ReadResource", req.TypeName)}, nil
	}
	return &proto.ReadResourceResponse{NewState: req.CurrentState, Private: req.Private}, nil
}

func (s *server) PlanResourceChange(_ context.Context, req *proto.PlanResourceChangeRequest) (*proto.PlanResourceChangeResponse, error) {
	if s.answers == nil {
		return &proto.PlanResourceChangeResponse{Diagnostics: s.refuse("PlanResourceChange", req.TypeName)}, nil
	}
	planned, err := s.plan(req)
	return &proto.PlanResourceChangeResponse{PlannedState: planned}, err
}

func (s *server) ApplyResourceChange(_ context.Context, req *proto.ApplyResourceChangeRequest) (*proto.ApplyResourceChangeResponse, error) {
	if s.answers == nil {
		return &proto.ApplyResourceChangeResponse{Diagnostics: s.refuse("ApplyResourceChange", req.TypeName)}, nil
	}
	schema := s.schemas.resources[req.TypeName]
	planned, err := req.PlannedState.Unmarshal(schema.ValueType())
	if err != nil || planned.IsNull() {
		return &proto.ApplyResourceChangeResponse{NewState: req.PlannedState}, err
	}
	state, err := s.made(req.TypeName, schema, planned, unknown)
	return &proto.ApplyResourceChangeResponse{NewState: state}, err
}

func (s *server) ReadDataSource(_ context.Context, req *proto.ReadDataSourceRequest) (*proto.ReadDataSourceResponse, error) {
	if s.answers == nil {
		return &proto.ReadDataSourceResponse{Diagnostics: s.refuse("ReadDataSource", req.TypeName)}, nil
	}
	schema := s.schemas.dataSources[req.TypeName]
	config, err := req.Config.Unmarshal(schema.ValueType())
	if err != nil {
		return nil, err
	}
	state, err := s.made(req.TypeName, schema, config, tftypes.Value.IsNull)
	return &proto.ReadDataSourceResponse{State: state}, err
}
