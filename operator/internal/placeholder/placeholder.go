// Package placeholder fills a function's planned values into the text that a
// user's own virtual machine reads. A function's configuration and a text with
// placeholders such as {{ .West.MAC }} go in; the filled text comes out, or an
// error that names the placeholder and lists all that exist.
//
// The syntax is that of text/template, but only fields, string constants and
// comments are allowed. The package walks the text and never executes it: no
// user's text can loop, call or read anything.
package placeholder

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/vnf"
)

// Values are the values of placeholders, by their names without the leading
// dot: "Name", "West.MAC".
type Values map[string]string

// Of returns the values of a function: those of its ports west and east, its
// name, and the smaller MTU of both.
func Of(config vnf.Config) Values {
	values := Values{"Name": config.Name}
	mtu := 0
	for _, port := range config.Ports {
		if mtu == 0 || port.MTUBytes < mtu {
			mtu = port.MTUBytes
		}
		values.addPort(port, config)
	}
	values["MTUBytes"] = strconv.Itoa(mtu)
	return values
}

func (v Values) addPort(port vnf.Port, config vnf.Config) {
	prefix := strings.ToUpper(port.Name[:1]) + port.Name[1:] + "."
	v[prefix+"MAC"] = port.MAC
	v[prefix+"MTUBytes"] = strconv.Itoa(port.MTUBytes)
	v[prefix+"VLAN"] = strconv.Itoa(port.VLAN)
	for _, address := range port.Addresses {
		family := familyOf(address.Addr())
		v[prefix+"Address"+family] = address.String()
		v[prefix+"Host"+family] = address.Addr().String()
		v[prefix+"PrefixLength"+family] = strconv.Itoa(address.Bits())
	}
	for _, route := range config.Routes {
		if route.Port == port.Name {
			v[prefix+"Network"+familyOf(route.Destination.Addr())] = route.Destination.String()
		}
	}
	for _, neighbor := range config.Neighbors {
		if neighbor.Port == port.Name {
			v[prefix+"NextHop"+familyOf(neighbor.Address)] = neighbor.Address.String()
			// Both families have the same next machine.
			v[prefix+"NextHopMAC"] = neighbor.MAC
		}
	}
}

func familyOf(address netip.Addr) string {
	if address.Is6() {
		return "IPv6"
	}
	return "IPv4"
}

// Names returns all placeholders, sorted and with their leading dot.
func (v Values) Names() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		names = append(names, "."+name)
	}
	return names
}

// Fill replaces every placeholder of a text.
func (v Values) Fill(text string) (string, error) {
	tree, trees := parse.New("text"), map[string]*parse.Tree{}
	tree.Mode = parse.SkipFuncCheck
	tree, err := tree.Parse(text, "", "", trees)
	if err != nil {
		// "template: text:3: …" names the line of the user's text.
		return "", fmt.Errorf("line %s", strings.TrimPrefix(err.Error(), "template: text:"))
	}
	for name, defined := range trees {
		if defined != tree {
			return "", fmt.Errorf("{{define %q}}: a definition is not a placeholder", name)
		}
	}
	var b strings.Builder
	for _, node := range tree.Root.Nodes {
		filled, err := v.fillNode(node)
		if err != nil {
			location, _ := tree.ErrorContext(node)
			return "", fmt.Errorf("line %s: %w", lineOf(location), err)
		}
		b.WriteString(filled)
	}
	return b.String(), nil
}

// lineOf returns the line of a location such as "text:3:14".
func lineOf(location string) string {
	parts := strings.Split(location, ":")
	if len(parts) < 2 {
		return location
	}
	return parts[1]
}

func (v Values) fillNode(node parse.Node) (string, error) {
	switch node := node.(type) {
	case *parse.TextNode:
		return string(node.Text), nil
	case *parse.CommentNode:
		return "", nil
	case *parse.ActionNode:
		return v.fillAction(node)
	}
	return "", v.refuse(node)
}

func (v Values) fillAction(action *parse.ActionNode) (string, error) {
	pipe := action.Pipe
	if len(pipe.Decl) > 0 || len(pipe.Cmds) != 1 || len(pipe.Cmds[0].Args) != 1 {
		return "", v.refuse(action)
	}
	switch argument := pipe.Cmds[0].Args[0].(type) {
	case *parse.StringNode:
		return argument.Text, nil
	case *parse.FieldNode:
		if value, found := v[strings.Join(argument.Ident, ".")]; found {
			return value, nil
		}
	}
	return "", v.refuse(action)
}

// maxQuotedBytes keeps a message about a long block readable.
const maxQuotedBytes = 60

func (v Values) refuse(node parse.Node) error {
	return fmt.Errorf("%s is not a placeholder; the placeholders are %s, and {{\"{{\"}} writes two braces", excerpt.Text(node.String(), maxQuotedBytes), strings.Join(v.Names(), ", "))
}
