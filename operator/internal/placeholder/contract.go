package placeholder

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"vnfbench.io/operator/internal/excerpt"
)

// VariablePrefix begins the name of each environment variable with a value.
const VariablePrefix = "VNFBENCH_"

// wordEnd is where a word of a placeholder's name ends, such as between "NextHop" and "MAC", and between "MTU" and "Bytes".
var wordEnd = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// VariableOf returns the environment variable of a placeholder: VNFBENCH_WEST_NEXT_HOP_IPV4 of West.NextHopIPv4.
func VariableOf(name string) string {
	words := wordEnd.ReplaceAllString(strings.NewReplacer("IPv", "Ipv", ".", "_").Replace(name), "${1}${3}_${2}${4}")
	return VariablePrefix + strings.ToUpper(words)
}

// Variable is an environment variable with a value.
type Variable struct{ Name, Value string }

// Variables returns all values as environment variables, sorted by the names of their placeholders.
func (v Values) Variables() []Variable {
	var out []Variable
	for _, name := range slices.Sorted(maps.Keys(v)) {
		out = append(out, Variable{VariableOf(name), v[name]})
	}
	return out
}

// reference is what Kubernetes reads in a container's command, arguments and variables: $$, which writes one dollar sign, and $(NAME).
var reference = regexp.MustCompile(`\$\$|\$\(([^)]*)\)`)

// CheckReferences returns an error that names the first variable in a text that looks like one with a value and is none, and lists all that
// are. Kubernetes would leave it in the text. Others may be the image's or a shell's.
func (v Values) CheckReferences(text string) error {
	known := map[string]bool{}
	var listed []string
	for _, variable := range v.Variables() {
		known[variable.Name] = true
		if !strings.HasPrefix(variable.Name, VariablePrefix+"EAST_") {
			listed = append(listed, strings.TrimPrefix(variable.Name, VariablePrefix))
		}
	}
	for _, match := range reference.FindAllStringSubmatch(text, -1) {
		if name := match[1]; strings.HasPrefix(name, VariablePrefix) && !known[name] {
			return fmt.Errorf("$(%s) is no variable; after %s come %s, and those of WEST with EAST", excerpt.Text(name, maxQuotedBytes), VariablePrefix, strings.Join(listed, ", "))
		}
	}
	return nil
}

// numbers are the last words of the placeholders whose values are numbers.
var numbers = []string{"MTUBytes", "VLAN", "PrefixLengthIPv4", "PrefixLengthIPv6"}

// JSON returns all values as an object with the names of the placeholders: .West.MAC is the member MAC of the member West.
func (v Values) JSON() (string, error) {
	root := map[string]any{}
	for name, text := range v {
		object, last := root, name
		if port, below, found := strings.Cut(name, "."); found {
			if root[port] == nil {
				root[port] = map[string]any{}
			}
			object, last = root[port].(map[string]any), below
		}
		object[last] = text
		if slices.Contains(numbers, last) {
			number, err := strconv.Atoi(text)
			if err != nil {
				return "", err
			}
			object[last] = number
		}
	}
	data, err := json.MarshalIndent(root, "", "  ")
	return string(data) + "\n", err
}
