package suite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// change is what a value does to an experiment: it sets a field in one or more places, or merges a patch.
type change struct {
	// field is the one of the suite that the change is written in.
	field string
	// path is how the suite writes the places.
	path   string
	places []path
	value  any
	// patch is nil for a change that sets a field.
	patch map[string]any
}

// apply changes a document and returns it.
func (c change) apply(document map[string]any) (map[string]any, error) {
	if c.patch != nil {
		return merge(document, c.patch), nil
	}
	for _, place := range c.places {
		if err := place.set(document, runtime.DeepCopyJSONValue(c.value)); err != nil {
			return nil, measure.Failf(v1alpha1.ReasonAxisPathNotFound, "name a field of spec.template.experiment, and an item of a list by its name", "%s is %q: %w", c.field, c.path, err)
		}
	}
	return document, nil
}

// paths returns the fields that the change sets or removes.
func (c change) paths() []path {
	if c.patch == nil {
		return c.places
	}
	return leaves(path{}, c.patch)
}

// note adds the fields that the change sets or removes, and everything that they are within, to a set that has who did so.
func (c change) note(set map[string]string, who string) {
	for _, path := range c.paths() {
		for ; len(path.tokens) > 0; path = path.parent() {
			set[path.String()] = who
		}
	}
}

func leaves(at path, patch map[string]any) []path {
	var out []path
	for key, v := range patch {
		below := at.child(token{field: key})
		if within, ok := v.(map[string]any); ok {
			out = append(out, leaves(below, within)...)
		} else {
			out = append(out, below)
		}
	}
	return out
}

// merge applies a JSON merge patch as RFC 7396 section 2 writes it, and returns the document.
func merge(document, patch map[string]any) map[string]any {
	if document == nil {
		document = map[string]any{}
	}
	for key, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(document, key)
		case map[string]any:
			within, _ := document[key].(map[string]any)
			document[key] = merge(within, v)
		default:
			document[key] = runtime.DeepCopyJSONValue(v)
		}
	}
	return document
}

// token is one step of a path: a field, or with item the item of that name in the field's list.
type token struct{ field, item string }

// path leads to a field of an experiment.
type path struct{ tokens []token }

// step is a field, or a field with the names of one or more items.
var step = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9]*)(?:\[([a-zA-Z0-9][-a-zA-Z0-9]*(?:,[a-zA-Z0-9][-a-zA-Z0-9]*)*)\])?$`)

// maxPlaces is how many places a path leads to at most: a chain has at most eight functions.
const maxPlaces = 8

// parsePath reads a path such as chain[fw].firewall.rules, or chain[gw-west,gw-east].encryptionGateway.threads, which leads to two places.
func parsePath(text string) ([]path, error) {
	places := []path{{}}
	for _, part := range strings.Split(text, ".") {
		found := step.FindStringSubmatch(part)
		if found == nil {
			return nil, fmt.Errorf("%q is neither a field nor a field with the name of an item, in the path %q", part, text)
		}
		items := strings.Split(found[2], ",")
		if len(places)*len(items) > maxPlaces {
			return nil, fmt.Errorf("the path %q leads to more than %d places", text, maxPlaces)
		}
		var longer []path
		for _, place := range places {
			field := place.child(token{field: found[1]})
			for i, item := range items {
				switch {
				case item == "":
					longer = append(longer, field)
				case slices.Contains(items[:i], item):
					return nil, fmt.Errorf("the path %q names the item %q twice", text, item)
				default:
					longer = append(longer, field.child(token{item: item}))
				}
			}
		}
		places = longer
	}
	if tokens := places[0].tokens; tokens[len(tokens)-1].field == "" {
		return nil, fmt.Errorf("the path %q ends with an item of a list, and a value can only be set to a field", text)
	}
	return places, nil
}

func (p path) String() string {
	var out strings.Builder
	for i, t := range p.tokens {
		switch {
		case t.field == "":
			out.WriteString("[" + t.item + "]")
		case i > 0:
			out.WriteString("." + t.field)
		default:
			out.WriteString(t.field)
		}
	}
	return out.String()
}

func (p path) parent() path { return path{tokens: p.tokens[:len(p.tokens)-1]} }

func (p path) child(t token) path {
	return path{tokens: append(p.tokens[:len(p.tokens):len(p.tokens)], t)}
}

// set sets the field. It makes objects on the way that do not exist, and no items of lists.
func (p path) set(document map[string]any, v any) error {
	at := any(document)
	for i, t := range p.tokens {
		here := path{tokens: p.tokens[:i]}
		if t.field == "" {
			item, err := find(at, t.item, here)
			if err != nil {
				return err
			}
			at = item
			continue
		}
		fields, ok := at.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is no object, so it has no field %q", here, t.field)
		}
		if i == len(p.tokens)-1 {
			fields[t.field] = v
			return nil
		}
		if _, exists := fields[t.field]; !exists {
			if p.tokens[i+1].field == "" {
				return fmt.Errorf("there is no list %s", path{tokens: p.tokens[:i+1]})
			}
			fields[t.field] = map[string]any{}
		}
		at = fields[t.field]
	}
	return nil
}

var (
	unknownName = regexp.MustCompile(`unknown field "([^"]+)"`)
	listIndex   = regexp.MustCompile(`\[\d+\]`)
)

// leadsThrough reports whether an error of the strict decoder is about a field on the path. The decoder names an item
// of a list by its index.
func (p path) leadsThrough(err error) bool {
	found := unknownName.FindStringSubmatch(err.Error())
	if found == nil {
		return false
	}
	var fields []string
	for _, t := range p.tokens {
		if t.field != "" {
			fields = append(fields, t.field)
		}
	}
	return strings.HasPrefix(strings.Join(fields, ".")+".", listIndex.ReplaceAllString(found[1], "")+".")
}

// find returns the item of a list that has a name.
func find(at any, name string, here path) (any, error) {
	list, ok := at.([]any)
	if !ok {
		return nil, fmt.Errorf("%s is no list, so it has no item %q", here, name)
	}
	var names []string
	for _, item := range list {
		if fields, ok := item.(map[string]any); ok {
			if fields["name"] == name {
				return fields, nil
			}
			names = append(names, fmt.Sprintf("%q", fields["name"]))
		}
	}
	return nil, fmt.Errorf("%s has no item %q, and has %s", here, name, strings.Join(names, ", "))
}
