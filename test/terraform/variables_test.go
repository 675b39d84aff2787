package terraform_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// variable is what this test wants to know of a variable block.
type variable struct {
	// typed is the type's expression; nil, there is none.
	typed       hclsyntax.Expression
	description string
	// validations counts the blocks with a condition and a message.
	validations int
}

// isBool: a bool's type is its validation, and it has no third value to show.
func (v variable) isBool() bool { return v.typed != nil && hcl.ExprAsKeyword(v.typed) == "bool" }

// fields are the attributes of an object's type, or of a map's objects; none for other types.
func (v variable) fields() []string {
	call, ok := v.typed.(*hclsyntax.FunctionCallExpr)
	if ok && call.Name == "map" && len(call.Args) == 1 {
		call, ok = call.Args[0].(*hclsyntax.FunctionCallExpr)
	}
	if !ok || call.Name != "object" || len(call.Args) != 1 {
		return nil
	}
	pairs, diagnostics := hcl.ExprMap(call.Args[0])
	if diagnostics.HasErrors() {
		return nil
	}
	var names []string
	for _, pair := range pairs {
		names = append(names, hcl.ExprAsKeyword(pair.Key))
	}
	return names
}

// blocks are all blocks of a folder's .tf files.
func blocks(t *testing.T, folder string) []*hclsyntax.Block {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.tf"))
	if err != nil {
		t.Fatal(err)
	}
	parser := hclparse.NewParser()
	var found []*hclsyntax.Block
	for _, name := range files {
		file, diagnostics := parser.ParseHCLFile(name)
		if diagnostics.HasErrors() {
			t.Fatal(diagnostics)
		}
		found = append(found, file.Body.(*hclsyntax.Body).Blocks...)
	}
	return found
}

// literal is the value of an attribute that is a string without references; "" if it is none.
func literal(body *hclsyntax.Body, name string) string {
	attribute, ok := body.Attributes[name]
	if !ok {
		return ""
	}
	value, diagnostics := attribute.Expr.Value(nil)
	if diagnostics.HasErrors() || value.IsNull() || value.Type().FriendlyName() != "string" {
		return ""
	}
	return value.AsString()
}

// variables are a folder's variables by name.
func variables(t *testing.T, folder string) map[string]variable {
	t.Helper()
	found := map[string]variable{}
	for _, block := range blocks(t, folder) {
		if block.Type != "variable" {
			continue
		}
		one := variable{description: literal(block.Body, "description")}
		if typed, ok := block.Body.Attributes["type"]; ok {
			one.typed = typed.Expr
		}
		for _, inner := range block.Body.Blocks {
			// A message may name a version by reference: being there is what counts.
			_, condition := inner.Body.Attributes["condition"]
			_, message := inner.Body.Attributes["error_message"]
			if inner.Type == "validation" && condition && message {
				one.validations++
			}
		}
		found[block.Labels[0]] = one
	}
	return found
}

// path is a reference's parts, such as var, nodes; nil where the expression is
// more than a reference.
func path(expression hclsyntax.Expression) []string {
	reference, ok := expression.(*hclsyntax.ScopeTraversalExpr)
	if !ok {
		return nil
	}
	var parts []string
	for _, step := range reference.Traversal {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			parts = append(parts, step.Name)
		case hcl.TraverseAttr:
			parts = append(parts, step.Name)
		default:
			return nil
		}
	}
	return parts
}

// handedOn are the references to a root's variables ("nodes", or
// "addons.vnfbench" for an attribute) that a module takes unchanged and checks.
func handedOn(t *testing.T, folder string) map[string]bool {
	t.Helper()
	checked := map[string]bool{}
	for _, block := range blocks(t, folder) {
		if block.Type != "module" {
			continue
		}
		takes := variables(t, filepath.Join(folder, literal(block.Body, "source")))
		// each.value is the variable that for_each puts into a map of one.
		each := ""
		if attribute, ok := block.Body.Attributes["for_each"]; ok {
			each = eachValue(attribute.Expr)
		}
		for name, attribute := range block.Body.Attributes {
			parts := path(attribute.Expr)
			if len(parts) > 2 && parts[0] == "each" && parts[1] == "value" && each != "" {
				parts = append([]string{"var", each}, parts[2:]...)
			}
			into, ok := takes[name]
			if ok && len(parts) >= 2 && len(parts) <= 3 && parts[0] == "var" && (into.validations > 0 || into.isBool()) {
				checked[strings.Join(parts[1:], ".")] = true
			}
		}
	}
	return checked
}

// eachValue is NAME where an expression is var.NAME, a map, or
// var.NAME == null ? {} : { key = var.NAME }, and "" for any other.
func eachValue(expression hclsyntax.Expression) string {
	if parts := path(expression); len(parts) == 2 && parts[0] == "var" {
		return parts[1]
	}
	choice, ok := expression.(*hclsyntax.ConditionalExpr)
	if !ok {
		return ""
	}
	object, ok := choice.FalseResult.(*hclsyntax.ObjectConsExpr)
	if !ok || len(object.Items) != 1 {
		return ""
	}
	if parts := path(object.Items[0].ValueExpr); len(parts) == 2 && parts[0] == "var" {
		return parts[1]
	}
	return ""
}

// example is the house's form; a long one may begin on the next line.
var example = regexp.MustCompile(`Example:\s+\S`)

// endOfExample is where an example may end: at a full stop, or with the text.
var endOfExample = regexp.MustCompile(`\.(\s|$)|$`)

// isRead says whether an example, at the beginning of a text, is an expression.
func isRead(text string) bool {
	for _, end := range endOfExample.FindAllStringIndex(text, -1) {
		if _, diagnostics := hclsyntax.ParseExpression([]byte(text[:end[0]]), "example", hcl.InitialPos); !diagnostics.HasErrors() {
			return true
		}
	}
	return false
}

// wants says what a variable of a folder lacks.
//
// The rule: each has a type; a description with "Example: ...", each of which is an
// expression that Terraform reads; and a validation with a message. A bool needs neither example nor validation: true and false
// are all there is. A root's variable needs no separate validation if a
// module takes it as it is, or all of its attributes, and has the validation.
func wants(name string, one variable, checked map[string]bool) []string {
	var lacks []string
	if one.typed == nil {
		lacks = append(lacks, "a type")
	}
	if one.description == "" {
		lacks = append(lacks, "a description")
	}
	if one.isBool() {
		return lacks
	}
	if !example.MatchString(one.description) {
		lacks = append(lacks, `"Example: ..." in its description`)
	}
	for _, text := range strings.Split(one.description, "Example: ")[1:] {
		if !isRead(text) {
			lacks = append(lacks, fmt.Sprintf("an example that Terraform reads: %q is none", text))
		}
	}
	fields := one.fields()
	inParts := len(fields) > 0 && !slices.ContainsFunc(fields, func(field string) bool { return !checked[name+"."+field] })
	if one.validations == 0 && !checked[name] && !inParts {
		lacks = append(lacks, "a validation with an error_message, here or in a module that takes it unchanged")
	}
	return lacks
}

// TestVariables checks that each variable says what it takes, and that it refuses
// anything else before anything is made.
func TestVariables(t *testing.T) {
	for _, folder := range folders(t) {
		t.Run(folder, func(t *testing.T) {
			here := filepath.Join(source, folder)
			checked := handedOn(t, here)
			found := variables(t, here)
			if len(found) == 0 {
				t.Fatal("no variable was found")
			}
			for name, one := range found {
				if lacks := wants(name, one, checked); len(lacks) > 0 {
					t.Errorf("variable %q lacks %s", name, strings.Join(lacks, "; "))
				}
			}
		})
	}
}

// TestVariablesThatLack checks that the rule finds what it is there for.
func TestVariablesThatLack(t *testing.T) {
	here := filepath.Join("testdata", "variables", "root")
	checked := handedOn(t, here)
	found := variables(t, here)
	for name, want := range map[string]int{
		"whole": 0, "switch": 0, "handed_on": 0, "in_parts": 0, "through_each": 0, "through_map": 0, "half_through_map": 1,
		"nothing": 4, "bare_switch": 1, "no_example": 1, "unread_example": 1, "no_message": 1,
		"unchecked_there": 1, "changed_on_the_way": 1, "half_handed_on": 1,
	} {
		one, ok := found[name]
		if !ok {
			t.Errorf("testdata has no variable %q", name)
			continue
		}
		if lacks := wants(name, one, checked); len(lacks) != want {
			t.Errorf("variable %q lacks %q, want %d things", name, lacks, want)
		}
		delete(found, name)
	}
	for name := range found {
		t.Errorf("variable %q of testdata is not judged", name)
	}
}
