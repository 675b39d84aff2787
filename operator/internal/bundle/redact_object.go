package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"vnfbench.io/operator/internal/placeholder"
)

// droppedAnnotations have copies of whole objects.
var droppedAnnotations = []string{"kubectl.kubernetes.io/last-applied-configuration"}

// userTexts are fields with what users write for their machines, where passwords and keys are common. The variables of their containers
// are such texts too.
var userTexts = []string{"userData", "userDataBase64", "networkData", "networkDataBase64"}

const (
	// variables is the field with a container's variables.
	variables = "env"
	// contractVariable is one that each user's container has, besides those of its user. No other container has it.
	contractVariable = placeholder.VariablePrefix + "WEST_MAC"
	// pathOfVariables is a part of the paths of axes whose values are variables of users' containers.
	pathOfVariables = ".container." + variables
)

// secretNames are parts of the names of variables whose values are replaced.
var secretNames = []string{"PASSWORD", "PASSWD", "SECRET", "TOKEN", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL"}

// redactor replaces secrets in an object.
type redactor struct {
	// axes are the names of the axes of a suite whose values are user texts.
	axes map[string]bool
	// replaced is how many values were replaced.
	replaced int
}

// redactObject replaces values of fields that often have secrets, and what looks like a secret in all texts, and drops what only the API
// server needs. It returns what is left, and how many it replaced. The object changes.
func redactObject(object any) (any, int) {
	r := redactor{axes: map[string]bool{}}
	r.findAxes(object)
	return r.redact(object), r.replaced
}

// isUserText returns whether a path of a suite's axis, such as chain[fw].custom.userData, leads to a user text.
func isUserText(path string) bool {
	return slices.Contains(userTexts, path[strings.LastIndex(path, ".")+1:]) || strings.Contains(path, pathOfVariables)
}

// findAxes notes the axes whose values are user texts: cells have the values by the names of the axes.
func (r *redactor) findAxes(value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			r.findAxes(item)
		}
	case map[string]any:
		path, _ := value["path"].(string)
		if name, ok := value["name"].(string); ok && value["values"] != nil && isUserText(path) {
			r.axes[name] = true
		}
		for _, member := range value {
			r.findAxes(member)
		}
	}
}

// redact returns a value without secrets.
func (r *redactor) redact(value any) any {
	switch value := value.(type) {
	case string:
		return r.text(value)
	case []any:
		for i, item := range value {
			if i > 0 && isSecretFlag(value[i-1]) && isArgument(item) {
				value[i] = r.hide(item, false)
				continue
			}
			value[i] = r.redact(item)
		}
	case map[string]any:
		r.members(value)
	}
	return value
}

// members replaces what is secret in a map.
func (r *redactor) members(value map[string]any) {
	if meta, ok := value["metadata"].(map[string]any); ok {
		delete(meta, "managedFields")
		if annotations, ok := meta["annotations"].(map[string]any); ok {
			for _, name := range droppedAnnotations {
				delete(annotations, name)
			}
		}
	}
	r.replaced += redactVariable(value)
	path, _ := value["path"].(string)
	for key, member := range value {
		list, isList := member.([]any)
		switch {
		case key == variables && isList && isUserContainer(value, list):
			value[key] = r.hideVariables(list)
		case slices.Contains(userTexts, key), key == "values" && isList && isUserText(path):
			value[key] = r.hide(member, true)
		case isSecretName(key):
			value[key] = r.hide(member, false)
		case key == "values":
			r.cell(member)
			value[key] = r.redact(member)
		case key == "exclude" && isList:
			for _, combination := range list {
				r.cell(combination)
			}
			value[key] = r.redact(member)
		default:
			value[key] = r.redact(member)
		}
	}
}

// cell replaces the values that a suite's cell has of axes of user texts.
func (r *redactor) cell(values any) {
	if values, ok := values.(map[string]any); ok {
		for axis, label := range values {
			if r.axes[axis] {
				values[axis] = r.hide(label, true)
			}
		}
	}
}

// isUserContainer returns whether an object with variables is a user's container: that of a run or a plan, which has no name, or that of its pod.
func isUserContainer(container map[string]any, list []any) bool {
	return container["name"] == nil || slices.ContainsFunc(list, func(item any) bool {
		variable, _ := item.(map[string]any)
		return variable["name"] == contractVariable
	})
}

// hideVariables returns the variables of a user's container without the values that its user wrote.
func (r *redactor) hideVariables(list []any) []any {
	for i, item := range list {
		variable, ok := item.(map[string]any)
		if name, _ := variable["name"].(string); !ok || strings.HasPrefix(name, placeholder.VariablePrefix) {
			continue
		}
		list[i] = r.hideVariable(variable)
	}
	return list
}

// hideVariable returns a variable without its value.
func (r *redactor) hideVariable(variable map[string]any) map[string]any {
	if value, has := variable["value"]; has {
		variable["value"] = r.hide(value, true)
	}
	return variable
}

// hide returns a value with its texts and numbers replaced. Where sized is set it says how long each was.
func (r *redactor) hide(value any, sized bool) any {
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			value[i] = r.hide(item, sized)
		}
		return value
	case map[string]any:
		if _, named := value["name"]; named && sized {
			return r.hideVariable(value)
		}
		return r.redact(value)
	case nil, bool:
		return value
	}
	text := fmt.Sprint(value)
	if isReadable(text) {
		return value
	}
	r.replaced++
	if sized {
		return fmt.Sprintf("%s (%d bytes)", replacement, len(text))
	}
	return replacement
}

// isSecretFlag returns whether an argument is a flag without its value, which is a secret.
func isSecretFlag(argument any) bool {
	flag, ok := argument.(string)
	return ok && strings.HasPrefix(flag, "-") && !strings.ContainsAny(flag, "= ") && isSecretName(flag)
}

// isArgument returns whether an item of a list can be the value of the flag before it.
func isArgument(item any) bool {
	text, ok := item.(string)
	return ok && !strings.HasPrefix(text, "--")
}

// text returns a text without secrets. One that is JSON, as a ConfigMap has them, is read for its fields.
func (r *redactor) text(text string) string {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if redacted, replaced, ok := redactJSON(text); ok {
			r.replaced += replaced
			return redacted
		}
	}
	redacted, replaced := redactText(text)
	r.replaced += replaced
	return redacted
}

// redactJSON does the same in a text that is JSON, of one or more values. It returns the text as it is if nothing was replaced in it.
func redactJSON(text string) (redacted string, replaced int, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var values []string
	for {
		var value any
		if err := decoder.Decode(&value); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return "", 0, false
		}
		value, n := redactObject(value)
		replaced += n
		encoded, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			// What was read from JSON marshals; if not, nothing of it is passed on.
			return replacement, 1, true
		}
		values = append(values, string(encoded))
	}
	if replaced == 0 {
		return text, 0, true
	}
	return strings.Join(values, "\n"), replaced, true
}

// redactVariable replaces the value of a container's variable whose name says that it is a secret.
func redactVariable(value map[string]any) int {
	name, hasName := value["name"].(string)
	text, hasText := value["value"].(string)
	if !hasName || !hasText || text == "" {
		return 0
	}
	for _, part := range secretNames {
		// Names of files are no secrets.
		if strings.Contains(strings.ToUpper(name), part) && !strings.HasPrefix(text, "/") {
			value["value"] = replacement
			return 1
		}
	}
	return 0
}
