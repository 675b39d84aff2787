package page

import (
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/report"
)

// versions returns what took part.
func (r run) versions() report.Part {
	p := report.Part{Title: "What took part"}
	add := func(name, value string) {
		if value != "" {
			p.Facts = append(p.Facts, report.Fact{Name: name, Value: value})
		}
	}
	add("Run", r.Document.Run.UID)
	add("Experiment", r.Document.Run.Experiment)
	add("Testbed", r.Document.Run.Testbed)
	if r.Plan != nil {
		add("Plan", r.Plan.Digest)
		add("Generator's node", r.Plan.GeneratorNode)
		add("Chain's node", r.Plan.DeviceNode)
	}
	add("Operator", r.Versions.Operator)
	add("Measurer", r.Versions.Measurer)
	add("Kubelet", r.Versions.Kubelet)
	add("Report", r.Versions.Report)
	add("Protocol", r.Versions.Protocol)
	if r.Generator != nil {
		add("Generator's image", r.Generator.ImageID)
	}
	for _, f := range r.Chain {
		add("Image of "+f.Name, f.ImageID)
	}
	return p
}

// again returns the section with the manifest of the run and the commands.
func (r run) again() Section {
	s := Section{ID: "again", Title: "Run it again"}
	type metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	}
	type spec struct {
		Experiment v1alpha1.Experiment `json:"experiment"`
	}
	manifest, err := yaml.Marshal(struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Metadata   metadata `json:"metadata"`
		Spec       spec     `json:"spec"`
	}{v1alpha1.GroupVersion.String(), "BenchmarkRun", metadata{r.Document.Run.Name, r.Document.Run.Namespace}, spec{r.Experiment}})
	if err != nil {
		s.Notes = append(s.Notes, fmt.Sprintf("The manifest cannot be written: %v.", err))
		return s
	}
	name, namespace := word(r.Document.Run.Name), word(r.Document.Run.Namespace)
	s.Notes = []string{
		"Save the manifest as run.yaml, and give the run another name if this one still exists. Defaults are filled in. The testbed has to be there, and the same images make the result comparable.",
	}
	s.Texts = []Text{
		{"Commands", strings.Join([]string{
			"kubectl apply -f run.yaml",
			fmt.Sprintf("kubectl vnfbench watch -n %s %s", namespace, name),
			fmt.Sprintf("kubectl vnfbench report -n %s %s -o html --output-file report.html", namespace, name),
			"# All that is known about the run, from which every figure can be worked out again:",
			fmt.Sprintf("kubectl vnfbench export -n %s %s --output-file run.json.zst", namespace, name),
			"kubectl vnfbench replay run.json.zst",
		}, "\n")},
		{"Manifest (run.yaml)", string(manifest)},
	}
	return s
}

// plain is a word that a shell takes as it is.
var plain = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// word returns a text as one word of a command line, whatever is in it.
func word(text string) string {
	if plain.MatchString(text) && !strings.HasPrefix(text, "-") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
