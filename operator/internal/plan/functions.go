package plan

import (
	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/vnf"
)

// planners is the registry of how the operator plans each reference function. A
// function that is not here, such as Custom, is planned as a router.
var planners = map[v1alpha1.Function]planner{
	v1alpha1.FunctionRouter:            router{},
	v1alpha1.FunctionFirewall:          firewall{},
	v1alpha1.FunctionEncryptionGateway: gateway{},
}

// FunctionStateOf returns the API's form of what a function reports about itself.
func FunctionStateOf(state vnf.State) v1alpha1.FunctionState {
	return v1alpha1.FunctionState{
		Firewall:          (*v1alpha1.FirewallReport)(state.Firewall),
		EncryptionGateway: (*v1alpha1.EncryptionGatewayReport)(state.EncryptionGateway),
	}
}

// planner plans one function for the operator. Embedding router makes each method optional.
type planner interface {
	// bridges reports whether the function joins its segments on layer 2.
	bridges(function v1alpha1.NetworkFunction) bool
	// layOut adapts the segments next to the function at an index, or refuses them.
	layOut(in Input, index int, segments []Segment) error
	// configure adds the function's settings to a configuration that forwards.
	configure(in Input, index int, segments []Segment, config *vnf.Config)
	// memoryBytes is what the configuration needs in addition to the memory of any function.
	memoryBytes(function Function) int64
	// elsewhere says what the function does on a node's other cores than the one that sends; "" for
	// one whose kernel forwards on the core that sends.
	elsewhere(node string) string
	// doubt returns why figures are doubtful with what the function reported.
	doubt(function *Function, state v1alpha1.FunctionState) (Doubt, bool)
}

// Doubt is a warning about functions.
type Doubt struct {
	Code string
	// Sentence has %s for the functions' names.
	Sentence string
}

// DoubtAbout returns why figures are doubtful with what a function reported.
func DoubtAbout(function *Function, state v1alpha1.FunctionState) (Doubt, bool) {
	return plannerOf(v1alpha1.Function(function.Config.Function)).doubt(function, state)
}

func plannerOf(function v1alpha1.Function) planner {
	if known, found := planners[function]; found {
		return known
	}
	return router{}
}

// router adds nothing to forwarding.
type router struct{}

func (router) bridges(v1alpha1.NetworkFunction) bool { return false }

func (router) layOut(Input, int, []Segment) error { return nil }

func (router) configure(Input, int, []Segment, *vnf.Config) {}

func (router) memoryBytes(Function) int64 { return 0 }

func (router) elsewhere(string) string { return "" }

func (router) doubt(*Function, v1alpha1.FunctionState) (Doubt, bool) { return Doubt{}, false }
