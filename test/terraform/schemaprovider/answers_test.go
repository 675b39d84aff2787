package main

import (
	"os"
	"path/filepath"
	"testing"

	proto "github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

const recordingOfFactory = `{
  "format_version": "1.0",
  "provider_schemas": {
    "registry.terraform.io/acme/factory": {
      "resource_schemas": {
        "factory_image": {"version": 0, "block": {"attributes": {
          "name": {"type": "string", "required": true}, "id": {"type": "string", "computed": true},
          "urls": {"type": ["object", {"disk": "string", "size": "number"}], "computed": true}
        }}}
      },
      "data_source_schemas": {
        "factory_digest": {"version": 0, "block": {"attributes": {
          "of": {"type": "string", "required": true}, "id": {"type": "string", "computed": true}
        }}}
      }
    }
  }
}`

// TestAnswers follows a resource through a plan, an apply, a read, a second plan and its end, and
// reads a data source.
func TestAnswers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "answers.json")
	const given = `{"factory_image": {"urls": {"disk": "http://factory.example/${name}"}}, "factory_digest": {"id": "${digest}"}}`
	if err := os.WriteFile(file, []byte(given), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(answersVariable, file)
	known, err := parse([]byte(recordingOfFactory), "factory")
	if err != nil {
		t.Fatal(err)
	}
	found, err := loadAnswers()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{name: "factory", schemas: known, answers: found}
	image := known.resources["factory_image"].ValueType().(tftypes.Object)
	pack := func(of tftypes.Type, value any) *proto.DynamicValue {
		t.Helper()
		packed, err := proto.NewDynamicValue(of, tftypes.NewValue(of, value))
		if err != nil {
			t.Fatal(err)
		}
		return &packed
	}
	unpack := func(of tftypes.Type, value *proto.DynamicValue) map[string]tftypes.Value {
		t.Helper()
		whole, err := value.Unmarshal(of)
		if err != nil {
			t.Fatal(err)
		}
		fields := map[string]tftypes.Value{}
		if err := whole.As(&fields); err != nil {
			t.Fatal(err)
		}
		return fields
	}
	none := pack(image, nil)
	proposed := pack(image, map[string]tftypes.Value{
		"name": tftypes.NewValue(tftypes.String, "a"), "id": tftypes.NewValue(tftypes.String, nil),
		"urls": tftypes.NewValue(image.AttributeTypes["urls"], nil),
	})
	plan, err := s.PlanResourceChange(t.Context(), &proto.PlanResourceChangeRequest{TypeName: "factory_image", PriorState: none, ProposedNewState: proposed})
	if err != nil {
		t.Fatal(err)
	}
	if fields := unpack(image, plan.PlannedState); fields["id"].IsKnown() || !fields["name"].IsKnown() {
		t.Errorf("the plan is %v, want an id that comes later", fields)
	}
	made, err := s.ApplyResourceChange(t.Context(), &proto.ApplyResourceChangeRequest{TypeName: "factory_image", PriorState: none, PlannedState: plan.PlannedState})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]tftypes.Value{
		"name": tftypes.NewValue(tftypes.String, "a"), "id": tftypes.NewValue(tftypes.String, "factory_image.id"),
		"urls": tftypes.NewValue(image.AttributeTypes["urls"], map[string]tftypes.Value{
			"disk": tftypes.NewValue(tftypes.String, "http://factory.example/a"), "size": tftypes.NewValue(tftypes.Number, 0),
		}),
	}
	for name, value := range unpack(image, made.NewState) {
		if !value.Equal(want[name]) {
			t.Errorf("%s is %v, want %v", name, value, want[name])
		}
	}
	read, err := s.ReadResource(t.Context(), &proto.ReadResourceRequest{TypeName: "factory_image", CurrentState: made.NewState})
	if err != nil || read.NewState != made.NewState {
		t.Errorf("read %v, %v", read, err)
	}
	again, err := s.PlanResourceChange(t.Context(), &proto.PlanResourceChangeRequest{TypeName: "factory_image", PriorState: read.NewState, ProposedNewState: read.NewState})
	if err != nil || again.PlannedState != read.NewState {
		t.Errorf("the second plan is %v, %v", again, err)
	}
	gone, err := s.ApplyResourceChange(t.Context(), &proto.ApplyResourceChangeRequest{TypeName: "factory_image", PriorState: read.NewState, PlannedState: none})
	if err != nil || gone.NewState != none {
		t.Errorf("its end is %v, %v", gone, err)
	}

	digest := known.dataSources["factory_digest"].ValueType()
	ids := map[string]bool{}
	for _, of := range []string{"a", "b", "a"} {
		config := pack(digest, map[string]tftypes.Value{"of": tftypes.NewValue(tftypes.String, of), "id": tftypes.NewValue(tftypes.String, nil)})
		data, err := s.ReadDataSource(t.Context(), &proto.ReadDataSourceRequest{TypeName: "factory_digest", Config: config})
		if err != nil {
			t.Fatal(err)
		}
		var id string
		if err := unpack(digest, data.State)["id"].As(&id); err != nil {
			t.Fatal(err)
		}
		ids[id] = true
	}
	if len(ids) != 2 {
		t.Errorf("two configurations, one of them twice, have the digests %v", ids)
	}
}

// TestAnswersMissing checks that a file which is not there is no answer.
func TestAnswersMissing(t *testing.T) {
	t.Setenv(answersVariable, filepath.Join(t.TempDir(), "none.json"))
	if _, err := loadAnswers(); err == nil {
		t.Error("a file that is not there was read")
	}
}
