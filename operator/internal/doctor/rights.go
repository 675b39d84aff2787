package doctor

import (
	"fmt"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/excerpt"
)

// Purpose is what rights are for.
type Purpose string

// Purposes of rights.
const (
	ToRun     Purpose = "make and follow runs"
	ToRead    Purpose = "read trials, logs and events"
	ToInstall Purpose = "install the operator"
)

// Right is one that a user may need.
type Right struct {
	Purpose                            Purpose
	Group, Resource, Subresource, Verb string
	// Namespace is empty for a right in the whole cluster.
	Namespace string
	// Allowed is whether the user has it.
	Allowed Answer[bool]
}

func (r Right) String() string {
	name := r.Resource
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	if r.Group != "" {
		name += "." + r.Group
	}
	return r.Verb + " " + name
}

// Rights returns the rights to ask about.
func Rights(namespace string) []Right {
	var out []Right
	add := func(purpose Purpose, namespace, group, resource, verbs string) {
		resource, sub, _ := strings.Cut(resource, "/")
		for verb := range strings.FieldsSeq(verbs) {
			out = append(out, Right{Purpose: purpose, Group: group, Resource: resource, Subresource: sub, Verb: verb, Namespace: namespace})
		}
	}
	ours := v1alpha1.GroupVersion.Group
	add(ToRun, namespace, ours, "benchmarkruns", "create get list watch patch delete")
	add(ToRun, "", ours, "testbeds", "get list")
	add(ToRead, namespace, "", "configmaps", "get")
	add(ToRead, namespace, "", "pods", "list")
	add(ToRead, namespace, "", "pods/log", "get")
	add(ToRead, namespace, "", "events", "list")
	add(ToInstall, "", "", "namespaces", "create patch")
	add(ToInstall, "", "apiextensions.k8s.io", "customresourcedefinitions", "create patch")
	add(ToInstall, "", "rbac.authorization.k8s.io", "clusterroles", "create")
	add(ToInstall, "", "rbac.authorization.k8s.io", "clusterrolebindings", "create")
	add(ToInstall, "", "admissionregistration.k8s.io", "validatingadmissionpolicies", "create")
	add(ToInstall, "", ours, "testbeds", "create")
	return out
}

// rightsOf returns the check of the rights for one purpose.
func rightsOf(purpose Purpose) func(Facts) Finding {
	return func(f Facts) Finding {
		var lacking []string
		number := 0
		for _, right := range f.Rights {
			if right.Purpose != purpose {
				continue
			}
			number++
			if right.Allowed.Err != nil {
				return found(Unknown, "look at `kubectl auth can-i --list`", "whether you may %s is not known: %v", right, right.Allowed.Err)
			}
			if !right.Allowed.Value {
				lacking = append(lacking, right.String())
			}
		}
		if number > 0 && len(lacking) == 0 {
			return fine("you may %s (%s)", purpose, plural(number, "right"))
		}
		what := fmt.Sprintf("to %s you lack: %s", purpose, excerpt.List(lacking, ", "))
		switch {
		case number == 0:
			return found(Unknown, "look at `kubectl auth can-i --list`", "the rights were not asked for")
		case purpose == ToRun:
			return found(Fail, "ask for edit in namespace "+f.Namespace+", and for the ClusterRole vnfbench-viewer by a ClusterRoleBinding: see how-to/install.md"+documentation, "%s", what)
		case purpose == ToRead:
			return found(Warning, "ask for view in namespace "+f.Namespace+"; without it reports leave out the trials", "%s", what)
		case f.installed():
			return fine("vnfbench is installed already; %s", what)
		}
		return found(Fail, "let an administrator of the cluster install it", "%s", what)
	}
}
