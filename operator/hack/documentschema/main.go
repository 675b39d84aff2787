// Command documentschema writes the JSON schema of a run's result document or of a comparison, made from the Go types and their comments. It
// runs in the folder of a package of the operator, and its arguments are "document" or "comparison", and the file.
package main

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"vnfbench.io/operator/internal/document"
	"vnfbench.io/operator/internal/plan"
	"vnfbench.io/operator/internal/report"
)

const module = "vnfbench.io/operator"

// sources are the folders whose comments become descriptions.
var sources = []string{"api/v1alpha1", "internal/caller", "internal/comparison", "internal/endpoint", "internal/figure", "internal/generator", "internal/measure", "internal/plan", "internal/report", "internal/vnf"}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "documentschema:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	generate := map[string]func(*jsonschema.Reflector) (*jsonschema.Schema, error){"document": ofDocument, "comparison": ofComparison}
	if len(args) != 2 || generate[args[0]] == nil {
		return errors.New("give \"document\" or \"comparison\", and the name of the file to write")
	}
	file, err := filepath.Abs(args[1])
	if err != nil {
		return err
	}
	if err := toModule(); err != nil {
		return err
	}
	r, err := reflector()
	if err != nil {
		return err
	}
	schema, err := generate[args[0]](r)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(schema); err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}

// toModule changes to the folder of the operator's module.
func toModule() error {
	for {
		if _, err := os.Stat("go.mod"); err == nil {
			return nil
		}
		before, err := os.Getwd()
		if err != nil {
			return err
		}
		if err := os.Chdir(".."); err != nil {
			return err
		}
		if after, err := os.Getwd(); err != nil || after == before {
			return errors.Join(err, errors.New("this is no folder of the operator's module"))
		}
	}
}

// reflector returns what makes schemas of types, with their comments.
func reflector() (*jsonschema.Reflector, error) {
	r := &jsonschema.Reflector{
		Anonymous: true, ExpandedStruct: true,
		// Readers ignore fields that they do not know.
		AllowAdditionalProperties: true,
		Namer:                     name, Mapper: special,
	}
	for _, folder := range sources {
		if err := r.AddGoComments(module, folder, jsonschema.WithFullComment()); err != nil {
			return nil, err
		}
	}
	for key, comment := range r.CommentMap {
		r.CommentMap[key] = withoutMarkers(comment)
	}
	return r, nil
}

// ofDocument returns the schema of a document.
func ofDocument(r *jsonschema.Reflector) (*jsonschema.Schema, error) {
	schema, planned := r.Reflect(report.Document{}), r.Reflect(plan.Plan{})
	maps.Copy(schema.Definitions, planned.Definitions)
	planned.Definitions, planned.Version = nil, ""
	schema.Definitions[planName] = planned
	// The operator stores the plan as JSON, and the document has it as it was stored.
	schema.Definitions["report.Inputs"].Properties.Set("plan", &jsonschema.Schema{Ref: "#/$defs/" + planName})
	if err := finish(schema, "Result document of a BenchmarkRun of vnfbench", report.Kind); err != nil {
		return nil, err
	}
	trials, found := schema.Properties.Get("trials")
	if !found {
		return nil, errors.New("the document has no trials")
	}
	most := uint64(document.MaximumTrials)
	trials.MaxItems = &most
	return schema, nil
}

// ofComparison returns the schema of a comparison.
func ofComparison(r *jsonschema.Reflector) (*jsonschema.Schema, error) {
	schema := r.Reflect(report.Comparison{})
	values, found := schema.Definitions["report.ComparedFigure"].Properties.Get("values")
	if !found {
		return nil, errors.New("a figure has no values")
	}
	values.Items = &jsonschema.Schema{OneOf: []*jsonschema.Schema{values.Items, {Type: "null"}}}
	return schema, finish(schema, "Comparison of BenchmarkRuns of vnfbench", report.KindComparison)
}

// finish adds what the types do not say.
func finish(schema *jsonschema.Schema, title, kind string) error {
	for _, definition := range schema.Definitions {
		allowNull(definition)
	}
	allowNull(schema)
	schema.Title = title + ", version " + report.APIVersion
	for field, value := range map[string]string{"apiVersion": report.APIVersion, "kind": kind} {
		property, found := schema.Properties.Get(field)
		if !found {
			return fmt.Errorf("it has no %s", field)
		}
		property.Const = value
	}
	return nil
}

// name returns a definition's name: those of two packages may have types of one name.
func name(t reflect.Type) string {
	if t.PkgPath() == "" || t.Name() == "" {
		return ""
	}
	return path.Base(t.PkgPath()) + "." + t.Name()
}

const planName = "plan.Plan"

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	// own are the types that write their own JSON, with its schema.
	own = map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage]():    {},
		reflect.TypeFor[metav1.Time]():        {Type: "string", Format: "date-time"},
		reflect.TypeFor[metav1.Duration]():    {Type: "string"},
		reflect.TypeFor[resource.Quantity]():  {Type: "string"},
		reflect.TypeFor[intstr.IntOrString](): {OneOf: []*jsonschema.Schema{{Type: "integer"}, {Type: "string"}}},
	}
)

// special returns the schema of a type whose JSON does not follow from its fields.
func special(t reflect.Type) *jsonschema.Schema {
	if schema, found := own[t]; found {
		one := *schema
		return &one
	}
	switch kind := t.Kind(); {
	case t.PkgPath() == "time" && t.Name() == "Time", kind == reflect.Pointer, kind == reflect.Interface:
		return nil
	case t.Implements(jsonMarshaler) && kind != reflect.String:
		panic(fmt.Sprintf("%s writes its own JSON: add its schema", t))
	case t.Implements(textMarshaler):
		return &jsonschema.Schema{Type: "string"}
	case kind >= reflect.Uint && kind <= reflect.Uint64:
		return &jsonschema.Schema{Type: "integer", Minimum: "0"}
	}
	return nil
}

// withoutMarkers leaves out the lines of a comment that are for tools.
func withoutMarkers(comment string) string {
	lines := slices.DeleteFunc(strings.Split(comment, "\n"), func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "+") })
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// allowNull lets lists and maps that are always written be null, as an empty one is.
func allowNull(schema *jsonschema.Schema) {
	if schema.Properties == nil {
		return
	}
	for _, field := range schema.Required {
		property, found := schema.Properties.Get(field)
		if found && (property.Type == "array" || property.Type == "object" && property.Properties == nil) {
			schema.Properties.Set(field, &jsonschema.Schema{OneOf: []*jsonschema.Schema{property, {Type: "null"}}})
		}
	}
}
